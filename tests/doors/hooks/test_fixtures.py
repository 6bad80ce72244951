"""What Claude Code sends, as recorded from the program itself, and which events come of it.

`events.json` says for each file of `stdin` what the log holds afterwards. When that is meant to change,
`python -m tests.doors.hooks.test_fixtures` writes it anew, and the difference is read by a person.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.capture.disk import Disk
from holdfast.capture.place import CACHE, find
from holdfast.doors import hooks
from holdfast.doors.hooks import caught, claude
from holdfast.engines.files import FileLog
from holdfast.model.events import Event

HERE = Path(__file__).parent
FIXTURES = sorted((HERE / "stdin").glob("*.json"))
GOLDEN = HERE / "events.json"
SCRIPTS = Path(hooks.__file__).parent
#: the folder of the recordings
SHOP = "/home/ana/shop"
LONG = 200
#: these go through a process of their own
THROUGH_PROCESSES = [
    "PostToolUse-AskUserQuestion",
    "PostToolUse-Bash-large",
    "PostToolUse-Bash-subagent",
    "PreToolUse-Edit",
    "SessionStart-compact",
    "SubagentStop",
    "Unknown",
    "UserPromptSubmit",
    "UserPromptSubmit-notification",
]
Told = list[list[Any]]


class Shop:
    """A marked project, where the recordings are played again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "shop"
        self.root.mkdir(parents=True)
        (self.root / ".holdfast.toml").write_text('project_id = "shop"\n')
        self.log = folder / "home" / "contexts-v2" / "shop"
        self.log.mkdir(parents=True)
        self.cache = folder / "home" / CACHE

    def said(self, name: str, **more: object) -> dict[str, Any]:
        """A recording, in this folder."""
        text = (HERE / "stdin" / f"{name}.json").read_text("utf-8")
        found: dict[str, Any] = json.loads(text.replace(SHOP, str(self.root)))
        return {**found, **more}

    def record(self, said: dict[str, Any]) -> None:
        """What the scripts do, without the processes."""
        place = find(str(self.cache), str(self.root), Disk())
        assert place is not None
        caught.record(place, claude.events(said), [], Disk())

    def run(
        self, said: dict[str, Any], *, script: str = "claude_capture", elsewhere: bool = False
    ) -> bytes:
        """The script itself, told its folder by the input alone or also by the host; what it printed."""
        host = {} if elsewhere else {"CLAUDE_PROJECT_DIR": str(self.root)}
        done = subprocess.run(
            [sys.executable, "-I", "-S", SCRIPTS / f"{script}.py", self.cache],
            input=json.dumps(said).encode(),
            env={"USER": "ana", **host},
            capture_output=True,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    def events(self) -> list[Event]:
        """What the log holds; all of it whole."""
        log = FileLog(str(self.log))
        try:
            found = list(log.read())
        finally:
            log.close()
        assert all(isinstance(one, Event) for one in found)
        return [one for one in found if isinstance(one, Event)]

    def awaited(self) -> list[Event]:
        """The same, once a process of its own has recorded something."""
        for _ in range(600):
            if found := self.events():
                return found
            time.sleep(0.05)
        raise AssertionError("nothing was recorded")

    def told(self) -> Told:
        """The same, without what differs from run to run."""
        return [
            [e.type, e.origin, e.trust, (e.session_id or "")[36:], self._plain(e.payload)]
            for e in self.events()
        ]

    def everything(self) -> bytes:
        """Every byte that was written."""
        files = (p for p in (self.folder / "home").rglob("*") if p.is_file())
        return b"".join(file.read_bytes() for file in files)

    def _plain(self, value: object) -> object:
        if isinstance(value, dict):
            return {name: self._plain(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._plain(item) for item in value]
        if isinstance(value, str):
            text = re.sub(r":[0-9a-f]{12}\]", ":…]", value.replace(str(self.root), SHOP))
            return text if len(text) <= LONG else f"{text[:80]} … of {len(text)} characters"
        return value


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    return Shop(tmp_path)


def golden() -> dict[str, Told]:
    found: dict[str, Told] = json.loads(GOLDEN.read_text("utf-8"))
    return found


@pytest.mark.parametrize("name", [file.stem for file in FIXTURES])
def test_every_recording_comes_to_the_events_it_should(shop: Shop, name: str) -> None:
    shop.record(shop.said(name))
    assert shop.told() == golden()[name]


@pytest.mark.parametrize("name", [file.stem for file in FIXTURES])
def test_fields_nobody_knows_change_nothing(shop: Shop, name: str) -> None:
    said = shop.said(name, later={"version": [1, None]}, decision="block", trust=3, origin="user")
    shop.record(said)
    assert shop.told() == golden()[name]


@pytest.mark.parametrize("name", THROUGH_PROCESSES)
def test_a_process_records_the_same_and_prints_nothing(shop: Shop, name: str) -> None:
    assert shop.run(shop.said(name)) == b""
    assert shop.told() == golden()[name]


def test_a_process_that_may_answer_records_the_same_and_says_nothing_when_nobody_is_there(
    shop: Shop,
) -> None:
    assert shop.run(shop.said("UserPromptSubmit"), script="claude_inject") == b""
    assert shop.told() == golden()["UserPromptSubmit"]


def test_only_what_a_person_typed_is_believed_like_a_person() -> None:
    believed = {name for name, told in golden().items() if any(one[2] == 3 for one in told)}
    assert believed == {
        "UserPromptSubmit", "UserPromptSubmit-command", "UserPromptSubmit-interactive",
    }  # fmt: skip


TAGS = [
    "task-notification",
    "system-reminder",
    "local-command-stdout",
    "local-command-caveat",
    "bash-stdout",
    "command-message",
    "teammate-message",
    "tick",
    "channel",
]


@pytest.mark.parametrize("before", ["", " ", "\n\t"])
@pytest.mark.parametrize("tag", [*TAGS, 'channel source="telegram" user="stranger"'])
def test_a_notice_of_the_host_is_never_the_persons_word(shop: Shop, tag: str, before: str) -> None:
    words = f"{before}<{tag}>\nAlways deploy on Friday</{tag.split()[0]}>\n"
    shop.record(shop.said("UserPromptSubmit", prompt=words))
    assert [(e.type, e.trust) for e in shop.events()] == [("system_event@1", 1)]


@pytest.mark.parametrize(
    "words",
    [
        "<app-root> stays blank: never use eval",
        "<my-element>x</my-element> is how we write it",
        "<system-reminder> is what I see all the time",
        "<tick-box>always ticked</tick-box>",
        "What does <channel>x</channel> mean?",
        "<div>no</div>",
        "</channel> is left over",
    ],
)
def test_what_only_looks_like_a_notice_is_the_persons_word(shop: Shop, words: str) -> None:
    shop.record(shop.said("UserPromptSubmit", prompt=words))
    assert [(e.type, e.trust, e.text) for e in shop.events()] == [("user_message@1", 3, words)]


def test_a_sub_agent_has_a_session_and_a_name_of_its_own(shop: Shop) -> None:
    for name in ("PreToolUse-Bash", "SubagentStart", "PreToolUse-Bash-subagent", "SubagentStop"):
        shop.record(shop.said(name))
    main, *sub = shop.events()
    assert (main.agent, "/" in (main.session_id or "")) == ("claude-code", False)
    assert {e.session_id for e in sub} == {f"{main.session_id}/a062a923e78b0c2d0"}
    assert {e.agent for e in sub} == {"claude-code/general-purpose"}
    assert sub[0].payload["parent"] == main.session_id


DENIED: list[tuple[str, dict[str, object]]] = [
    ("PostToolUse-Read", {"tool_input": {"file_path": "/x/.env"}}),
    ("PostToolUse-Bash", {"tool_input": {"command": "cat .env"}}),
    ("PostToolUse-Bash", {"tool_input": {"command": "cd app && grep . < .env.production"}}),
    ("PostToolUseFailure-Bash", {"tool_input": {"command": "sh .env"}, "error": "GARDEN PARTY"}),
    ("PreToolUse-Write", {"tool_input": {"file_path": "/x/.env", "content": "GARDEN PARTY"}}),
    ("PreToolUse-Bash", {"tool_input": {"command": "cat > .env <<'E'\nX=GARDEN PARTY\nE"}}),
    ("PreToolUse-Bash", {"tool_input": {"command": "echo X='GARDEN PARTY' >> .env"}}),
    ("PreToolUse-Edit", {"tool_input": {"file_path": "id_rsa", "new_string": "GARDEN PARTY"}}),
]


@pytest.mark.parametrize(("name", "more"), DENIED, ids=range(len(DENIED)))
def test_what_a_denied_file_holds_is_withheld(
    shop: Shop, name: str, more: dict[str, object]
) -> None:
    said = shop.said(name, **more)
    if name.startswith("PostToolUse-"):
        said["tool_response"] = {"stdout": "GARDEN PARTY", "file": {"content": "GARDEN PARTY"}}
    shop.record(said)
    assert len(shop.events()) == 1
    assert b"GARDEN PARTY" not in shop.everything()


def test_what_a_denied_file_holds_is_withheld_however_long_it_is(shop: Shop) -> None:
    """More than is ever taken in is told of in short, and that must not tell what is denied."""
    said = shop.said("PostToolUse-Bash", tool_input={"command": 'cat ".env"'})
    said["tool_response"] = {"stdout": "GARDEN PARTY " * 6_000_000}
    shop.run(said)
    assert shop.awaited()[0].session_id == said["session_id"]
    assert b"GARDEN PARTY" not in shop.everything()


def test_a_secret_never_reaches_the_disk(shop: Shop) -> None:
    secret = "ghp_" + "a1B2" * 9
    shop.run(shop.said("UserPromptSubmit", prompt=f"use {secret}"))
    shop.run(shop.said("PostToolUse-Bash", tool_response={"stdout": secret, "stderr": ""}))
    shop.run(shop.said("PreToolUse-Bash", tool_input={"command": f"login --token {secret}"}))
    assert len(shop.events()) == 3
    assert secret.encode() not in shop.everything()


def test_what_a_person_chose_among_an_agents_words_is_the_agents_word(shop: Shop) -> None:
    shop.record(shop.said("PostToolUse-AskUserQuestion"))
    asked, chosen = shop.events()
    assert (asked.type, asked.trust) == ("tool_result@1", 1)
    assert (chosen.type, chosen.trust, chosen.text) == ("user_message@1", 2, "Which one? A")


def test_an_output_the_host_keeps_in_a_file_is_recorded_whole(shop: Shop) -> None:
    kept, lines = shop.folder / "kept.txt", 200_000
    kept.write_text("".join(f"line {n}\n" for n in range(lines)))
    said = shop.said("PostToolUse-Bash")
    said["tool_response"] = {"stdout": "line 0\n", "persistedOutputPath": str(kept)}
    shop.run(said)
    assert len(shop.awaited()) == 1
    assert kept.read_bytes() in shop.everything()


@pytest.mark.parametrize("kind", ["pipe", "folder", "missing", "nul"])
def test_what_is_no_file_is_not_waited_for(shop: Shop, kind: str) -> None:
    kept = shop.folder / ("kept\0" if kind == "nul" else "kept")
    if kind == "pipe":
        os.mkfifo(kept)
    elif kind == "folder":
        kept.mkdir()
    response = {"stdout": "as far as it came", "persistedOutputPath": str(kept)}
    shop.run(shop.said("PostToolUse-Bash", tool_response=response))
    assert [event.text for event in shop.events()] == ["as far as it came"]


def test_a_folder_with_an_impossible_name_loses_no_event(shop: Shop) -> None:
    shop.run(shop.said("SessionStart-startup", cwd=f"{shop.root}/a\0b"), elsewhere=True)
    assert [event.type for event in shop.events()] == ["session_started@1"]


def branch(shop: Shop, folder: Path) -> object:
    shop.record(shop.said("SessionStart-startup", cwd=str(folder)))
    return shop.events()[-1].payload.get("git_branch")


def test_the_branch_is_that_of_the_nearest_repository(shop: Shop) -> None:
    (shop.root / "src" / "cart").mkdir(parents=True)
    assert branch(shop, shop.root) is None
    git = ["git", "-C", str(shop.root), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run([*git, "init", "-q", "-b", "trunk"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    tree = shop.folder / "tree"
    subprocess.run([*git, "worktree", "add", "-q", "-b", "fix/cart", str(tree)], check=True)
    (tree / "lib").mkdir()
    assert branch(shop, shop.root) == "trunk"
    assert branch(shop, shop.root / "src" / "cart") == "trunk"
    assert branch(shop, tree / "lib") == "fix/cart"
    subprocess.run([*git, "checkout", "-q", "--detach"], check=True)
    assert branch(shop, shop.root) is None
    (shop.root / ".git" / "HEAD").unlink()
    os.mkfifo(shop.root / ".git" / "HEAD")
    assert branch(shop, shop.root) is None


def write() -> None:
    """The golden file, from what is so today."""
    told = {}
    with tempfile.TemporaryDirectory() as scratch:
        for file in FIXTURES:
            shop = Shop(Path(scratch) / file.stem)
            shop.record(shop.said(file.stem))
            told[file.stem] = shop.told()
    rows = (
        f"{json.dumps(name)}: {json.dumps(of, ensure_ascii=False)}" for name, of in told.items()
    )
    GOLDEN.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")


if __name__ == "__main__":
    write()
