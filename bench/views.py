"""What the views cost: folding, rebuilding, restoring and asking, on a long log of many sessions.

    python -m bench.views [--events 1000000] [--sessions 2000] [--json]

Each figure of a whole process is taken in a process of its own, with its peak memory. The baseline
stands in the same row: what reading the same log costs without any view, or what the same answer costs
without the thing that makes it fast.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import holdfast
from bench.report import show, side_by_side
from holdfast.capture.line import canonical
from holdfast.capture.stamp import fresh_id, timestamp
from holdfast.model.events import Entry, Event
from holdfast.views.fold import Fold

Row = dict[str, Any]
PROJECT, USER = "bench", "ana"
_WORDS = (
    *("the", "invoice", "service", "returns", "cents", "total", "migration", "schema", "level"),
    *("security", "tenant", "worker", "queue", "retry", "error", "timeout", "index", "snapshot"),
    *("decision", "gate", "branch", "review", "commit", "test", "failed", "passed"),
)
_TOGETHER = 10  # agents at work at the same time: their events alternate in the log


def make(home: str, events: int, sessions: int) -> None:
    """A log as agents write it: turns of messages, tool calls and results, now and then a milestone."""
    rng = random.Random(7)
    with holdfast.open(home, project=PROJECT, user=USER) as hf:
        batch: list[Entry] = []
        per_session = max(1, events // sessions)
        start = 1_700_000_000_000
        for n in range(events):
            group = n // (per_session * _TOGETHER)
            number = min(group * _TOGETHER + rng.randrange(_TOGETHER), sessions - 1)
            batch.append(_entry(rng, n, number, timestamp(start + n * 900)))
            if len(batch) == 1000:
                hf.log.append(batch, durable=False)
                batch = []
        hf.log.append(batch)


def _entry(rng: random.Random, n: int, number: int, at: str) -> Entry:
    text = " ".join(rng.choices(_WORDS, k=90))
    path = f"src/module{rng.randrange(40)}.py"
    call = {"tool": "Edit", "input": {"file_path": path, "new_string": text}}
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("user_message", {"text": text}),
        ("tool_call", call),
        ("tool_result", {"tool": "Edit", "text": text}),
        ("tool_call", call),
        ("tool_result", {"tool": "Edit", "text": text}),
        ("model_message", {"text": text}),
    ]
    kind, payload = kinds[n % 6]
    odd = n % 97
    if odd < 4:
        kind, payload = (
            ("decision", {"text": text[:80]}),
            ("error", {"text": text[:80]}),
            ("validation_gate", {"gate": 1 + n % 3, "passed": n % 2 == 0}),
            ("state_updated", {"state": {"current_task": text[:40]}}),
        )[odd]
    return Entry(
        event_id=fresh_id("evt"),
        session_id=f"ses_{number:026d}",
        agent=f"agent{number % 7}",
        user=USER,
        type=f"{kind}@1",
        timestamp=at,
        origin="user" if kind == "user_message" else "agent",
        trust=2,
        sources=(),
        payload=canonical(payload),
        fresh=True,
    )


def fold_rows(home: str, rounds: int) -> list[Row]:
    """Folding events that are in memory, beside counting them."""
    with holdfast.open(home, project=PROJECT, user=USER) as hf:
        events: list[Event] = []
        for event in hf.events():
            events.append(event)
            if len(events) == 100_000:
                break

    def ours() -> None:
        fold = Fold(lambda _view, _key: None)
        for event in events:
            fold.apply(event)

    def counting() -> None:
        counts: dict[tuple[str | None, str], int] = {}
        for event in events:
            key = (event.session_id, event.kind)
            counts[key] = counts.get(key, 0) + 1

    mine, theirs = side_by_side(ours, counting, rounds)
    return [
        {
            "what": f"fold {len(events):,} events, every view",
            "ours": f"{len(events) / mine:,.0f} events/s",
            "baseline": f"{len(events) / theirs:,.0f} events/s (count by session and type)",
            "memory": "",
            "goal": "≥ 100,000 events/s",
        }
    ]


def _child(home: str, what: str) -> tuple[float, float, dict[str, Any]]:
    """Seconds, peak MB and answer of one act in a process of its own."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "bench.views", "--child", what, "--home", home],
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)
    return time.perf_counter() - start, said["mb"], said


def _act(home: str, what: str) -> dict[str, Any]:
    """What a child does; its own seconds begin when Python and the imports are there."""
    start = time.perf_counter()
    said: dict[str, Any] = {}
    if what != "nothing":
        with holdfast.open(home, project=PROJECT, user=USER) as hf:
            if what == "read":
                said["events"] = sum(1 for _ in hf.log.read())
            elif what == "rebuild":
                said["hash"] = hf.rebuild()
                said["events"] = hf.log.head().event_seq
            elif what == "state":
                latest = hf.sessions()[0]
                session = hf.session(agent=latest.agent or "", session_id=latest.id)
                said["events"] = session.state().info.events
            elif what == "status":
                said["tokens"] = hf.status().tokens
            elif what == "restore":
                said["tokens"] = hf.restore().tokens
    said["seconds"] = time.perf_counter() - start
    with open("/proc/self/status") as file:  # since exec; getrusage would count the parent's
        peak = next(line for line in file if line.startswith("VmHWM"))
    said["mb"] = int(peak.split()[1]) / 1024
    return said


def long_rows(home: str, events: int) -> list[Row]:
    """Rebuild, restore and status on the whole log, each in a fresh process."""
    folder = os.path.join(home, "contexts-v2", PROJECT)
    rows: list[Row] = []

    def add(what: str, ours: str, baseline: str, memory: float, goal: str) -> None:
        rows.append(
            {
                "what": what,
                "ours": ours,
                "baseline": baseline,
                "memory": f"{memory:,.0f} MB",
                "goal": goal,
            }
        )

    _, _, nothing = _child(home, "nothing")
    _, read_mb, read = _child(home, "read")
    _, mb, built = _child(home, "rebuild")
    add(
        f"rebuild the index ({events:,} events)",
        f"{built['events'] / built['seconds']:,.0f} events/s, {built['seconds']:.1f} s",
        f"{read['events'] / read['seconds']:,.0f} events/s (read only, {read_mb:,.0f} MB)",
        mb,
        "≥ 30,000 events/s",
    )
    _export(home)
    _record_tail(home, 1_900)
    cases: list[tuple[str, Callable[[], None]]] = [
        ("index and snapshot there", lambda: None),
        ("index lost, snapshot + 1,900 events", lambda: _drop(folder, "index.db")),
    ]
    for what, spoil in cases:
        for act, goal in (("state", "≤ 1 s"), ("status", ""), ("restore", "")):
            spoil()
            whole, mb, said = _child(home, act)
            add(
                f"open and {act}: {what}",
                f"{said['seconds']:.3f} s ({whole:.2f} s with Python)",
                f"{built['seconds']:.1f} s (rebuild), {nothing['mb']:,.0f} MB (imports)",
                mb,
                goal,
            )
    _drop(folder, "index.db")
    _drop(folder, "snapshot.json")
    _drop(folder, "snapshot.before.json")
    whole, mb, said = _child(home, "status")
    add(
        "open and status: neither index nor snapshot",
        f"{said['seconds']:.1f} s ({whole:.1f} s with Python)",
        f"{built['seconds']:.1f} s (rebuild)",
        mb,
        "",
    )
    _export(home)
    size = sum(os.path.getsize(os.path.join(folder, n)) for n in os.listdir(folder) if "index" in n)
    snap = os.path.getsize(os.path.join(folder, "snapshot.json"))
    log = sum(os.path.getsize(os.path.join(folder, n)) for n in os.listdir(folder) if "events" in n)
    add(
        "on disk",
        f"index {size / 1e6:.1f} MB, snapshot {snap / 1e6:.1f} MB",
        f"log {log / 1e6:,.0f} MB",
        0,
        "",
    )
    return rows


def one_session_rows(home: str) -> list[Row]:
    """A session that never ends: 100,000 events of one agent."""
    place, events = os.path.join(home, "one"), 100_000
    if not os.path.exists(place):
        make(place, events, 1)
    _export(place)
    rows = []
    for act in ("state", "status", "restore"):
        whole, mb, said = _child(place, act)
        rows.append(
            {
                "what": f"open and {act}: one session of {events:,} events",
                "ours": f"{said['seconds']:.3f} s ({whole:.2f} s with Python)",
                "baseline": "",
                "memory": f"{mb:,.0f} MB",
                "goal": "",
            }
        )
    return rows


def _export(home: str) -> None:
    with holdfast.open(home, project=PROJECT, user=USER) as hf:
        hf.views.catch_up()
        hf.views.export()


def _record_tail(home: str, count: int) -> None:
    """Events behind the snapshot, none of them a milestone."""
    with holdfast.open(home, project=PROJECT, user=USER) as hf:
        session = hf.session(agent="agent0")
        for n in range(count):
            session.user(f"after the snapshot {n}")


def _drop(folder: str, name: str) -> None:
    for ending in ("", "-wal", "-shm"):
        path = os.path.join(folder, name + ending)
        if os.path.exists(path):
            os.unlink(path)


def main() -> None:
    """Run every row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--sessions", type=int, default=2_000)
    parser.add_argument("--home", help="a home made by an earlier run; kept")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(_act(given.home, given.child)))
        return
    home = given.home or tempfile.mkdtemp(prefix="holdfast-bench-", dir=".")
    try:
        if not os.path.exists(os.path.join(home, "contexts-v2")):
            make(home, given.events, given.sessions)
        rows = [
            *fold_rows(home, given.rounds),
            *long_rows(home, given.events),
            *one_session_rows(home),
        ]
    finally:
        if not given.home:
            shutil.rmtree(home)
    show(f"Views: {given.events:,} events, {given.sessions:,} sessions", rows, as_json=given.json)


if __name__ == "__main__":
    main()
