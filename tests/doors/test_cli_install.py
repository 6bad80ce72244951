"""`holdfast install` and `holdfast uninstall`, as a person and as a machine uses them."""

from __future__ import annotations

import ast
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.install_claude import EVENTS, speech, this_machine
from holdfast.app.install_words import skills
from tests.doors.test_cli import Ran, run  # noqa: F401  (a fixture)


@pytest.fixture
def project(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: F811
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    run("init")
    return run


def test_it_says_what_it_did_in_a_table_and_how_to_undo_it(project: Any) -> None:
    ran: Ran = project("install", "claude-code")
    assert ran.code == 0
    for said in (".claude/settings.local.json", ".mcp.json", "CLAUDE.md", "made", "is now"):
        assert said in ran.out
    assert f"Holdfast is installed in {Path.cwd()}; 8 files changed." in ran.out
    assert "holdfast uninstall claude-code --scope project" in ran.out
    again = project("install", "claude-code")
    assert "already; nothing changed." in again.out
    out = project("uninstall", "claude-code")
    assert f"Holdfast is out of claude-code in {Path.cwd()}; 8 files changed." in out.out
    assert "What is remembered stays" in out.out
    assert os.listdir() == [".holdfast.toml"]
    assert "Nothing of Holdfast is installed" in project("uninstall", "claude-code").out


def test_a_dry_run_prints_the_differences(project: Any) -> None:
    Path("CLAUDE.md").write_text("mine")
    ran = project("install", "claude-code", "--dry-run")
    assert "--- /dev/null" in ran.out
    assert "+<!-- holdfast:begin -->" in ran.out
    assert "\\ No newline at end of file" in ran.out
    assert "A dry run: 8 files would change" in ran.out
    assert sorted(os.listdir()) == [".holdfast.toml", "CLAUDE.md"]


def test_machines_get_every_step(project: Any) -> None:
    told = project("install", "claude-code", "--no-memory-file", "--shorten", "5000", "--json").json
    assert (told["host"], told["scope"], told["dry_run"]) == ("claude-code", "project", False)
    assert {step["done"] for step in told["steps"]} == {"made"}
    assert not Path("CLAUDE.md").exists()
    gone = project("uninstall", "claude-code", "--json").json
    assert {step["done"] for step in gone["steps"]} == {"removed"}


def test_for_all_projects_it_says_how_to_add_the_server(project: Any, tmp_path: Path) -> None:
    ran = project("install", "claude-code", "--scope", "user")
    assert "claude mcp add --scope user holdfast -- " in ran.out
    assert (tmp_path / "person/.claude/settings.json").is_file()
    assert "claude mcp remove --scope user holdfast" in (
        project("uninstall", "claude-code", "--scope", "user").out
    )
    assert not (tmp_path / "person").exists()


def test_the_host_may_keep_its_settings_elsewhere(
    project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    project("install", "claude-code", "--scope", "user")
    assert json.loads((tmp_path / "elsewhere/settings.json").read_bytes())["hooks"]


def test_a_plugin_says_how_to_try_it(project: Any, tmp_path: Path) -> None:
    ran = project("install", "claude-code", "--plugin", str(tmp_path / "plug in"))
    assert f"claude --plugin-dir '{tmp_path}/plug in'" in ran.out
    assert f"rm -r '{tmp_path}/plug in'" in ran.out
    refused = project("install", "claude-code", "--plugin", str(tmp_path))
    assert refused.code == 4
    assert "name another folder" in refused.err


def test_a_mistake_ends_with_a_sentence_and_changes_nothing(project: Any) -> None:
    Path(".mcp.json").write_text("{\n  oops\n}\n")
    ran = project("install", "claude-code")
    assert ran.code == 2
    assert ".mcp.json, line 2" in ran.err
    assert sorted(os.listdir()) == [".holdfast.toml", ".mcp.json"]
    assert project("install", "emacs").code != 0
    Path(".holdfast.toml").unlink()
    lost = project("install", "claude-code")
    assert lost.code == 3
    assert "holdfast init" in lost.err


def test_what_is_left_alone_is_explained(project: Any) -> None:
    mine = Path(".claude/skills/restore/SKILL.md")
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    ran = project("install", "claude-code")
    assert "left" in ran.out
    assert "a skill of yours has this name" in ran.out


def test_the_code_in_the_page_about_claude_code_runs(
    project: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "claude-code.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    exec(compile("".join(blocks), "claude-code.md", "exec"), {})
    said = capsys.readouterr().out.splitlines()
    assert said[0] == ", ".join(event.name for event in EVENTS)
    assert set(ast.literal_eval(said[1])) == {"removed", "restored"}
    assert said[2] == "['.holdfast.toml', 'CLAUDE.md']"
    assert Path("CLAUDE.md").read_text() == "# Our rules\n"


def test_the_page_about_claude_code_names_every_event_and_skill() -> None:
    page = (Path(__file__).parents[2] / "docs" / "claude-code.md").read_text("utf-8")
    table = set(re.findall(r"`(\w+)`", page.split("## What is injected")[0]))
    assert {event.name for event in EVENTS} <= table
    for event in EVENTS:
        if event.name == "FileChanged":
            assert all(f"`{name}`" in page for name in str(event.matcher).split("|"))
    named = set(re.findall(r"^\| `/([a-z-]+)", page, re.MULTILINE))
    assert named == set(skills(speech(this_machine("/home"))))
