"""Several writers at once, some or all of them killed at a random moment."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from typing import Any

from holdfast.capture.writer import Writer
from holdfast.engines.files import FileLog
from holdfast.engines.files.log import _fields
from holdfast.model.events import Event
from holdfast.model.settings import LogSettings

from .children import Child, Say, sizes, spawn
from .logs import Findings, entry, look


def write(folder: str, name: str, seed: int, say: Say, count: int, segment_bytes: int) -> None:
    """Append batches of 1 to 20, through the engine and through capture by turns."""
    rng = random.Random(seed)
    log = FileLog(folder, LogSettings(segment_bytes=segment_bytes, lock_timeout=60))
    hook = Writer(folder, segment_bytes=segment_bytes, lock_timeout=60)
    done = 0
    while done < count:
        batch = min(rng.choice((1, 1, 1, 2, 5, 20)), count - done)
        entries = [entry(f"{name}-{done + n}", sizes(rng)) for n in range(batch)]
        if rng.random() < 0.5:
            log.append(entries)
        else:
            with hook.hold():
                hook.put([(_fields(one), one.payload) for one in entries])
        done += batch
        for one in entries:
            say(one.event_id)
    log.close()
    hook.close()


def read_along(folder: str, say: Say, stop: str) -> None:
    """Read from where it stopped, again and again: never half, never twice, never backwards."""
    log = FileLog(folder)
    after = 0
    seen: set[str] = set()
    while not os.path.exists(stop):
        time.sleep(0.002)  # leaves the writers some of the machine
        for event in log.read(after):
            if not isinstance(event, Event):
                say(f"damage: {event}")
            elif event.event_seq != after + 1:
                say(f"{event.event_seq} after {after}")
                return
            elif event.event_id in seen:
                say(f"twice: {event.event_id}")
            else:
                after = event.event_seq
                seen.add(event.event_id)


def together(folder: str, writers: int, count: int, readers: int, seed: int) -> Findings:
    """Everybody writes to the end; readers look on."""
    stop = folder + ".stop"
    os.makedirs(folder, exist_ok=True)
    watching = [spawn(lambda say: read_along(folder, say, stop)) for _ in range(readers)]
    children = [
        spawn(lambda say, n=n: write(folder, f"w{n}", seed + n, say, count, 4 << 20))  # type: ignore[misc]
        for n in range(writers)
    ]
    said = [child.wait() for child in children]
    with open(stop, "w"):
        pass
    complaints = [word for reader in watching for word in reader.wait()]
    found = look(folder, [word for words in said for word in words], ())
    found.wrong += complaints
    found.wrong += [f"pid {c.pid} ended with {c.status}" for c in children if c.status]
    found.wrong += _out_of_order(folder, said)
    return found


def _out_of_order(folder: str, said: list[list[str]]) -> list[str]:
    place = {e.event_id: e.event_seq for e in FileLog(folder).read() if isinstance(e, Event)}
    return [
        f"{words[0]}… lies out of its writer's order"
        for words in said
        if [place[w] for w in words if w in place] != sorted(place[w] for w in words if w in place)
    ]


def kill_cycle(folder: str, seed: int, writers: int = 4) -> Findings:
    """Writers start, and all die at some moment; then everything acknowledged is looked for."""
    rng = random.Random(seed)
    os.makedirs(folder, exist_ok=True)
    segment = rng.choice((2000, 20_000, 1 << 20))
    children: list[Child] = []
    for n in range(writers):
        name, their_seed = f"c{seed}w{n}", rng.randrange(1 << 30)
        children.append(
            spawn(lambda say, a=name, b=their_seed: write(folder, a, b, say, 10**6, segment))  # type: ignore[misc]
        )
    time.sleep(rng.uniform(0.001, 0.04))
    for child in rng.sample(children, len(children)):
        child.kill()
    acked = [word for child in children for word in child.wait()]
    found = look(folder, acked, None)
    found.wrong += [f"pid {c.pid} ended with {c.status}" for c in children if c.status != -9]
    return found


def kills(cycles: int, seed: int, where: str | None = None) -> Findings:
    """Many such cycles; a folder lives through ten of them."""
    total = Findings()
    for first in range(0, cycles, 10):
        folder = tempfile.mkdtemp(dir=where)
        try:
            for cycle in range(first, min(first + 10, cycles)):
                found = kill_cycle(folder, seed + cycle)
                for trouble in (found.lost, found.duplicated, found.spliced, found.wrong):
                    trouble[:] = [f"seed {seed + cycle}: {said}" for said in trouble]
                total.add(found)
        finally:
            shutil.rmtree(folder)
    return total


def main(what: str, **args: Any) -> dict[str, object]:
    """See tests.faults.start."""
    return (kills if what == "kills" else together)(**args).as_dict()
