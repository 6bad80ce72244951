"""A machine with one project on it, whose hooks a host calls, and on which processes and files die.

Each call is a process of its own, as the host starts it, with the host's JSON on standard input. What a
call said, and whether it came to its end, is written down: what ended well must be in the log.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import holdfast
from holdfast.capture import prepared, resident
from holdfast.capture.layout import ACTIVE, INDEX, RESIDENT_SOCKET, RESIDENT_STARTED
from holdfast.capture.place import CACHE
from holdfast.doors.hooks import claude

Json = dict[str, Any]
USER = "ana"
_CONFIG = "XDG_CONFIG_HOME"
#: events at which the host takes words; all others are only told
ASKS = ("SessionStart", "UserPromptSubmit", "PreToolUse")
_SCRIPTS = os.path.join(os.path.dirname(holdfast.__file__), "doors", "hooks")
#: a hook that is killed is so within this many seconds; it takes about twice as long in all
_KILLED_WITHIN = 0.08
_LONGEST = 15.0
_POLL = 0.02


@dataclass(frozen=True)
class Call:
    """One call of a hook: what it was told, what it said, whether it came to its end."""

    said: Json
    context: str
    finished: bool
    #: it used up the time it has
    late: bool


@dataclass
class Machine:
    """One person's machine: a home, a project, what was called on it."""

    place: str
    deadline_ms: int = 500
    calls: list[Call] = field(default_factory=list)
    #: how often each kind of trouble was made
    troubles: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home = os.path.join(self.place, "home")
        self.root = os.path.join(self.place, "ledger")
        self.cache = os.path.join(self.home, CACHE)
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": self.place,
            "LOGNAME": USER,
            _CONFIG: os.path.join(self.place, "config"),
            "HOLDFAST_HOME": self.home,
            "CLAUDE_PROJECT_DIR": self.root,
        }
        config = Path(self.place, "config", "holdfast", "config.toml")
        config.parent.mkdir(parents=True)
        config.write_text(f"[hooks]\ndeadline_ms = {self.deadline_ms}\n", "utf-8")
        os.makedirs(self.root)
        self.folder = str(self.program("init", ".")["folder"])

    def program(self, *words: str) -> Json:
        """What `holdfast …` answers."""
        command = [sys.executable, "-m", "holdfast", *words, "--json"]
        done = subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, check=True
        )
        found: Json = json.loads(done.stdout)
        return found

    @contextmanager
    def opened(self) -> Iterator[holdfast.Holdfast]:
        """The project, opened by a program of the same person."""
        kept = os.environ.get(_CONFIG)
        os.environ[_CONFIG] = self.environment[_CONFIG]
        try:
            with holdfast.open(self.home, path=self.root, user=USER) as hf:
                yield hf
        finally:
            if kept is None:
                del os.environ[_CONFIG]
            else:
                os.environ[_CONFIG] = kept

    # ---- hooks -----------------------------------------------------------------------------

    def call(self, said: Json, kill: random.Random | None = None) -> Call:
        """One event, told to the hook that is installed for it; perhaps killed in the middle."""
        event = said["hook_event_name"]
        script = "claude_inject.py" if event in ASKS else "claude_capture.py"
        command = [sys.executable, "-I", "-S", os.path.join(_SCRIPTS, script), self.cache]
        begun = time.monotonic()
        running = subprocess.Popen(
            command,
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        data = json.dumps(said).encode()
        if kill is not None:
            self._note("hook killed in the middle")
            try:
                printed, _ = running.communicate(data, kill.uniform(0, _KILLED_WITHIN))
            except subprocess.TimeoutExpired:
                running.kill()
                printed, _ = running.communicate()
        else:
            printed, _ = running.communicate(data)
        finished = running.returncode == 0
        made = Call(
            said=said,
            context=_context(event, printed) if finished else "",
            finished=finished,
            late=event in ASKS and time.monotonic() - begun > 0.85 * self.deadline_ms / 1000,
        )
        self.calls.append(made)
        return made

    def expected(self) -> Iterator[tuple[tuple[str, str, str], bool]]:
        """What each call has to leave in the log, and whether it must: killed ones only may."""
        for call in self.calls:
            for event in claude.events(call.said):
                yield key_of(event.kind, event.session or "", event.payload), call.finished

    # ---- residents -------------------------------------------------------------------------

    def residents(self) -> set[int]:
        """The residents that have the project open; one that only looks whether it is needed has not."""
        index = os.path.join(self.folder, INDEX)
        return {pid for pid in self._started() if index in _open_files(pid)}

    def _started(self) -> Iterator[int]:
        for name in os.listdir("/proc"):
            if name.isdigit():
                with suppress(OSError):
                    words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                    if b"holdfast.doors.resident" in words and self.home.encode() in words:
                        yield int(name)

    def answers(self) -> int:
        """The process that answers; 0 when none does."""
        try:
            said = resident.ask(self.folder, {"do": "status"}, lambda: 2.0)
        except (OSError, ValueError):
            return 0
        pid = said.get("pid")
        return pid if isinstance(pid, int) else 0

    def settle(self) -> None:
        """Let a resident that was started begin to answer: people are slower than a play."""
        end = time.monotonic() + _LONGEST
        begun = _changed(os.path.join(self.folder, RESIDENT_STARTED)) > 0
        while begun and not self.answers() and time.monotonic() < end:
            time.sleep(_POLL)

    def night_falls(self) -> None:
        """Nothing happens, nobody asks, until the page for the next session lies ready."""
        page = prepared.path(self.folder, (USER, claude.AGENT))
        end = time.monotonic() + _LONGEST
        while any(self._started()) and time.monotonic() < end:
            if _changed(page) > _changed(os.path.join(self.folder, ACTIVE)):
                return
            time.sleep(_POLL)

    def time_passes(self) -> None:
        """The last start of a resident was a while ago."""
        with suppress(FileNotFoundError):
            os.utime(os.path.join(self.folder, RESIDENT_STARTED), (0, 0))

    def end(self) -> None:
        """No process stays."""
        for pid in list(self._started()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while any(self._started()):
            time.sleep(_POLL)

    # ---- trouble ---------------------------------------------------------------------------

    def _note(self, what: str) -> None:
        self.troubles[what] = self.troubles.get(what, 0) + 1

    def kill_resident(self) -> None:
        """kill -9, without a word."""
        self._note("resident killed")
        pid = self.answers()
        if pid:
            os.kill(pid, signal.SIGKILL)
        while pid and pid in self._started():
            time.sleep(_POLL)
        self.time_passes()

    def lose_index(self) -> None:
        """The index goes, under whoever uses it."""
        self._note("index deleted")
        for end in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, INDEX + end))

    def lose_socket(self) -> None:
        """The resident lives, and nobody can reach it."""
        self._note("socket removed")
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, RESIDENT_SOCKET))
        self.time_passes()

    def spoil_cache(self) -> None:
        """What hooks read is not readable any more."""
        self._note("hooks.json spoiled")
        Path(self.cache).write_bytes(b"\x00{]garbage" * 50)

    def init_again(self) -> None:
        """What a person would do about that."""
        self.program("init", ".")


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return 0


def _open_files(pid: int) -> set[str]:
    place, found = f"/proc/{pid}/fd", set[str]()
    with suppress(OSError):
        for name in os.listdir(place):
            with suppress(OSError):
                found.add(os.readlink(os.path.join(place, name)).removesuffix(" (deleted)"))
    return found


def _context(event: str, printed: bytes) -> str:
    """What the host takes over; anything odd it would refuse, and this stops."""
    if not printed:
        return ""
    said = json.loads(printed)["hookSpecificOutput"]
    if set(said) != {"hookEventName", "additionalContext"} or said["hookEventName"] != event:
        raise ValueError(f"the host would refuse {said}")
    return str(said["additionalContext"])


def key_of(kind: str, session: str, payload: Any) -> tuple[str, str, str]:
    """What an event of a hook is known by, before and after it was recorded."""
    given = payload if isinstance(payload, dict) else {}
    names = ("call_id", "text", "source", "reason", "why", "parent", "signal", "task_id")
    return kind, session, next((str(given[name]) for name in names if given.get(name)), "")


class Watch:
    """Counts how many residents have the project open at once, all the while."""

    def __init__(self, machine: Machine) -> None:
        self.most = 0
        self.ever: set[int] = set()
        self._machine = machine

    def look(self) -> None:
        """Once."""
        alive = self._machine.residents()
        self.ever |= alive
        self.most = max(self.most, len(alive))


@contextmanager
def watched(machine: Machine) -> Iterator[Watch]:
    """Watch until the end."""
    watch, over = Watch(machine), threading.Event()

    def run() -> None:
        while not over.wait(0.05):
            watch.look()

    watcher = threading.Thread(target=run, name="watch")
    watcher.start()
    try:
        yield watch
    finally:
        over.set()
        watcher.join()
