"""The plugin, the skills, and what doctor sees of an installation."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import install_claude, installing
from holdfast.app.install_claude import EVENTS, Machine, memory_files, speech
from holdfast.app.install_words import skills
from holdfast.app.toolbox_tools import TOOLS
from holdfast.doors.cli import app
from holdfast.errors import Conflict, Unavailable
from tests.app.test_installing import Failing, Place, place  # noqa: F401  (a fixture)

NAMES = {"session-status", "memory-recall", "context-debug", "restore", "end-session"}
MACHINE = Machine(python="/a b/python", scripts="/s", home="/my home")


@pytest.fixture
def texts() -> dict[str, str]:
    return skills(speech(MACHINE))


def test_a_plugin_is_a_folder_of_its_own_and_touches_nothing_else(place: Place) -> None:  # noqa: F811
    before = place.seen()
    folder = place.top / "plugin"
    report = installing.install(place.wish(plugin=str(folder), shorten=9_000))
    seen = place.seen()
    assert {name: seen[name] for name in before} == before
    assert all(name.startswith("plugin") for name in set(seen) - set(before))
    assert report.scope == "plugin"
    manifest = json.loads((folder / ".claude-plugin/plugin.json").read_bytes())
    assert manifest["name"] == "holdfast"
    hooks = json.loads((folder / "hooks/hooks.json").read_bytes())["hooks"]
    assert list(hooks) == [event.name for event in EVENTS]
    assert all(len(groups) == 1 for groups in hooks.values())
    assert "--shorten 9000" in hooks["PostToolUse"][0]["hooks"][0]["command"]
    assert list(json.loads((folder / ".mcp.json").read_bytes())["mcpServers"]) == ["holdfast"]
    assert set(os.listdir(folder / "skills")) == NAMES
    recall = (folder / "skills/memory-recall/SKILL.md").read_text()
    assert "mcp__plugin_holdfast_holdfast__memory_search" in recall
    assert len((folder / "README.md").read_text().split()) >= 40


def test_a_plugin_of_ours_is_brought_up_to_date_and_another_folder_refused(place: Place) -> None:  # noqa: F811
    folder = place.top / "plugin"
    folder.mkdir()
    installing.install(place.wish(plugin=str(folder)))
    assert not installing.install(place.wish(plugin=str(folder))).changed
    assert installing.install(place.wish(plugin=str(folder), shorten=2_000)).changed
    for name in ("project", "home"):
        before = place.seen()
        with pytest.raises(Conflict, match="is not a plugin of Holdfast"):
            installing.install(place.wish(plugin=str(place.top / name)))
        assert place.seen() == before


def test_a_plugin_is_made_whole_or_not_at_all(place: Place) -> None:  # noqa: F811
    before = place.seen()
    with pytest.raises(Unavailable, match="nothing was changed"):
        installing.install(place.wish(plugin=str(place.top / "a" / "plugin")), Failing(20))
    assert place.seen() == before
    report = installing.install(place.wish(plugin=str(place.top / "plugin"), dry_run=True))
    assert report.changed
    assert place.seen() == before


# ---- skills ------------------------------------------------------------------------------------


def front_matter(text: str) -> dict[str, Any]:
    _, head, _ = text.split("---\n", 2)
    found: dict[str, Any] = {"allowed-tools": []}
    for line in head.splitlines():
        if line.startswith("  - "):
            found["allowed-tools"].append(json.loads(line[4:]))
        elif not line.startswith("allowed-tools"):
            name, _, value = line.partition(": ")
            found[name] = json.loads(value)
    return found


def commands(text: str) -> list[list[str]]:
    """Every command of Holdfast a skill names, as words."""
    found = re.findall(r"'/a b/python' -P -m holdfast [^`\n]*(?=[`\n])", text)
    return [shlex.split(line)[4:] for line in found if not line.endswith('*)"')]


def test_every_skill_says_what_it_is_for_and_what_it_may_run(texts: dict[str, str]) -> None:
    assert set(texts) == NAMES
    for name, text in texts.items():
        about = front_matter(text)
        assert about["name"] == name
        assert 40 < len(about["description"]) < 300
        assert about["allowed-tools"]
        for rule in about["allowed-tools"]:
            known = re.fullmatch(r"mcp__holdfast__(\w+)", rule)
            assert (
                known[1] in TOOLS
                if known
                else rule.startswith("Bash('/a b/python' -P -m holdfast ")
            )


def test_no_line_the_host_runs_by_itself_holds_what_somebody_typed(texts: dict[str, str]) -> None:
    lines = [line for text in texts.values() for line in re.findall(r"!`[^`]*`", text)]
    assert lines
    for line in lines:
        assert "$ARGUMENTS" not in line
        assert not re.search(r"\$(?!\{CLAUDE_SESSION_ID\})", line)
    assert sum("$ARGUMENTS" in text for text in texts.values()) == 4


def test_every_command_of_a_skill_is_allowed_there_and_exists(texts: dict[str, str]) -> None:
    for text in texts.values():
        allowed = [
            shlex.split(rule[5:-3])[4:]
            for rule in front_matter(text)["allowed-tools"]
            if rule.startswith("Bash(")
        ]
        named = commands(text)
        assert named
        for words in named:
            assert any(words[: len(verb)] == verb for verb in allowed), words
            assert words[-2:] == ["--home", "/my home"]
            given = [word.replace("${CLAUDE_SESSION_ID}", "0b5d") for word in words]
            app.parse_args(given, exit_on_error=False, print_error=False)


# ---- doctor ------------------------------------------------------------------------------------


def test_doctor_sees_a_sound_installation(place: Place) -> None:  # noqa: F811
    assert installing.examine(str(place.home)) == []
    for scope in ("project", "user"):
        installing.install(place.wish(scope=scope))
    found = installing.examine(str(place.home))
    assert [one.check for one in found] == ["claude-code (project)", "claude-code (user)"]
    assert all(one.good and not one.remedy for one in found)


def test_doctor_sees_what_became_of_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    script = place.write("lib/holdfast/doors/hooks/claude_capture.py", "print()\n")
    place.write("lib/holdfast/doors/hooks/claude_inject.py", "print()\n")
    python = place.write("bin/python", "", 0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(install_claude, "PACKAGE", str(place.top / "lib" / "holdfast"))
    installing.install(place.wish(shorten=4_000))
    assert all(one.good for one in installing.examine(str(place.home)))
    script.write_text("print('another')\n")
    python.unlink()
    (place.root / ".mcp.json").unlink()
    (place.root / ".claude/settings.local.json").write_text("{")
    path = Path(memory_files("project", str(place.root))[0])
    path.write_text(path.read_text().replace("Never", "Always"))
    found = installing.examine(str(place.home))
    said = "\n".join(one.found for one in found)
    assert not any(one.good for one in found)
    for what in (
        f"{python}, which is not there any more",
        f"{script} is another than when it was installed",
        ".mcp.json does not hold what was installed",
        "settings.local.json, line 1",
        "CLAUDE.md does not hold what was installed",
    ):
        assert what in said
    assert {one.remedy for one in found} == {
        f"in {place.root}: holdfast install claude-code --scope project --shorten 4000"
    }


def test_a_project_that_is_gone_is_no_trouble_and_is_forgotten(place: Place) -> None:  # noqa: F811
    installing.install(place.wish())
    installing.install(place.wish(scope="user"))
    place.root.rename(place.top / "moved")
    found = installing.examine(str(place.home))
    assert [one.good for one in found] == [True, True]
    assert "is gone" in found[0].found
    installing.install(place.wish(scope="user"))
    assert len(installing.examine(str(place.home))) == 1
