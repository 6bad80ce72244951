"""Sessions whose windows are changed while processes die, disks fail, and others write.

See `tests/faults/windows.py` for what must hold.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.errors import Conflict, HoldfastError
from holdfast.views.cold import ColdView

from .children import Say, spawn
from .index_children import CHANGING, in_a_child
from .tracing import Mark, Traced
from .windows import (
    CHANGES,
    WINDOW,
    Seen,
    broken,
    fresh,
    ongoing,
    opened,
    prepare,
    seen,
    unfinished,
    window_of,
    worked,
    wrong,
)

_CREATES = re.compile(r"O_CREAT|O_TRUNC")


def main(what: str, **args: Any) -> dict[str, object]:
    """See tests.faults.start."""
    os.environ["HOLDFAST_EMBEDDER"] = "none"
    return _RUNS[what](**args)


class _Place:
    """The prepared home, the one in use, and how a change goes when nothing goes wrong."""

    def __init__(self, place: str, name: str, root: str = "") -> None:
        self.change = CHANGES[name]
        self.template, self.home = Path(place) / "template", Path(place) / root / "home"
        self.trace = os.path.join(place, "trace")
        in_a_child(lambda _: prepare(self.home))
        fresh(self.home, self.template)  # and back: logs name where copies lie
        # here, so that no import counts among the calls
        self.goes: Seen = seen(self.template, self.home, self.change)
        by_itself = list(wrong(self.home, self.change, self.goes))
        assert not by_itself, f"nothing failed, and still: {by_itself}"

    def fresh(self) -> None:
        """As it was prepared."""
        fresh(self.template, self.home)

    def run(self, mark: Mark, say: Say) -> None:
        """Open it and do the change."""
        with opened(self.home, self.change.days) as hf:
            hf.sessions()
            s = ongoing(hf)
            _begin()
            self.change.run(hf, s)
            mark(0)

    def points(self) -> list[_Point]:
        """The calls of the change that write."""
        self.fresh()
        traced = Traced(self.run, "-y", "-e", f"trace={CHANGING}", "-o", self.trace)
        traced.wait()
        assert traced.child.status == 0, traced.child.status
        return _points(Path(self.trace).read_text())

    def checked(self, where: str) -> list[str]:
        """What is wrong now."""

        def check(say: Say) -> None:
            for word in wrong(self.home, self.change, self.goes):
                say(f"{where}: {word}")

        child = spawn(check)
        said = child.wait()
        return said if child.status == 0 else [*said, f"{where}: a look ended with {child.status}"]


def _begin() -> None:
    """A call that says in a trace where the change begins."""
    os.close(os.open(os.devnull, os.O_RDONLY))


class _Point(NamedTuple):
    """One call that writes."""

    call: str
    #: the how-manieth of that name
    nth: int
    #: what it is done to, whichever of several files that is
    sort: str


def _points(trace: str) -> list[_Point]:
    counts: Counter[str] = Counter()
    found, begun = [], False
    for line in trace.splitlines():
        call = re.match(r"(?:\d+ +)?(\w+)\(", line)
        if call is None:
            continue
        counts[call[1]] += 1
        begun = begun or os.devnull in line
        if begun and os.devnull not in line and (call[1] != "openat" or _CREATES.search(line)):
            found.append(_Point(call[1], counts[call[1]], f"{call[1]} {_file(line)}"))
    return found


def _file(line: str) -> str:
    """The last folder and the name of the file a call is about, without what makes it one of many."""
    path = re.search(r'[<"](/[^>"]*/)?([^/>"]*)/([^/>"]*)[>"]', line)
    return (
        re.sub(r"[0-9a-f]{16,}|[0-9A-Z]{26}|\d+", "*", "/".join(path.groups()[1:])) if path else ""
    )


def _some(points: list[_Point], most: int) -> list[_Point]:
    """One of each sort, ours before the index's and names that are opened last; then all over."""
    if most <= 0 or len(points) <= most:
        return points
    sorts: dict[str, list[_Point]] = {}
    for point in points:
        sorts.setdefault(point.sort, []).append(point)
    order = sorted(sorts, key=lambda sort: (sort.startswith("openat"), "index.db" in sort))
    chosen = [sorts[sort][len(sorts[sort]) // 2] for sort in order[:most]]
    left = [point for point in points if point not in chosen]
    more = most - len(chosen)
    return [*chosen, *(left[n * len(left) // more] for n in range(more))]


def killed(place: str, name: str, most: int) -> dict[str, object]:
    """One change, killed at its calls that write."""
    at = _Place(place, name)
    points = at.points()
    said: list[str] = []
    kills = 0
    for call, nth, sort in _some(points, most):
        at.fresh()
        inject = f"inject={call}:signal=KILL:when={nth}"
        traced = Traced(at.run, "-e", f"trace={call}", "-e", inject)
        done = traced.wait()
        kills += traced.child.status == -9
        said += at.checked(f"{name}, killed at {call} {nth} ({sort})")
        if done and _unchanged(at):
            said.append(f"{name}, killed at {call} {nth} ({sort}): it was done and is not")
    return {"wrong": said, "points": len(points), "kills": kills}


def _unchanged(at: _Place) -> bool:
    if at.goes.before == at.goes.after:
        return False
    with opened(at.home, at.change.days) as hf:
        return window_of(hf) == at.goes.before


def failing(place: str, name: str, error: str, most: int) -> dict[str, object]:
    """One change, each of its calls that write failing once; the same process goes on."""
    at = _Place(place, name)
    said: list[str] = []
    refused = 0
    points = _some(at.points(), most)
    for call, nth, sort in points:
        at.fresh()

        inject = f"inject={call}:error={error}:when={nth}"
        attempt = partial(_attempt, at)
        traced = Traced(attempt, "-e", f"trace={call}", "-e", inject)
        marks = traced.wait()
        where = f"{name}, {error} at {call} {nth} ({sort})"
        refused += _REFUSED in marks
        said += [f"{where}: {_TROUBLE[mark]}" for mark in marks if mark in _TROUBLE]
        if traced.child.status != 0:
            said.append(f"{where}: ended with {traced.child.status}")
        said += at.checked(where)
    return {"wrong": said, "points": len(points), "refused": refused}


#: what an attempt may mark, without a system call
_REFUSED = 0
_TROUBLE = {
    1: "its error says nothing",
    2: "the window is neither as before nor as after",
    3: "something is broken",
    4: "it failed, and the window is another",
}


def _attempt(at: _Place, mark: Mark, _: Say) -> None:
    """Do the change while one call fails, and look at once in the same process."""
    with opened(at.home, at.change.days) as hf:
        hf.sessions()
        s = ongoing(hf)
        failed = False
        _begin()
        try:
            at.change.run(hf, s)
        except HoldfastError as exc:
            failed = True
            mark(_REFUSED)
            if not _SAYS.search(str(exc)):
                mark(1)
        now = window_of(hf)
        if now not in (at.goes.before, at.goes.after):
            mark(2)
        elif failed and now != at.goes.before and at.change.name not in _SEVERAL_STEPS:
            mark(4)
        if list(broken(hf, at.goes.told)):
            mark(3)


#: what the system says of these errors
_SAYS = re.compile("No space left|Input/output error|disk I/O error|disk is full")
#: the window may be another although what came behind it failed
_SEVERAL_STEPS = {"context"}


# ---- several at once -----------------------------------------------------------------------------


def together(place: str, rounds: int) -> dict[str, object]:
    """One process compacts, another compacts too, a third says something; again and again."""
    home = Path(place) / "home"
    in_a_child(lambda _: prepare(home))
    said: list[str] = []
    acked: list[str] = []
    compacted = 0
    for turn in range(rounds):
        go_on, go = os.pipe()
        workers = [partial(_compacts, home, turn, n, go_on) for n in range(2)]
        workers.append(partial(_tells, home, turn, go_on))
        children = [spawn(work) for work in workers]
        for child in children:
            assert os.read(child.fd, 6) == b"ready\n"
        os.close(go_on)
        os.write(go, b"!!!")
        os.close(go)
        heard = [child.wait() for child in children]
        said += [f"turn {turn}: ended with {c.status}" for c in children if c.status]
        acked += heard[2]
        compacted += sum(word == "compacted" for word in [*heard[0], *heard[1]])
        with opened(home) as hf:
            said += [f"turn {turn}: {word}" for word in broken(hf, [])]
    with opened(home) as hf:
        there = Counter(event.event_id for event in hf.events())
        said += [f"{one} is there {there[one]} times" for one in acked if there[one] != 1]
        rows = hf.views.read(lambda reading: list(reading.rows(ColdView(), "")))
        counted = [row for row in rows if row.id]
        said += _in_a_row(hf, len(counted))
        s = ongoing(hf)
        worked(s, 900, 903)
        s.compact("item 902", to=400, window=WINDOW)
        said += unfinished(hf)
    return {"wrong": said, "told": len(acked), "compacted": compacted, "counted": len(counted)}


def _in_a_row(hf: Any, counted: int) -> list[str]:
    """Each compaction that counts follows the one that counted before it."""
    events = [event for event in hf.events() if event.kind == "compacted"]
    last, length = "", 0
    for event in events:
        if event.payload["follows"] == last:
            last, length = event.event_id, length + 1
    return [] if length == counted else [f"{length} follow each other, {counted} count"]


def _compacts(home: Path, turn: int, n: int, go_on: int, say: Say) -> None:
    signal.alarm(60)
    with opened(home) as hf:
        s = ongoing(hf)
        hf.sessions()
        say("ready")
        os.read(go_on, 1)
        try:
            made = s.compact(f"item {turn} {n}", to=300 + 100 * n, window=WINDOW)
            say("nothing left" if made is None else "compacted")
        except Conflict:
            say("conflict")


def _tells(home: Path, turn: int, go_on: int, say: Say) -> None:
    signal.alarm(60)
    with opened(home) as hf:
        s = ongoing(hf)
        hf.sessions()
        say("ready")
        os.read(go_on, 1)
        for n in range(8):
            say(s.user(f"And what about item {turn}-{n}? {LONGER}").event_id)
            said = s.tool_call("Bash", {"command": f"ls {turn}-{n}"}, call_id=f"t{turn}-{n}")
            say(said.event_id)
            say(s.tool_result("Bash", f"{turn}-{n}", call_id=f"t{turn}-{n}").event_id)


LONGER = "It is in the second aisle. " * 6


# ---- no room -------------------------------------------------------------------------------------


def no_room(place: str, name: str) -> dict[str, object]:
    """The disk is full, to the last byte and to a few kilobytes; then there is room again."""
    root = Path(place) / "tiny"
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(root)], check=True)
    at = _Place(place, name, root.name)
    said: list[str] = []
    refused = 0
    for room in (0, 4, 16, 64):
        filler = root / "filler"
        filler.unlink(missing_ok=True)
        at.fresh()
        with opened(at.home, at.change.days) as hf:
            hf.sessions()
            _fill(filler, room << 10)
            try:
                at.change.run(hf, ongoing(hf))
            except HoldfastError as exc:
                refused += 1
                if "space" not in str(exc):
                    said.append(f"{room} kB: the error does not say why: {exc}")
            if window_of(hf) not in (at.goes.before, at.goes.after):
                said.append(f"{room} kB: the window is neither as before nor as after")
            said += [f"{room} kB: {word}" for word in broken(hf, at.goes.told)]
            filler.unlink()
            said += [f"{room} kB, with room: {word}" for word in broken(hf, at.goes.told)]
        said += [f"{room} kB, with room: {word}" for word in wrong(at.home, at.change, at.goes)]
    return {"wrong": said, "refused": refused}


def _fill(path: Path, but: int) -> None:
    with open(path, "wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                continue
        except OSError:
            pass
        file.truncate(max(0, file.tell() - but))


_RUNS: dict[str, Callable[..., dict[str, object]]] = {
    "killed": killed,
    "failing": failing,
    "together": together,
    "no room": no_room,
}
