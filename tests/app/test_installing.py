"""Installing into a host and out of it: nothing is left behind, nothing is done by halves."""

from __future__ import annotations

import errno
import json
import os
import shlex
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import installing
from holdfast.app.install_claude import EVENTS
from holdfast.app.install_words import BEGIN
from holdfast.app.installing import Report, Wish
from holdfast.app.open import init
from holdfast.capture.disk import Disk
from holdfast.errors import Conflict, Denied, HoldfastError, Invalid, NotFound, Unavailable

SKILLS = ("context-debug", "end-session", "memory-recall", "restore", "session-status")
SETTINGS = '{\r\n\t"model": "opus", "hooks": {\r\n\t\t"Stop": [{"hooks": []}]\r\n\t}\r\n}'


class Place:
    """A project, a person's folder of the host, and Holdfast's home, all below one folder."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.root = top / "project"
        self.config = top / "person" / ".claude"
        self.home = top / "home"
        self.root.mkdir()
        self.config.parent.mkdir()
        init(self.root, self.home).close()

    def wish(self, **more: Any) -> Wish:
        said = {"home": str(self.home), "path": str(self.root), "config_dir": str(self.config)}
        return Wish(**{**said, **more})

    def seen(self) -> dict[str, Any]:
        """Everything there is: modes, links, bytes."""
        found: dict[str, Any] = {}
        for path in sorted(self.top.rglob("*")):
            mode = stat.S_IMODE(path.lstat().st_mode)
            inside: Any = path.read_bytes() if path.is_file() else "folder"
            link = path.readlink() if path.is_symlink() else None
            found[str(path.relative_to(self.top))] = (mode, link or inside)
        return found

    def write(self, name: str, text: str, mode: int = 0o644) -> Path:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(mode)
        return path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    top = tmp_path / "top"
    top.mkdir()
    return Place(top)


def furnish(place: Place) -> None:
    """Files of somebody who uses the host already."""
    place.write("project/.claude/settings.local.json", SETTINGS, 0o600)
    place.write("project/.mcp.json", '{"mcpServers":{}}')
    place.write("project/.claude/skills/mine/SKILL.md", "mine")
    place.write("project/AGENTS.md", "# Rules\r\n\r\nBe kind.")
    place.write("person/.claude/settings.json", "", 0o640)
    place.write("person/.claude/CLAUDE.md", "# Me\n")


def by_name(report: Report) -> dict[str, str]:
    return {os.path.basename(step.path): step.done for step in report.steps}


@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("furnished", [False, True])
def test_after_uninstall_every_file_is_as_it_was(place: Place, scope: str, furnished: bool) -> None:
    if furnished:
        furnish(place)
    before = place.seen()
    report = installing.install(place.wish(scope=scope))
    after = place.seen()
    assert report.changed
    assert {name for name in before if before[name] != after[name]} == (
        set()
        if not furnished
        else {"project/.claude/settings.local.json", "project/.mcp.json", "project/AGENTS.md"}
        if scope == "project"
        else {"person/.claude/settings.json", "person/.claude/CLAUDE.md"}
    )
    assert after["home/installed.json"][0] == 0o600
    assert all(before[name][0] == after[name][0] for name in before)
    out = installing.uninstall(place.wish(scope=scope))
    assert place.seen() == before
    assert set(by_name(out).values()) <= {"removed", "restored"}


@pytest.mark.parametrize("scope", ["project", "user"])
def test_installing_twice_changes_nothing_the_second_time(place: Place, scope: str) -> None:
    furnish(place)
    installing.install(place.wish(scope=scope))
    once = place.seen()
    report = installing.install(place.wish(scope=scope))
    assert place.seen() == once
    assert not report.changed
    assert set(by_name(report).values()) == {"unchanged"}


def test_a_dry_run_shows_every_change_and_makes_none(place: Place) -> None:
    furnish(place)
    before = place.seen()
    report = installing.install(place.wish(dry_run=True))
    assert place.seen() == before
    assert all(step.diff.startswith("--- ") for step in report.steps)
    assert "+\t\t\t" in report.steps[0].diff
    installing.install(place.wish())
    there = place.seen()
    out = installing.uninstall(place.wish(dry_run=True))
    assert place.seen() == there
    assert any("-<!-- holdfast:begin -->" in step.diff for step in out.steps)


def test_the_host_is_told_to_call_these_scripts_for_these_events(place: Place) -> None:
    installing.install(place.wish(shorten=20_000))
    settings = json.loads((place.root / ".claude/settings.local.json").read_bytes())
    for event in EVENTS:
        ((group,),) = [settings["hooks"].pop(event.name)]
        (handler,) = group["hooks"]
        assert (handler["type"], handler["timeout"]) == ("command", 5)
        assert group.get("matcher") == event.matcher
        python, isolated, bare, script, cache, *more = shlex.split(handler["command"])
        assert (python, isolated, bare) == (sys.executable, "-I", "-S")
        shortens = event.name == "PostToolUse"
        assert os.path.basename(script) == ("claude_inject.py" if shortens else event.script)
        assert os.path.isfile(script)
        assert cache == str(place.home / "hooks.json")
        assert os.path.isfile(cache)
        assert more == (["--shorten", "20000"] if shortens else [])
    assert settings == {"hooks": {}}
    assert not {event.name for event in EVENTS} & {
        "WorktreeCreate",
        "PermissionRequest",
        "PermissionDenied",
    }
    servers = json.loads((place.root / ".mcp.json").read_bytes())["mcpServers"]
    assert servers["holdfast"]["args"][-2:] == ["--home", str(place.home)]


def test_agents_are_told_once_in_the_files_there_are(place: Place) -> None:
    installing.install(place.wish())
    assert BEGIN in (place.root / "CLAUDE.md").read_text()
    assert not (place.root / "AGENTS.md").exists()
    installing.uninstall(place.wish())
    place.write("project/AGENTS.md", "rules\n")
    (place.root / "CLAUDE.md").symlink_to("AGENTS.md")
    before = place.seen()
    installing.install(place.wish())
    assert (place.root / "AGENTS.md").read_text().count(BEGIN) == 1
    assert (place.root / "CLAUDE.md").is_symlink()
    installing.uninstall(place.wish())
    assert place.seen() == before
    (place.root / "CLAUDE.md").unlink()
    place.write("project/CLAUDE.md", "@AGENTS.md\n")
    installing.install(place.wish())
    assert (place.root / "CLAUDE.md").read_text() == "@AGENTS.md\n"
    assert BEGIN in (place.root / "AGENTS.md").read_text()


def test_instructions_can_be_left_alone(place: Place) -> None:
    place.write("project/CLAUDE.md", "mine\n")
    installing.install(place.wish(memory_file=False))
    assert (place.root / "CLAUDE.md").read_text() == "mine\n"


@pytest.mark.parametrize("there", [True, False])
def test_a_server_that_could_not_start_is_spoken_of(
    place: Place, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    monkeypatch.setattr(installing, "find_spec", lambda _: there or None)
    said = installing.install(place.wish(dry_run=True)).say
    assert any("pip install 'holdfast[mcp]'" in one for one in said) is not there


def test_an_upgrade_replaces_what_is_old_and_leaves_no_trace_either(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(place)
    before = place.seen()
    installing.install(place.wish())
    old = sys.executable
    monkeypatch.setattr(sys, "executable", "/opt/new python/bin/python3")
    report = installing.install(place.wish(shorten=5_000))
    assert by_name(report)["settings.local.json"] == "edited"
    assert by_name(report)["AGENTS.md"] == "unchanged"
    settings = (place.root / ".claude/settings.local.json").read_text()
    assert old not in settings
    assert settings.count("'/opt/new python/bin/python3'") == len(EVENTS)
    assert installing.install(place.wish(shorten=5_000)).changed is False
    installing.uninstall(place.wish())
    after = place.seen()
    for seen in (before, after):
        del seen["home/hooks.json"]  # names the interpreter of whoever looked last
    assert after == before


def test_without_a_manifest_our_entries_are_known_by_what_they_are(place: Place) -> None:
    furnish(place)
    before = place.seen()
    installing.install(place.wish())
    (place.home / "installed.json").unlink()
    installing.uninstall(place.wish())
    after = place.seen()
    settings = json.loads(after.pop("project/.claude/settings.local.json")[1])
    assert settings == json.loads(before.pop("project/.claude/settings.local.json")[1])
    assert b"holdfast" not in after.pop("project/AGENTS.md")[1]
    for gone in ("project/AGENTS.md", "project/.mcp.json"):
        before.pop(gone)
    assert after == before


def test_what_somebody_changed_stays_theirs_and_it_is_said(place: Place) -> None:
    installing.install(place.wish())
    path = place.root / ".claude/settings.local.json"
    settings = json.loads(path.read_bytes())
    path.write_text(json.dumps({**settings, "model": "opus"}))
    skill = place.root / ".claude/skills/restore/SKILL.md"
    skill.write_text(skill.read_text().replace("wait for", "do not wait for"))
    out = installing.uninstall(place.wish())
    assert json.loads(path.read_bytes()) == {"model": "opus"}
    assert {step.done: step.about for step in out.steps if "changed" in step.about} == {
        "edited": "it was changed since, so only Holdfast's part went",
        "left": "you changed this skill, so it stays; remove it when you do not need it",
    }
    assert skill.exists()
    assert sorted(os.listdir(place.root / ".claude" / "skills")) == ["restore"]


def test_a_skill_or_server_of_the_same_name_is_left_alone(place: Place) -> None:
    mine = place.write("project/.claude/skills/restore/SKILL.md", "mine")
    theirs = place.write("project/.mcp.json", '{"mcpServers": {"holdfast": {"command": "x"}}}')
    before = place.seen()
    report = installing.install(place.wish())
    left = {step.path: step.about for step in report.steps if step.done == "left"}
    assert set(left) == {str(mine), str(theirs)}
    assert all("rename it and install again" in why for why in left.values())
    installing.uninstall(place.wish())
    assert place.seen() == before


class Failing(Disk):
    """A disk whose nth call of some kinds fails."""

    def __init__(self, nth: int, number: int = errno.ENOSPC, *, for_good: bool = False) -> None:
        self.left, self.number, self.for_good = nth, number, for_good

    def _call(self, name: str, *given: Any) -> Any:
        self.left -= 1
        if self.left == 0 or (self.for_good and self.left < 0):
            raise OSError(self.number, os.strerror(self.number))
        return getattr(os, name)(*given)

    def open(self, *given: Any) -> Any:  # type: ignore[override]
        return self._call("open", *given)

    def mkdir(self, *given: Any) -> Any:  # type: ignore[override]
        return self._call("mkdir", *given)

    def replace(self, *given: Any) -> Any:  # type: ignore[override]
        return self._call("replace", *given)

    def fsync(self, *given: Any) -> Any:
        return self._call("fsync", *given)

    def unlink(self, *given: Any) -> Any:  # type: ignore[override]
        return self._call("unlink", *given)


@pytest.mark.parametrize("furnished", [False, True])
def test_whatever_fails_everything_is_as_it_was(place: Place, furnished: bool) -> None:
    if furnished:
        furnish(place)
    for verb in (installing.install, installing.uninstall):
        before = place.seen()
        whole = Failing(0)
        for nth in range(1, 200):
            whole = Failing(nth)
            try:
                verb(place.wish(), whole)
            except Unavailable:
                assert place.seen() == before
                continue
            break
        assert whole.left > 0
        assert place.seen() != before


def test_a_failure_says_that_nothing_was_changed_or_else_what_was(place: Place) -> None:
    furnish(place)
    with pytest.raises(Denied, match="nothing was changed"):
        installing.install(place.wish(), Failing(20, errno.EACCES))
    with pytest.raises(Unavailable, match=r"could not be put back as they were: .*settings"):
        installing.install(place.wish(), Failing(20, for_good=True))


def test_a_file_that_changes_meanwhile_is_not_overwritten(place: Place) -> None:
    furnish(place)
    path = place.root / "AGENTS.md"

    class Meddling(Disk):
        def replace(self, *given: Any) -> Any:  # type: ignore[override]
            path.write_text("somebody else wrote this")
            return os.replace(*given)

    before = place.seen()
    with pytest.raises(Conflict, match="changed by somebody else"):
        installing.install(place.wish(), Meddling())
    after = place.seen()
    assert after.pop("project/AGENTS.md")[1] == b"somebody else wrote this"
    before.pop("project/AGENTS.md")
    assert after == before


@pytest.mark.parametrize(
    ("name", "text", "kind", "said"),
    [
        (".claude/settings.local.json", "{,}", Invalid, "settings.local.json, line 1"),
        (".claude/settings.local.json", '{"hooks": 1}', Invalid, "hooks must be an object"),
        (".claude/settings.local.json", "[]", Invalid, "settings are an object"),
        (".mcp.json", "{\n//\n}", Invalid, ".mcp.json, line 2"),
        ("CLAUDE.md", f"a\n{BEGIN}\n", Invalid, "CLAUDE.md, line 2"),
        (".claude", "a file", Invalid, "move away what is there"),
        ("CLAUDE.md/x", "", Invalid, "CLAUDE.md cannot be a file here"),
    ],
)
def test_a_refusal_names_the_file_and_changes_nothing(
    place: Place, name: str, text: str, kind: type[HoldfastError], said: str
) -> None:
    place.write(f"project/{name}", text)
    before = place.seen()
    with pytest.raises(kind) as refused:
        installing.install(place.wish())
    assert said in str(refused.value)
    assert place.seen() == before


def test_words_that_cannot_be_meant_are_refused(place: Place, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="1000 characters or more"):
        installing.install(place.wish(shorten=10))
    with pytest.raises(Invalid, match="not into emacs"):
        installing.install(place.wish(host="emacs"))
    with pytest.raises(Invalid, match="cannot stand in a host's command"):
        installing.install(place.wish(home=str(tmp_path / "a`b")))
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    with pytest.raises(NotFound, match="holdfast init"):
        installing.install(place.wish(path=str(nowhere)))
    assert os.listdir(nowhere) == []


def test_a_folder_that_is_no_project_any_more_can_still_be_cleaned(place: Place) -> None:
    installing.install(place.wish())
    (place.root / ".holdfast.toml").unlink()
    installing.uninstall(place.wish())
    assert os.listdir(place.root) == []
    assert installing.uninstall(place.wish()).steps == []


def test_an_unreadable_manifest_says_what_to_do(place: Place) -> None:
    place.write("home/installed.json", "{")
    with pytest.raises(Invalid, match="move it away"):
        installing.install(place.wish())
    (found,) = installing.examine(str(place.home))
    assert not found.good
