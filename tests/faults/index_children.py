"""A project with sessions in it, what its views must say, and processes that use and vandalise it.

"Right" is a fold of the log alone, made anew in memory: no index, no snapshot, nothing kept.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

import holdfast
from holdfast.app.holdfast import DamageWarning, Holdfast
from holdfast.app.session import Session
from holdfast.engines.files import FileLog
from holdfast.engines.reference.views import MemoryViews
from holdfast.errors import Conflict, HoldfastError
from holdfast.model.events import Draft, Event, Position
from holdfast.model.sessions import SessionInfo, SessionState
from holdfast.views import state as views
from holdfast.views.every import VIEWS
from holdfast.views.fold import Fold, state_hash
from holdfast.views.follow import Tail
from holdfast.views.runner import Reading

from .children import Say, spawn
from .logs import subject
from .operations import everything
from .tracing import Mark, Traced

USER = "u"
AGENTS = ("a", "b")
INDEX_FILES = ("index.db", "index.db-wal", "index.db-shm")
SNAPSHOTS = ("snapshot.json", "snapshot.before.json")


class Answers(NamedTuple):
    """Everything a caller can ask about sessions."""

    sessions: list[SessionInfo]
    states: dict[str, SessionState]
    hash: str


def configure(**views_settings: int) -> None:
    """Settings of the views, for every process that is started from here."""
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast"
    config.mkdir(parents=True, exist_ok=True)
    lines = ["[views]", *(f"{name} = {value}" for name, value in views_settings.items())]
    (config / "config.toml").write_text("\n".join(lines) + "\n")


def opened(home: str | Path, project: str = "p") -> Holdfast:
    """The project, for the user of these tests."""
    return holdfast.open(home, project=project, user=USER)


def ongoing(hf: Holdfast, session_id: str) -> Session:
    """The session of that id, of the agent it belongs to."""
    return hf.session(agent=AGENTS[session_id[-1] in "13579"], session_id=session_id)


def talk(hf: Holdfast, session_id: str, turns: int = 1, *, words: int = 5) -> None:
    """A conversation that touches every view; ends nothing and passes no gate."""
    session = ongoing(hf, session_id)
    for n in range(turns):
        text = f"{session_id} turn {n} " + "word " * words
        session.user(text)
        session.tool_call("Edit", {"file_path": f"/src/{session_id}/{n % 7}.py"})
        failed = session.error(f"failed: {text}")
        session.decision(f"decided: {text}", sources=(failed.event_id,))
        session.assistant(f"answer to {text}")
    session.update_state({"turns": turns, session_id: "seen"})
    session.task_done(f"task of {session_id}")


def fill(hf: Holdfast, sessions: int = 4, turns: int = 3, *, words: int = 5) -> None:
    """Sessions in every state: going on, at a passed gate, ended."""
    for n in range(sessions):
        talk(hf, f"s{n}", turns, words=words)
    ongoing(hf, "s1").gate(1, passed=True)
    ongoing(hf, "s2").end("enough")


def folded(events: Iterable[Event]) -> Answers:
    """What is right, from the events alone."""
    fold, last = Fold(lambda view, key: None), None
    for event in events:
        fold.apply(event)
        last = event
    rows = [(view, key, row) for view, key, row in fold.changes() if row is not None]
    store = MemoryViews()
    at = Position(generation=1, event_seq=last.event_seq, crc=last.crc) if last else None
    store.commit(None, rows, at)
    reading = Reading(Tail(store, at), VIEWS)
    infos = views.sessions(reading, USER)
    states = {info.id: views.state(reading, info) for info in infos}
    return Answers(infos, states, state_hash(rows))


def right(folder: str) -> Answers:
    """What is right for the log as it is now."""
    return folded(event for event in FileLog(folder).read() if isinstance(event, Event))


def asked(hf: Holdfast) -> Answers:
    """What a caller is told; the single rows first, before the hash meets every row."""
    states = {}
    for info in reversed(hf.sessions()):
        states[info.id] = ongoing(hf, info.id).state()
    hashed = hf.state_hash()
    return Answers(hf.sessions(), states, hashed)


def wrong(hf: Holdfast, where: str = "") -> list[str]:
    """What it is told that is not so; empty when every answer is right."""
    want, got = right(hf.folder), asked(hf)
    said = []
    if got.sessions != want.sessions:
        said.append(f"{where}: sessions {_differ(want.sessions, got.sessions)}")
    for name, state in want.states.items():
        if got.states.get(name) != state:
            said.append(f"{where}: state of {name} {_differ(state, got.states.get(name))}")
    if got.hash != want.hash:
        said.append(f"{where}: hash")
    return said


def _differ(want: object, got: object) -> str:
    words = [msgspec.json.encode(thing, order="sorted").decode() for thing in (want, got)]
    at = next((n for n, pair in enumerate(zip(*words, strict=False)) if pair[0] != pair[1]), 0)
    return " but ".join(word[max(at - 60, 0) : at + 60] for word in words)


def check(hf: Holdfast, where: str = "") -> None:
    """Every answer is right now, and after something more was recorded."""
    said = wrong(hf, where)
    talk(hf, "s1", words=3)
    said += wrong(hf, f"{where}, after recording")
    assert not said, "\n".join(said)


def sound(hf: Holdfast) -> None:
    """The log is whole."""
    assert hf.verify().sound


def erase(hf: Holdfast, event_ids: list[str], by: str = "x1") -> None:
    """Take the content of events out."""
    hf.log.erase(event_ids, subject=subject(by, event_ids))


def run(*command: str) -> None:
    """Another process at work on the same files: our own opening and closing would drop our locks."""
    subprocess.run(command, check=True)


def in_a_child(work: Callable[[Say], None]) -> list[str]:
    """Do it in a process of its own and wait for it."""
    child = spawn(work)
    said = child.wait()
    assert child.status == 0, f"a child ended with {child.status}"
    return said


# ---- vandals -------------------------------------------------------------------------------


class Other:
    """Another process with the project open, which looks and records when it is told to."""

    def __init__(self, home: str, *, wait: bool = False) -> None:
        self._waiting, self._go = os.pipe()
        self.child = spawn(lambda say: self._work(home, say))
        os.close(self._waiting)
        if not wait:
            self.now()

    def now(self) -> None:
        """Let it open the project."""
        os.write(self._go, b"!")

    def _work(self, home: str, say: Say) -> None:
        os.close(self._go)
        os.read(self._waiting, 1)
        with opened(home) as hf:
            hf.sessions()
            say("open")
            while os.read(self._waiting, 1):
                try:
                    check(hf, "in another process")
                    say("right")
                except Exception as exc:  # noqa: BLE001  (whatever it is, a caller met it)
                    say(_one_line(exc))

    def asked(self) -> str:
        """What it finds wrong; empty when everything is right."""
        os.write(self._go, b"?")
        said = self.heard()
        return "" if said == "right" else said

    def heard(self) -> str:
        """Its next word."""
        parts = b""
        while not parts.endswith(b"\n"):
            part = os.read(self.child.fd, 1)
            if not part:
                return f"the other process is gone: {parts.decode()}"
            parts += part
        return parts.decode().strip()

    def close(self) -> None:
        """Let it close its project and end."""
        os.close(self._go)
        self.child.wait()


def _one_line(exc: Exception) -> str:
    return f"{type(exc).__name__}: {exc}".replace("\n", " ")[:2000]


def _each(*names: str) -> Callable[[Path], None]:
    def unlink(folder: Path) -> None:
        for name in names:
            (folder / name).unlink(missing_ok=True)

    return unlink


def _cut(length: int) -> Callable[[Path], None]:
    return lambda folder: os.truncate(folder / "index.db", length)


def _in_place(name: str, data: bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        size = (folder / name).stat().st_size
        with open(folder / name, "r+b") as file:
            file.write((data * (size // len(data) + 1))[:size])

    return write


def _renamed_over(name: str, data: bytes) -> Callable[[Path], None]:
    def replace(folder: Path) -> None:
        (folder / "new").write_bytes(data)
        os.replace(folder / "new", folder / name)

    return replace


def _by_a_folder(folder: Path) -> None:
    (folder / "index.db").unlink()
    (folder / "index.db").mkdir()


def _of_before(*names: str) -> Callable[[Path], None]:
    def replace(folder: Path) -> None:
        for name in names:
            run("cp", str(folder / "before" / name), str(folder / "new"))
            os.replace(folder / "new", folder / name)

    return replace


VANDALS: dict[str, Callable[[Path], None]] = {
    "index removed": _each("index.db"),
    "index and journal removed": _each(*INDEX_FILES),
    "everything derived removed": _each(*INDEX_FILES, *SNAPSHOTS),
    "journal removed": _each("index.db-wal"),
    "shared memory removed": _each("index.db-shm"),
    "journal and shared memory removed": _each("index.db-wal", "index.db-shm"),
    "lock removed": _each("index.lock"),
    "cut to nothing": _cut(0),
    "cut to a page": _cut(4096),
    "cut to an odd length": _cut(5001),
    "noise": _in_place("index.db", b"noise in every page "),
    "zeros": _in_place("index.db", b"\0"),
    "noise in the journal": _in_place("index.db-wal", b"noise in the journal "),
    "zeros in the shared memory": _in_place("index.db-shm", b"\0"),
    "noise in the shared memory": _in_place("index.db-shm", b"noise"),
    "replaced by a text": _renamed_over("index.db", b"my notes\n" * 1000),
    "replaced by an empty file": _renamed_over("index.db", b""),
    "replaced by a folder": _by_a_folder,
    "journal replaced by a text": _renamed_over("index.db-wal", b"my notes\n" * 1000),
    "index of before": _of_before("index.db"),
    "index and journal of before": _of_before("index.db", "index.db-wal"),
    "journal of before": _of_before("index.db-wal"),
}


def vandalised(home: str, how: str) -> dict[str, object]:
    """Two in this process and one in another have it open; somebody spoils it; all go on."""
    with opened(home) as hf:
        fill(hf)
        folder = Path(hf.folder)
    other = Other(home)
    assert other.heard() == "open"
    said = []
    with opened(home) as one, opened(home) as two:
        check(one)
        (folder / "before").mkdir()
        for name in INDEX_FILES:
            run("cp", str(folder / name), str(folder / "before" / name))
        check(two)
        said.append(other.asked())
        in_a_child(lambda _: VANDALS[how](folder))
        for turn in range(2):
            for name, hf in (("one", one), ("two", two)):
                said += _tried(hf, f"{name}, turn {turn}")
                said.append(other.asked())
        sound(one)
    other.close()
    with opened(home) as hf:
        said += _tried(hf, "opened again")
        sound(hf)
    return {"wrong": [word for word in said if word]}


def _tried(hf: Holdfast, where: str) -> list[str]:
    try:
        check(hf, where)
    except Exception as exc:  # noqa: BLE001  (whatever it is, a caller met it)
        return [f"{where}: {_one_line(exc)}"]
    return []


def within(home: str, seconds: int) -> dict[str, object]:
    """Look and record; whoever waits for ever is ended."""
    signal.alarm(seconds)
    with opened(home) as hf:
        return {"wrong": wrong(hf)}


# ---- several at once -----------------------------------------------------------------------


def sees(hf: Holdfast, event: Event) -> list[str]:
    """Is an event in the rows that are read after it, and are they a fold of the log up to there?"""
    at, hashed = hf.views.read(lambda reading: (reading.position, state_hash(reading.everything())))
    if at is None or at.event_seq < event.event_seq:
        return [f"event {event.event_seq} is not in rows up to {at}"]
    events = [e for e in FileLog(hf.folder).read() if isinstance(e, Event)]
    want = folded(e for e in events if e.event_seq <= at.event_seq)
    return [] if want.hash == hashed else [f"rows at {at.event_seq} are no fold of the log"]


def _work(home: str, name: str, seed: int, turns: int, say: Say) -> None:
    """Record, look, look through a second object, close and open again, in any order."""
    rng = random.Random(seed)
    hf = opened(home)
    for n in range(turns):
        event = ongoing(hf, f"{name}{n % 3}").decision(f"{name} decided {n}")
        for word in sees(hf, event):
            say(f"{name}, turn {n}: {word}")
        chance = rng.random()
        if chance < 0.2:
            with opened(home) as second:
                for word in sees(second, event):
                    say(f"{name}, turn {n}, second object: {word}")
        elif chance < 0.4:
            hf.close()
            hf = opened(home)
        elif chance < 0.5:
            ongoing(hf, f"{name}{n % 3}").gate(n, passed=True)
    hf.close()


def together(home: str, processes: int, turns: int) -> dict[str, object]:
    """Several processes at once; what each found wrong."""
    children = [
        spawn(lambda say, n=n: _work(home, f"w{n}-", n, turns, say))  # type: ignore[misc]
        for n in range(processes)
    ]
    said = [word for child in children for word in child.wait()]
    said += [f"ended with {child.status}" for child in children if child.status]
    with opened(home) as hf:
        said += wrong(hf, "afterwards")
        said += [] if hf.verify().sound else ["the log is not sound"]
        decided = sum(len(state.decisions) for state in asked(hf).states.values())
    return {"wrong": said, "decisions": decided}


def counted(home: str, processes: int, increments: int) -> dict[str, object]:
    """Everybody adds to one number, each only on top of the version it has seen."""

    def count(say: Say) -> None:
        with opened(home) as hf:
            session = ongoing(hf, "s0")
            done = 0
            while done < increments:
                pad = session.scratchpad()
                number = pad.content.get("number", 0) + 1
                try:
                    after = session.update_state({"number": number}, expect=pad.version)
                except Conflict:
                    say("conflict")
                    continue
                done += 1
                say(f"won {pad.version}")
                if after.version <= pad.version:
                    say("behind")

    with opened(home) as hf:
        ongoing(hf, "s0").user("let us count")
    children = [spawn(count) for _ in range(processes)]
    said = [word for child in children for word in child.wait()]
    with opened(home) as hf:
        pad = ongoing(hf, "s0").scratchpad()
        attempts = sum(1 for e in hf.events() if e.kind == "state_updated")
        said_wrong = wrong(hf)
    return {
        "wrong": said_wrong,
        "statuses": [child.status for child in children],
        "won": sorted(int(word.split()[1]) for word in said if word.startswith("won")),
        "conflicts": said.count("conflict"),
        "behind": said.count("behind"),
        "version": pad.version,
        "number": pad.content["number"],
        "attempts": attempts,
    }


class Later:
    """A process that is there before anything is open here, and works when it is told to."""

    def __init__(self, work: Callable[[Say], None]) -> None:
        waiting, self.go = os.pipe()

        def wait(say: Say) -> None:
            os.read(waiting, 1)
            work(say)

        self.child = spawn(wait)
        os.close(waiting)

    def now(self) -> list[str]:
        """Let it work, to its end."""
        os.write(self.go, b"!")
        os.close(self.go)
        said = self.child.wait()
        assert self.child.status == 0, f"a child ended with {self.child.status}"
        return said


def _prepare(home: str) -> Path:
    """Forty sessions, so that their rows lie on several pages; in a process that is gone."""

    def work(say: Say) -> None:
        with opened(home) as hf:
            fill(hf, sessions=40, turns=1)
            say(hf.folder)

    return Path(in_a_child(work)[0])


def _come_and_go(home: str) -> Callable[[Say], None]:
    def work(_: Say) -> None:
        with opened(home) as hf:
            talk(hf, "s3")
            hf.sessions()

    return work


def _until_the_journal_is_carried_over(hf: Holdfast) -> None:
    """SQLite moves what is in the journal into index.db after a thousand pages."""
    for _ in range(510):
        ongoing(hf, "s30").record("signal_observed", {"text": "small"}, origin="system")
        hf.sessions()


def second_object(home: str) -> dict[str, object]:
    """Two objects of one process; another process comes and goes; two more come and stay."""
    folder = _prepare(home)
    passing = Later(_come_and_go(home))
    others = [Other(home, wait=True), Other(home, wait=True)]
    said = []
    one, two = opened(home), opened(home)
    one.sessions()
    two.sessions()
    passing.now()
    if not (folder / "index.db-wal").exists():
        said.append("the journal was removed although this process has the index open")
    said += _joined(others)
    _until_the_journal_is_carried_over(one)
    said += [other.asked() for other in reversed(others)]
    said += _tried(one, "one")
    one.close()
    said += _tried(two, "two")
    two.close()
    said += [other.asked() for other in others]
    _gone(others)
    with opened(home) as hf:
        said += _tried(hf, "opened again")
    return {"wrong": [word for word in said if word]}


def _joined(others: list[Other]) -> list[str]:
    """They open the index and use it in turn, so that each knows the others are there."""
    said = []
    for other in others:
        other.now()
        said += [] if other.heard() == "open" else ["another process could not open it"]
    return said + [other.asked() for other in (*others, others[0])]


def _gone(others: list[Other]) -> None:
    for other in others:
        other.child.kill()
        other.child.wait()


def forked(home: str) -> dict[str, object]:
    """A parent has it open and in use; its child goes on with the same object, and both go on."""
    folder = _prepare(home)
    others = [Other(home, wait=True), Other(home, wait=True)]
    hf = opened(home)
    hf.sessions()
    turn, go = os.pipe()

    def work(say: Say) -> None:
        os.close(go)
        for word in _tried(hf, "child at once"):
            say(word)
        say("first")
        os.read(turn, 1)
        _until_the_journal_is_carried_over(hf)
        say("second")
        os.read(turn, 1)
        for word in _tried(hf, "child at the end"):
            say(word)
        hf.close()

    child = spawn(work)
    said = _heard_until(child.fd, "first")
    said += _tried(hf, "parent")
    hf.close()
    if not (folder / "index.db-wal").exists():
        said.append("the journal was removed although the child has the index open")
    said += _joined(others)
    os.write(go, b"!")
    said += _heard_until(child.fd, "second")
    said += [other.asked() for other in reversed(others)]
    os.write(go, b"!")
    said += child.wait()
    assert child.status == 0, child.status
    _gone(others)
    with opened(home) as last:
        said += _tried(last, "opened again")
        sound(last)
    return {"wrong": [word for word in said if word]}


def _heard_until(fd: int, word: str) -> list[str]:
    parts = b""
    while not parts.endswith(word.encode() + b"\n"):
        part = os.read(fd, 1)
        assert part, f"the child is gone: {parts.decode()}"
        parts += part
    return parts.decode().split("\n")[:-2]


def forked_to_rebuild(home: str) -> dict[str, object]:
    """The parent is in the middle of a read on another thread; the child begins with a rebuild."""
    signal.alarm(20)
    with opened(home) as hf:
        fill(hf)
    hf = opened(home)
    hf.sessions()
    inside, done = threading.Event(), threading.Event()

    def hold(_: Reading) -> None:
        inside.set()
        done.wait()

    reader = threading.Thread(target=hf.views.read, args=(hold,))
    reader.start()
    inside.wait()

    def rebuild(say: Say) -> None:
        signal.alarm(5)
        say(hf.rebuild())

    child = spawn(rebuild)
    found = child.wait()
    done.set()
    reader.join()
    said = [] if child.status == 0 else [f"the child ended with {child.status}"]
    said += [] if found == [right(hf.folder).hash] else [f"rebuilt to {found}"]
    said += _tried(hf, "parent")
    hf.close()
    return {"wrong": said}


def copied_while_written(home: str, copies: int, seed: int) -> dict[str, object]:
    """Somebody copies the folder, file by file, while a writer records and looks."""
    with opened(home) as hf:
        fill(hf)
        folder = Path(hf.folder)

    def write(say: Say) -> None:
        with opened(home) as mine:
            for n in range(10**6):
                event = ongoing(mine, f"s{n % 5}").decision(f"decided {n}")
                say(event.event_id)
                if n % 2:
                    mine.sessions()
                if n % 7 == 0:
                    ongoing(mine, f"s{n % 5}").gate(n, passed=True)

    writer = spawn(write)
    rng = random.Random(seed)
    said = []
    for n in range(copies):
        time.sleep(rng.uniform(0, 0.03))
        copy = Path(home).parent / f"copy{n}" / "contexts-v2" / "p"
        copy.mkdir(parents=True)
        names = [name.name for name in folder.iterdir() if not name.name.startswith(".")]
        rng.shuffle(names)
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                if (folder / name).is_dir():
                    shutil.copytree(folder / name, copy / name)
                else:
                    shutil.copyfile(folder / name, copy / name)
            time.sleep(rng.choice((0, 0, 0.002)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DamageWarning)  # a line may be copied half
            with opened(copy.parents[1]) as hf:
                said += _tried(hf, f"copy {n}, in the order {names}")
        shutil.rmtree(copy.parents[1])
    writer.kill()
    acked = writer.wait()
    with opened(home) as hf:
        said += _tried(hf, "the original")
        sound(hf)
        there = {event.event_id for event in hf.events()}
    said += [f"lost {word}" for word in acked if word not in there]
    return {"wrong": said, "recorded": len(acked)}


# ---- kill -9 -------------------------------------------------------------------------------

#: what changes a disk; a death between two of them leaves it as a death before the second
CHANGING = (
    "openat,write,pwrite64,fsync,fdatasync,ftruncate,rename,renameat,renameat2,unlink,unlinkat"
)
SECRET = "what is to be forgotten"
#: how many points of one operation are tried: all of a short one, evenly spread over a long one
POINTS = 50


def _catch_up(hf: Holdfast, mark: Mark) -> None:
    for n in range(3):
        ongoing(hf, "s1").decision(f"decided {n}")
        mark(n)
    hf.sessions()


def _rebuilt(hf: Holdfast, _: Mark) -> None:
    hf.rebuild()


def _erased(hf: Holdfast, _: Mark) -> None:
    gone = [event.event_id for event in hf.events() if event.text == SECRET]
    erase(hf, gone)


def _closed(hf: Holdfast, mark: Mark) -> None:
    """The last one to close carries the journal over into index.db."""
    _catch_up(hf, mark)
    hf.close()


OPERATIONS: dict[str, tuple[Callable[[Holdfast, Mark], None], tuple[str, ...]]] = {
    "catch up": (_catch_up, ()),
    "close": (_closed, ()),
    "make the index": (_catch_up, (*INDEX_FILES, *SNAPSHOTS)),
    "make the index from a snapshot": (_catch_up, INDEX_FILES),
    "snapshot": (lambda hf, _: hf.views.export(), ()),
    "rebuild": (_rebuilt, ()),
    "erase": (_erased, ()),
}


def killed(name: str, place: str) -> dict[str, object]:
    """One operation, killed at each of its calls that changes something derived."""
    work, missing = OPERATIONS[name]
    template, home = Path(place) / "template", Path(place) / "home"
    folder = home / "contexts-v2" / "p"

    def prepare(_: Say) -> None:
        with opened(template) as hf:
            fill(hf)
            ongoing(hf, "s0").user(SECRET)
            hf.sessions()
        for file in missing:
            (template / "contexts-v2" / "p" / file).unlink(missing_ok=True)

    def fresh() -> None:
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(template, home)

    def operation(mark: Mark, _: Say) -> None:
        work(opened(home), mark)

    in_a_child(prepare)
    fresh()
    work(opened(home), lambda _: None)  # once here, so that no import counts among the calls
    fresh()
    trace = os.path.join(place, "trace")
    traced = Traced(operation, "-y", "-e", f"trace={CHANGING}", "-o", trace)
    traced.wait()
    assert traced.child.status == 0, traced.child.status
    points = _points(Path(trace).read_text())
    said, kills = [], 0
    for call, nth in points[:: max(1, -(-len(points) // POINTS))]:
        fresh()
        inject = f"inject={call}:signal=KILL:when={nth}"
        traced = Traced(operation, "-e", f"trace={call}", "-e", inject)
        acked = len(traced.wait())
        kills += traced.child.status == -9
        where = f"{name}, {call} {nth}"
        said += in_a_child(lambda say, at=where, n=acked: _after(home, at, n, say))  # type: ignore[misc]
    assert folder.exists()
    return {"wrong": said, "points": len(points), "kills": kills}


def _points(trace: str) -> list[tuple[str, int]]:
    """Which calls concern what is derived: the name, and the how-manieth of that name."""
    counts: Counter[str] = Counter()
    found = []
    for line in trace.splitlines():
        call = re.match(r"(?:\d+ +)?(\w+)\(", line)
        if call is None:
            continue
        counts[call[1]] += 1
        derived = "index.db" in line or "snapshot" in line or "index.lock" in line
        if derived and (call[1] != "openat" or "O_CREAT" in line):
            found.append((call[1], counts[call[1]]))
    return found


def _after(home: Path, where: str, acked: int, say: Say) -> None:
    """The next process: everything acknowledged once, every answer right, nothing forgotten left."""
    with opened(home) as hf:
        for word in wrong(hf, where):
            say(word)
        decided = [d.text for d in ongoing(hf, "s1").state().decisions if "turn" not in d.text]
        if decided[:acked] != [f"decided {n}" for n in range(acked)] or len(decided) > 3:
            say(f"{where}: {acked} acknowledged, there are {decided}")
        for word in _tried(hf, where):
            say(word)
        if not hf.verify().sound:
            say(f"{where}: the log is not sound")
        erased = any(event.erased for event in hf.events())
        if hf.views.hash_on_disk() != right(hf.folder).hash:
            say(f"{where}: the rows in the index")
    if erased and SECRET.encode() in everything(str(home)):
        say(f"{where}: what was erased is still there")


def killed_before_the_index(home: str, turns: int) -> dict[str, object]:
    """A process records and dies before anything but the log knows of it; again and again."""
    said: list[str] = []
    recorded: list[str] = []
    for turn in range(turns):

        def record(say: Say, turn: int = turn) -> None:
            with opened(home) as hf:
                if turn % 3 == 0:
                    hf.sessions()
                for n in range(4):
                    say(ongoing(hf, f"s{n}").decision(f"{turn} {n}").event_id)
                os.kill(os.getpid(), signal.SIGKILL)

        child = spawn(record)
        recorded += child.wait()
        with opened(home) as hf:
            said += wrong(hf, f"turn {turn}")
            there = [d.event_id for state in asked(hf).states.values() for d in state.decisions]
        if sorted(there) != sorted(recorded):
            said.append(f"turn {turn}: {len(recorded)} recorded, {len(there)} there")
    return {"wrong": said, "recorded": len(recorded)}


# ---- reading only --------------------------------------------------------------------------

NOBODY = 65_534


def _current(hf: Holdfast) -> None:
    hf.sessions()


def _stale(hf: Holdfast) -> None:
    hf.sessions()
    for n in range(20):
        ongoing(hf, f"s{n % 4}").decision(f"later {n}")


STATES: dict[str, tuple[Callable[[Holdfast], None], bool, tuple[str, ...]]] = {
    "current": (_current, True, ()),
    "stale": (_stale, True, ()),
    "left by a kill": (_stale, False, ()),
    "left by a kill, without shared memory": (_stale, False, ("index.db-shm",)),
    "left by a kill, without its journal": (_stale, False, ("index.db-wal", "index.db-shm")),
    "missing": (_stale, True, INDEX_FILES),
    "missing with the snapshots": (_stale, True, (*INDEX_FILES, *SNAPSHOTS)),
    "missing with its lock": (_stale, True, (*INDEX_FILES, "index.lock")),
    "without snapshots": (_stale, True, SNAPSHOTS),
}


def read_only(place: str, state: str, how: str) -> dict[str, object]:
    """Somebody who may not write reads everything, and nothing changes."""
    prepare, close, missing = STATES[state]
    home = Path(place) / "home"
    folder = home / "contexts-v2" / "p"

    def write(_: Say) -> None:
        hf = opened(home)
        fill(hf)
        prepare(hf)
        if close:
            hf.close()

    in_a_child(write)
    for name in missing:
        (folder / name).unlink(missing_ok=True)
    for name in ("home", "config"):
        run("chown", "-R", f"{NOBODY}:{NOBODY}", str(Path(place) / name))
    os.chmod(place, 0o755)
    if how == "by its mode":
        run("chmod", "-R", "a-w,a+rX", str(home))
    else:
        run("mount", "--bind", str(home), str(home))
        run("mount", "-o", "remount,bind,ro", str(home))
    before = _everything_in(home)

    with opened(Path(place) / "warm") as hf:  # whoever is nobody cannot import from root's folders
        talk(hf, "s1")
        _read_everything(hf)

    def read(say: Say) -> None:
        if how == "by its mode":
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        for word in _read_only(home):
            say(word)

    said = in_a_child(read)
    if _everything_in(home) != before:
        said.append("something was written")
    return {"wrong": said}


def _everything_in(home: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


def _read_only(home: Path) -> list[str]:
    with opened(home) as hf:
        said = wrong(hf, "read only") + _read_everything(hf)
        try:
            ongoing(hf, "s1").user("may I?")
            said.append("something was recorded")
        except HoldfastError:
            pass
        return said + wrong(hf, "read only, after being refused")


def _read_everything(hf: Holdfast) -> list[str]:
    said = [] if hf.status("s1").state == asked(hf).states["s1"] else ["status"]
    said += [] if "s1 turn" in hf.restore("s1").text else ["restore"]
    return said + ([] if len(list(hf.events())) == hf.log.head().event_seq else ["events"])


def read_only_beside_a_writer(place: str) -> dict[str, object]:
    """One may only read, for a long time; others come, write, carry the journal over, and go."""
    home, seen = Path(place) / "home", Path(place) / "seen"
    _prepare(str(home))
    in_a_child(lambda _: _grown(home))
    seen.mkdir()
    run("mount", "--bind", str(home), str(seen))
    run("mount", "-o", "remount,bind,ro", str(seen))
    said = []

    def write(_: Say) -> None:
        with opened(home) as hf:
            for n in range(20):
                ongoing(hf, f"s{n}").record("signal_observed", {"n": n}, origin="system")
            hf.sessions()

    def write_and_stay(say: Say) -> None:
        with opened(home) as hf:
            for n in range(20):
                ongoing(hf, f"s{n}").decision(f"decided {n}")
                hf.sessions()
            say("written")
            time.sleep(600)

    with opened(seen) as reader:
        for turn in range(3):
            said += wrong(reader, f"turn {turn}")
            reader.state_hash()  # what SQLite keeps in memory are the rows met last
            in_a_child(write)
        said += wrong(reader, "when the writers are gone")
        staying = spawn(write_and_stay)
        _heard_until(staying.fd, "written")
        said += wrong(reader, "while somebody writes")
        staying.kill()
        staying.wait()
        said += wrong(reader, "after the writer was killed")
    with opened(home) as hf:
        said += _tried(hf, "opened again")
    return {"wrong": said}


def _grown(home: Path) -> None:
    """More rows than SQLite keeps in memory."""
    with opened(home) as hf:
        session = ongoing(hf, "s0")
        many = [
            Draft(
                type="decision",
                payload={"text": f"{n} " + "long " * 790},
                origin="agent",
                session_id=session.id,
                agent=session.agent,
            )
            for n in range(1000)
        ]
        hf.record(many)
        hf.sessions()


# ---- busy and full -------------------------------------------------------------------------


def held(home: str, how: str) -> dict[str, object]:
    """Another process holds the index for longer than anybody waits; then it lets go."""

    def hold(say: Say) -> None:
        folder = Path(home) / "contexts-v2" / "p"
        if how == "index.lock":
            fd = os.open(folder / "index.lock", os.O_RDWR | os.O_CREAT)
            fcntl.flock(fd, fcntl.LOCK_EX)
        else:
            db = sqlite3.connect(folder / "index.db", isolation_level=None)
            if how == "exclusive mode":
                db.execute("PRAGMA locking_mode=EXCLUSIVE")
            db.execute("BEGIN EXCLUSIVE" if how != "immediate" else "BEGIN IMMEDIATE")
            db.execute("CREATE TABLE IF NOT EXISTS held (by_us TEXT)")
        say("held")
        time.sleep(600)

    in_a_child(lambda _: _filled(home))
    said = []
    for first in ("opened before", "opened meanwhile"):
        if first == "opened before" and how == "exclusive mode":
            continue  # it is not to be had while somebody has the index open
        holder = Later(hold)
        hf = opened(home)
        if first == "opened before":
            hf.sessions()
        os.write(holder.go, b"!")
        _heard_until(holder.child.fd, "held")
        said += _tried(hf, f"{first}, held")
        recorded = ongoing(hf, "s1").user("not kept waiting")
        said += sees(hf, recorded)
        holder.child.kill()
        holder.child.wait()
        said += _tried(hf, f"{first}, let go")
        head = hf.log.head()
        kept = hf.views._main.store.position()
        if kept != head:
            said.append(f"{first}: the index stays at {kept}, the log is at {head}")
        hf.close()
    return {"wrong": said}


def _filled(home: str) -> None:
    with opened(home) as hf:
        fill(hf)


def no_room(place: str, kilobytes: int) -> dict[str, object]:
    """The disk is full for everything derived; when there is room again, it is made up for."""
    root = Path(place) / "tiny"
    root.mkdir()
    run("mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(root))
    said, refused, acked = [], 0, []
    with opened(root / "home") as hf:
        fill(hf)
        folder = Path(hf.folder)
        for turn in range(400):
            room = os.statvfs(root).f_bavail * os.statvfs(root).f_frsize
            try:
                acked.append(ongoing(hf, f"s{turn % 4}").decision(f"turn {turn} " + "w" * 300))
                if turn % 10 == 0:
                    acked.append(ongoing(hf, "s1").gate(turn, passed=True))
            except HoldfastError as exc:
                refused += 1
                if room > 32 << 10:
                    said.append(f"turn {turn}: refused with {room} bytes free: {exc}")
            if turn % 10 == 5 or refused:
                said += wrong(hf, f"turn {turn}, {room} bytes free")
            if refused > 3:
                break
        notices = list(hf.notices)
        run("mount", "-o", "remount,size=8m", str(root))
        said += _tried(hf, "with room again")
        ongoing(hf, "s1").gate("last", passed=True)
        if hf.views._main.store.position() != hf.log.head():
            said.append("the index did not catch up")
        there = {event.event_id for event in hf.events()}
        said += [f"lost {event.event_id}" for event in acked if event.event_id not in there]
        sound(hf)
    with opened(root / "home") as hf:
        said += _tried(hf, "opened again")
    assert folder.exists()
    return {"wrong": said, "refused": refused, "acked": len(acked), "notices": notices}


def no_room_from_the_start(place: str) -> dict[str, object]:
    """There is room for the log alone: no index, no snapshot, and every answer."""
    root = Path(place) / "tiny"
    root.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(root))
    said = []
    with opened(root / "home") as hf:
        fill(hf)
        folder = Path(hf.folder)
    for name in (*INDEX_FILES, *SNAPSHOTS):
        (folder / name).unlink(missing_ok=True)
    with open(root / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while filler.write(b"x" * 4096):
            continue
    with open(root / "filler", "r+b") as filler:
        filler.truncate(filler.seek(0, 2) - 8192)  # the log's next events fit, an index does not
    with opened(root / "home") as hf:
        said += wrong(hf, "full")
        ongoing(hf, "s1").user("there is room for this")
        said += wrong(hf, "full, after recording")
        (root / "filler").unlink()
        said += _tried(hf, "with room again")
        if hf.views._main.store.position() != hf.log.head():
            said.append("the index did not catch up")
    return {"wrong": said}


_RUNS: dict[str, Callable[..., dict[str, object]]] = {
    "vandalised": vandalised,
    "within": within,
    "together": together,
    "counted": counted,
    "second object": second_object,
    "forked": forked,
    "forked to rebuild": forked_to_rebuild,
    "copied while written": copied_while_written,
    "killed": killed,
    "read only": read_only,
    "read only beside a writer": read_only_beside_a_writer,
    "held": held,
    "no room": no_room,
    "no room from the start": no_room_from_the_start,
    "killed before the index": killed_before_the_index,
}


def main(what: str, **args: object) -> dict[str, object]:
    """See tests.faults.start."""
    return _RUNS[what](**args)
