"""Docs are executed or generated; a stale page fails here."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.model.events import EVENT_TYPES

ROOT = Path(__file__).parents[2]


def _pages() -> dict[str, Callable[[], str]]:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages: dict[str, Callable[[], str]] = module.PAGES
    return pages


@pytest.mark.parametrize("name", ["settings.md", "events.md", "cli.md"])
def test_a_generated_page_is_what_the_code_says_today(name: str) -> None:
    page = (ROOT / "docs" / name).read_text("utf-8")
    assert page == _pages()[name](), "run `make docs`"


def test_the_code_in_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize(
    ("name", "count"),
    [("memory.md", 3), ("context.md", 4), ("items.md", 3), ("compaction.md", 7)],
)
def test_the_code_in_a_page_runs(
    name: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its blocks are one program."""
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    page = (ROOT / "docs" / name).read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == count
    monkeypatch.chdir(tmp_path)
    exec(compile("".join(blocks), name, "exec"), {})


def test_every_command_the_readme_names_exists() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    named = re.search(r"Commands: `([^`]+)`", readme)
    assert named is not None
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert all(f"holdfast {command}" in page for command in named[1].split())


def test_make_bench_measures_what_leaves_a_window_too() -> None:
    words = ["make", "--dry-run", "--always-make", "bench", "DATA=folder"]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in ("items", "compact", "tune", "soak"):
        assert f"python -m bench.{name} folder --" in said


def test_every_event_type_has_a_sentence() -> None:
    assert all(meaning for meaning in EVENT_TYPES.values())
    assert len(EVENT_TYPES) >= 44


def test_version_and_changelog_agree() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert holdfast.__version__ == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_architecture_stays_short_and_names_files_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert text.count("\n") <= 150
    for path in re.findall(
        r"`((?:app|capture|engines|model|ports|record|views)/[\w/]+\.py)`", text
    ):
        assert (ROOT / "src" / "holdfast" / path).is_file(), path


def test_the_public_names_are_these_and_change_only_by_decision() -> None:
    assert set(holdfast.__all__) == {
        "ComposeSettings",
        "ContextItem",
        "Damage",
        "DamageWarning",
        "Draft",
        "Event",
        "Found",
        "Hit",
        "Holdfast",
        "Memory",
        "Pack",
        "RecallSettings",
        "Receipt",
        "Session",
        "Signals",
        "WorkerAgent",
        "aio",
        "errors",
        "open",
    }
    assert all(getattr(holdfast, name) is not None for name in holdfast.__all__)
