"""Real power cuts: an ext4 in a file, shut down without a flush while processes write to it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import shutil
import struct
import subprocess
import time
from collections.abc import Callable
from typing import Any

from holdfast.engines.files import FileLog
from holdfast.errors import HoldfastError
from holdfast.model.events import Damage, Event
from holdfast.model.settings import LogSettings

from .children import Child, Say, spawn
from .logs import Findings, entry, look, subject
from .tracing import Traced

_SHUTDOWN = 0x8004587D
WINDOW_MS = 50
#: how much later than its window a sync may come on a busy machine
SLACK_MS = 400


class Machine:
    """A file system that can lose power. To be used in a mount namespace of its own."""

    def __init__(self, place: str, options: str = "") -> None:
        self.image = os.path.join(place, "disk.img")
        self.root = os.path.join(place, "mnt")
        self._options = "loop" + ("," + options if options else "")
        os.makedirs(self.root, exist_ok=True)
        with open(self.image, "wb") as file:
            file.truncate(24 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", self.image], check=True)
        self.up()

    def up(self) -> None:
        """Power on: the journal is replayed."""
        subprocess.run(["mount", "-o", self._options, self.image, self.root], check=True)

    def cut(self, *, keep_journal: bool = False) -> None:
        """Power off, here and now: what was not synced is gone."""
        fd = os.open(self.root, os.O_RDONLY)
        fcntl.ioctl(fd, _SHUTDOWN, struct.pack("I", 1 if keep_journal else 2))
        os.close(fd)

    def down(self) -> None:
        """Take the dead disk out; everybody who used it must be gone."""
        subprocess.run(["umount", self.root], check=True)


def _keep_trying(log: FileLog, name: str, size: int, say: Say) -> None:
    """As a caller does: the same event again until somebody answers for it, or the power is gone."""
    for _ in range(5):
        try:
            log.append([entry(name, size)])
            say(name)
            return
        except HoldfastError:
            continue
    os._exit(0)


def _append(folder: str, tag: str, rng: random.Random, say: Say, segment: int = 1 << 20) -> None:
    log = FileLog(folder, LogSettings(segment_bytes=segment))
    for n in range(10**6):
        _keep_trying(log, f"{tag}-{n}", rng.choice((20, 300, 6000)), say)


def _seal(folder: str, tag: str, rng: random.Random, say: Say) -> None:
    _append(folder, tag, rng, say, segment=1500)


def _erase(folder: str, tag: str, rng: random.Random, say: Say) -> None:
    log = FileLog(folder, LogSettings(segment_bytes=3000))
    for n in range(10**6):
        _keep_trying(log, f"{tag}-{n}", 300, say)
        if n % 3 == 2:
            gone = f"{tag}-{rng.randrange(n)}"
            say(f"erasing {gone}")
            try:
                log.erase([gone], subject=subject(f"{tag}-x{n}", [gone]))
            except HoldfastError:
                os._exit(0)
            say(f"{tag}-x{n}")


def _batched(folder: str, tag: str, rng: random.Random, say: Say) -> None:
    log = FileLog(folder, LogSettings(mode="batched", window_ms=WINDOW_MS))
    for n in range(10**6):
        try:
            log.append([entry(f"{tag}-{n}", rng.choice((20, 300)))], durable=False)
        except HoldfastError:
            os._exit(0)
        say(f"at {time.monotonic()} {tag}-{n}")


def _unsynced(folder: str, tag: str, rng: random.Random, say: Say) -> None:
    """What no log may do: answer for events that were never synced."""
    log = FileLog(folder, LogSettings(window_ms=3_600_000))
    for n in range(10**6):
        try:
            log.append([entry(f"{tag}-{n}")], durable=False)
        except HoldfastError:
            os._exit(0)
        say(f"{tag}-{n}")


_WORK: dict[str, Callable[[str, str, random.Random, Say], None]] = {
    "append": _append,
    "seal": _seal,
    "erase": _erase,
    "batched": _batched,
    "failed sync": _append,
    "unsynced": _unsynced,
}


def cuts(protocol: str, cycles: int, seed: int, place: str) -> dict[str, object]:
    """Write, cut, power on, look; again and again on the same disk."""
    total, lost_ages = Findings(), [0.0]
    machine = Machine(place)
    folder = os.path.join(machine.root, "log")
    said: list[str] = []
    for cycle in range(cycles):
        rng = random.Random(seed + cycle)
        if cycle % 10 == 0:
            shutil.rmtree(folder, ignore_errors=True)
            said = []
        words, when = _one_cut(machine, protocol, folder, f"c{seed + cycle}", rng)
        machine.up()
        said += [word for word in words if not word.startswith("at ")]
        found = _look(folder, said)
        for trouble in (found.lost, found.duplicated, found.spliced, found.wrong):
            trouble[:] = [f"{protocol}, seed {seed + cycle}: {what}" for what in trouble]
        total.add(found)
        if protocol == "batched":
            kept, gone = _ages(folder, words, when)
            lost_ages += gone
            said += kept  # what is on the disk now stays there
            total.acked += len(words)
            total.lost += [
                f"seed {seed + cycle}: {age:.3f} s old" for age in gone if age > _promised()
            ]
    machine.down()
    return {**total.as_dict(), "cuts": cycles, "oldest_lost": max(lost_ages)}


def _promised() -> float:
    return (WINDOW_MS + SLACK_MS) / 1000


def _one_cut(
    machine: Machine, protocol: str, folder: str, tag: str, rng: random.Random
) -> tuple[list[str], float]:
    """What the writer was told before the power went, and when that was."""
    if protocol == "failed sync":
        inject = f"inject=fdatasync:error=EIO:when={rng.randint(1, 4)}+{rng.randint(2, 5)}"
        traced = Traced(
            lambda _, say: _append(folder, tag, rng, say), "-e", "trace=fdatasync", "-e", inject
        )
        child, end = traced.child, traced.wait
    else:
        child = spawn(lambda say: _WORK[protocol](folder, tag, rng, say))
        end = child.wait  # type: ignore[assignment]
    time.sleep(rng.uniform(0.55, 0.7) if protocol == "batched" else rng.uniform(0.01, 0.12))
    when = time.monotonic()
    machine.cut()
    _gone(child)
    end()
    machine.down()
    return child.said, when


def _gone(child: Child) -> None:
    with contextlib.suppress(ProcessLookupError):
        child.kill()


def _look(folder: str, said: list[str]) -> Findings:
    erased = {word.split()[1] for word in said if word.startswith("erasing ")}
    acked = [word for word in said if " " not in word]
    return look(folder, acked, None, erased=erased)


def _ages(folder: str, words: list[str], when: float) -> tuple[list[str], list[float]]:
    """Of what was written relaxed: what is there, and how old at the cut what is not."""
    there = {event.event_id for event in FileLog(folder).read() if isinstance(event, Event)}
    told = [(float(word.split()[1]), word.split()[2]) for word in words]
    kept = [name for _, name in told if name in there]
    return kept, [when - at for at, name in told if name not in there]


def nuls(place: str, seed: int) -> dict[str, object]:
    """Unsynced records that come back as NULs: what was synced reads on, the damage is said."""
    machine = Machine(place, "data=writeback,nodelalloc")
    folder = os.path.join(machine.root, "log")

    def write(say: Say) -> None:
        log = FileLog(folder, LogSettings(window_ms=3_600_000))
        for n in range(20):
            log.append([entry(f"d{n}")])
            say(f"d{n}")
        log.append([entry(f"r{n}", 500) for n in range(200)], durable=False)
        say("written")
        time.sleep(600)

    child = spawn(write)
    while b"written" not in os.read(child.fd, 1 << 16):
        continue
    machine.cut(keep_journal=True)
    child.kill()
    child.wait()
    machine.down()
    machine.up()
    with open(os.path.join(folder, "events.ndjson"), "rb") as file:
        zeros = file.read().count(b"\0")
    before = [type(found).__name__ for found in FileLog(folder).read()]
    found = look(folder, [f"d{n}" for n in range(20)], None)
    kinds = [e.kind for e in FileLog(folder).read() if isinstance(e, Event)]
    machine.down()
    said = before.count(Damage.__name__) if zeros else 1
    if not said or (zeros and "damage_found" not in kinds):
        found.wrong.append(f"{zeros} NULs and not a word about them")
    return {**found.as_dict(), "nuls": zeros}


def main(what: str, **args: Any) -> dict[str, object]:
    """See tests.faults.start."""
    return nuls(**args) if what == "nuls" else cuts(**args)
