"""The demo: three days of a project, a process killed in the middle of a write, and nothing forgotten.

`play` yields what happens as it happens; a door shows it. The agents are real processes
(`python -m holdfast.app.demo …`), the kill is a real SIGKILL with a torn record on the disk, and what is
deleted is really deleted.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from holdfast.capture.disk import Disk
from holdfast.capture.layout import INDEX, SNAPSHOT
from holdfast.errors import HoldfastError
from holdfast.model.events import Event
from holdfast.model.reports import Verified
from holdfast.model.sessions import SessionStatus

from .holdfast import Holdfast
from .open import open as open_project
from .session import Session
from .story import CUT_OFF, MONDAY, SECRET, TUESDAY, WEDNESDAY, Line

PROJECT, USER, WORKFLOW = "demo", "ana", "create-service"
_BUDGET = 450


class Step(NamedTuple):
    """One thing that happened: a heading, a sentence, and what there is to see."""

    title: str
    text: str = ""
    events: tuple[Event, ...] = ()
    page: str = ""
    status: SessionStatus | None = None
    report: Verified | None = None


def play(home: str) -> Iterator[Step]:
    """Play the demo in an empty home."""
    acknowledged = _run(home, "architect")
    with open_project(home, project=PROJECT, user=USER) as hf:
        yield Step(
            "Monday: an architect agent designs an invoice service",
            "Every event was on the disk before its agent heard that it was recorded. The API key "
            "somebody pasted into the chat was replaced before the first byte was written.",
            events=tuple(_shown(hf.events(), ("decision", "user_message", "validation_gate"))),
        )
        before = hf.log.head().event_seq
        acknowledged |= _run(home, "coder", killed=True)
        torn = _torn_bytes(hf)
        yield Step(
            "Tuesday: a coder agent takes over; at 14:20 its process is killed (SIGKILL)",
            "It fixed one bug and was in the middle of the next. A torn record is on the disk:\n"
            f"…{torn[-90:].decode('utf-8', 'replace')}",
            events=tuple(_shown(hf.events(before), ("error", "decision", "validation_gate"))),
        )
        yield from _next_morning(hf)
        acknowledged |= _run(home, "coder again")
        yield from _proof(hf, acknowledged)


def _next_morning(hf: Holdfast) -> Iterator[Step]:
    known = hf.state_hash()
    for name in (INDEX, f"{INDEX}-wal", f"{INDEX}-shm"):
        path = os.path.join(hf.folder, name)
        if os.path.exists(path):
            os.unlink(path)
    with open(os.path.join(hf.folder, SNAPSHOT), "r+b") as file:
        file.truncate(100)
    same = hf.state_hash() == known
    if not same:
        raise HoldfastError("the demo lost state; please report this")
    yield Step(
        "Overnight: the index is deleted and the snapshot cut in half",
        f"Both are only folds of the log. Made anew, they give the same state: {known[:16]}…",
    )
    restored = hf.restore(agent="coder", tokens=_BUDGET)
    yield Step(
        f"Wednesday: what the next agent is given (`holdfast restore --tokens {_BUDGET}`)",
        f"{restored.tokens} tokens, no matter how long the sessions were: what is open, what was "
        "decided, what failed and what helped, then as much of the talk as fits.",
        page=restored.text,
    )


def _proof(hf: Holdfast, acknowledged: set[str]) -> Iterator[Step]:
    kept = sorted(os.listdir(os.path.join(hf.folder, "quarantine")))
    yield Step(
        "It goes on, and finishes",
        f"The torn bytes were copied to quarantine/{kept[0]} and cut off; the log says so. "
        "Then the race was fixed, the last gate passed, the workflow ended.",
        status=hf.status(agent="coder"),
    )
    present = [event.event_id for event in hf.events()]
    lost = acknowledged - set(present)
    if lost or len(present) != len(set(present)):
        raise HoldfastError(f"the demo lost {len(lost)} acknowledged events; please report this")
    if any(SECRET in event.words for event in hf.events()):
        raise HoldfastError("the demo kept a secret; please report this")
    yield Step(
        "Nothing acknowledged was lost",
        f"{len(acknowledged)} events were acknowledged, {len(acknowledged)} are there, each once.",
        report=hf.verify(),
    )


def _shown(events: Iterable[Event], kinds: tuple[str, ...]) -> Iterator[Event]:
    return (event for event in events if event.kind in kinds)


def _run(home: str, role: str, *, killed: bool = False) -> set[str]:
    """Let an agent work in a process of its own; the ids it was told are safe."""
    done = subprocess.run(
        [sys.executable, "-m", "holdfast.app.demo", home, role],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != (-signal.SIGKILL if killed else 0):
        raise HoldfastError(f"an agent of the demo ended with {done.returncode}")
    return set(done.stdout.split())


def _torn_bytes(hf: Holdfast) -> bytes:
    with open(os.path.join(hf.folder, "events.ndjson"), "rb") as file:
        return file.read().rpartition(b"\n")[2]


class _DyingDisk(Disk):
    """Writes most of what it is given, then the process is gone."""

    def write_all(self, fd: int, data: bytes) -> None:
        os.write(fd, data[: -len(data) // 6])
        os.kill(os.getpid(), signal.SIGKILL)


def _agent(home: str, role: str) -> None:
    with open_project(home, project=PROJECT, user=USER) as hf:
        if role == "architect":
            begin = {"workflow": WORKFLOW, "git_branch": "invoices"}
            session = hf.session(agent="architect", **begin)
            session.start(at=MONDAY[0].at)
            _record(session, MONDAY)
            session.switch("coder", at=TUESDAY[0].at)
        elif role == "coder":
            session = _last_of(hf)
            _record(session, TUESDAY)
            hf.log.writer().disk = _DyingDisk()
            _record(session, [CUT_OFF])
        else:
            session = _last_of(hf)
            session.start(at=WEDNESDAY[0].at)
            _record(session, WEDNESDAY)
            hf.end_workflow(WORKFLOW, at=WEDNESDAY[-1].at)


def _last_of(hf: Holdfast) -> Session:
    active = hf.active(agent="coder")
    assert active is not None  # noqa: S101  (the architect handed over to it)
    return hf.session(agent="coder", session_id=active.id)


def _record(session: Session, lines: Iterable[Line]) -> None:
    for line in lines:
        done = getattr(session, line.verb)(*line.words, at=line.at, **line.more)
        said = done.event_id if isinstance(done, Event) else done.winners[-1]
        sys.stdout.write(said + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _agent(sys.argv[1], sys.argv[2])
