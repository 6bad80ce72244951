"""The demo: two agents record at once, one is killed in the middle of a write, nothing is lost.

`play` yields what happens as it happens; a door shows it. The agents are real processes
(`python -m holdfast.app.demo …`), and the kill is a real SIGKILL with half a record on the disk.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.capture.disk import Disk
from holdfast.engines.files import FileLog
from holdfast.errors import HoldfastError
from holdfast.model.events import Event
from holdfast.model.reports import Verified

from .holdfast import Holdfast
from .open import open as open_project

PROJECT = "demo"
_ARCHITECT = (
    ("user", "We need an API for invoices. Which database?"),
    ("assistant", "PostgreSQL 18: we need row-level security for the tenants."),
    ("decision", "PostgreSQL 18 with row-level security; one schema per service"),
    ("user", "Good. Deploy with the key sk-ant-api03-{secret} for now."),
    ("assistant", "I will read the key from the environment instead of writing it down."),
)
_CODER = (
    ("user", "Write the migration for the invoices table."),
    ("tool_result", "pytest: 1 failed, test_invoice_total: expected 120.00, got 119.99"),
    ("error", "Rounding: amounts were floats"),
    ("decision", "Amounts are integers in cents, never floats"),
    ("assistant", "Changed the column to bigint cents; all tests pass."),
)


class Step(NamedTuple):
    """One thing that happened: a heading, and either events, a report or a sentence."""

    title: str
    text: str = ""
    events: tuple[Event, ...] = ()
    report: Verified | None = None


def play(home: str) -> Iterator[Step]:
    """Play the demo in an empty home."""
    with open_project(home, project=PROJECT) as hf:
        agents = [_start(home, "architect"), _start(home, "coder")]
        acknowledged = _acknowledged(agents)
        yield Step(
            "Two agents, two processes, one log",
            "Each event is synced to the disk before its agent hears that it was recorded.",
            events=tuple(hf.events()),
        )
        victim = _start(home, "victim")
        acknowledged |= _acknowledged([victim])
        torn = _torn_bytes(hf)
        yield Step(
            "A third one is killed in the middle of a write (SIGKILL)",
            f"Its {len(_CODER)} events before were acknowledged. Half a record is on the disk:\n"
            f"…{torn[-60:].decode('utf-8', 'replace')}",
        )
        with hf.session(agent="coder") as session:
            session.user("Go on where we were.")
        kept = sorted(os.listdir(os.path.join(hf.folder, "quarantine")))
        yield Step(
            "The next writer mends the log and says so",
            f"The torn {len(torn)} bytes were copied to quarantine/{kept[0]}, then cut off.",
            events=tuple(e for e in hf.events() if e.kind == "damage_found"),
        )
        yield from _proof(hf, acknowledged)


def _proof(hf: Holdfast, acknowledged: set[str]) -> Iterator[Step]:
    present = [event.event_id for event in hf.events()]
    lost = acknowledged - set(present)
    if lost or len(present) != len(set(present)):
        raise HoldfastError(f"the demo lost {len(lost)} acknowledged events; please report this")
    yield Step(
        "Nothing acknowledged was lost",
        f"{len(acknowledged)} events were acknowledged, {len(acknowledged)} are there, each once. "
        "The API key one of them held was redacted before it reached the disk.",
        report=hf.verify(),
    )


def _start(home: str, role: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "holdfast.app.demo", home, role], stdout=subprocess.PIPE, text=True
    )


def _acknowledged(agents: list[subprocess.Popen[str]]) -> set[str]:
    """The ids each agent was told are safe, as it said them before it ended or was killed."""
    said: set[str] = set()
    for agent in agents:
        out, _ = agent.communicate()
        if agent.returncode not in (0, -signal.SIGKILL):
            raise HoldfastError(f"an agent of the demo ended with {agent.returncode}")
        said |= set(out.split())
    return said


def _torn_bytes(hf: Holdfast) -> bytes:
    with open(os.path.join(hf.folder, "events.ndjson"), "rb") as file:
        return file.read().rpartition(b"\n")[2]


class _DyingDisk(Disk):
    """Writes half of what it is given, then the process is gone."""

    def write_all(self, fd: int, data: bytes) -> None:
        os.write(fd, data[: len(data) // 2])
        os.kill(os.getpid(), signal.SIGKILL)


def _agent(home: str, role: str) -> None:
    lines = _ARCHITECT if role == "architect" else _CODER
    with open_project(home, project=PROJECT) as hf, hf.session(agent=role) as session:
        for kind, text in lines:
            spoken = text.format(secret="x7" * 45)
            event = (
                session.tool_result("Bash", spoken)
                if kind == "tool_result"
                else (getattr(session, kind)(spoken))
            )
            sys.stdout.write(event.event_id + "\n")
            sys.stdout.flush()
            time.sleep(0.02)  # an agent thinks; the other one writes meanwhile
        if role == "victim":
            _die_writing(hf.log)
            session.user("This one never gets its second half.")


def _die_writing(log: FileLog) -> None:
    log.writer().disk = _DyingDisk()


if __name__ == "__main__":
    _agent(sys.argv[1], sys.argv[2])
