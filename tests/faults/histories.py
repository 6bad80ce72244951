"""Random lives of a log on a machine that loses power, processes and syncs. One seed, one life."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from pathlib import Path

from holdfast.capture.spool import spool
from holdfast.engines.files import FileLog
from holdfast.engines.files.log import _fields
from holdfast.errors import HoldfastError
from holdfast.model.events import Event
from holdfast.model.settings import LogSettings

from .disks import Crash, HookedDisk
from .logs import Findings, baseline, entry, look, subject
from .plug import Platter, PlugDisk

SETTINGS = LogSettings(window_ms=3_600_000, segment_bytes=900)


class Life:
    """What happens, drawn from a seed, and what must hold after it."""

    def __init__(self, seed: int, place: Path) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.place = place
        self.number = 0
        self.acked: set[str] = set()
        self.erased: set[str] = set()
        self.dropped: set[str] = set()
        self.order: list[str] = []
        self._boot(place / "0")

    def _boot(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.platter = Platter(str(root))
        self.platter.adopt()
        self.folder = str(root / "log")
        self._process()

    def _process(self) -> None:
        self.disk = PlugDisk(self.platter)
        self.log = FileLog(self.folder, SETTINGS, disk=self.disk)

    def live(self, steps: int) -> Findings:
        """Step after step; the plug is pulled at the end in any case."""
        total = Findings()
        for _ in range(steps):
            if self.rng.random() < 0.2:
                self.disk.crash_at = self.disk.calls + self.rng.randint(1, 30)
            elif self.rng.random() < 0.3:
                self.disk.fail_sync_at = self.disk.syncs + self.rng.randint(1, 3)
            try:
                self._step()
            except Crash:
                pass
            except (HoldfastError, OSError):
                pass
            if self.disk.dead:
                self._end_process()
                self._process()
            if self.rng.random() < 0.2:
                total.add(self._cut())
        total.add(self._cut())
        self._end_process()
        return total

    def _end_process(self) -> None:
        self.log._flusher.close()
        self.disk.dead = True
        self.disk.abandon()

    def _new(self) -> str:
        self.number += 1
        return f"e{self.seed}-{self.number}"

    def _step(self) -> None:
        draw = self.rng.random()
        if draw < 0.55:
            names = [self._new() for _ in range(self.rng.choice((1, 1, 3)))]
            if self.order and self.rng.random() < 0.3:
                names.append(self.rng.choice(self.order))  # a retry, of whatever fate
            self.order += names
            self.log.append([entry(name) for name in dict.fromkeys(names)])
            self.acked.update(names)
        elif draw < 0.7:
            name = self._new()
            self.order.append(name)
            self.log.append([entry(name)], durable=False)
        elif draw < 0.78:
            name = self._new()
            one = entry(name)
            self.order.append(name)
            spool(self.disk, self.folder, name, _fields(one), one.payload)
            self.acked.add(name)
        elif draw < 0.86:
            self.log.seal()
        elif draw < 0.95 and self._messages():
            gone = self.rng.choice(self._messages())
            self.erased.add(gone)
            name = self._new()
            self.log.erase([gone], subject=subject(name, [gone]))
            self.acked.add(name)
        else:
            through = self.rng.randint(0, self.log.head().event_seq)
            self.dropped |= {
                event.event_id
                for event in self.log.read()
                if isinstance(event, Event) and event.event_seq <= through
            }
            name = self._new()
            self.log.retain(baseline(name), through=through)
            self.acked.add(name)

    def _messages(self) -> list[str]:
        return sorted(set(self.order) & self.acked - self.dropped)

    def _cut(self) -> Findings:
        """One of the legal outcomes, checked on a copy, and lived on with."""
        trees = list(self.platter.trees())
        tree = self.rng.choice(trees)
        old, self.place = self.platter, self.place.parent / f"{self.place.name}x"
        found = self._looked_at(old, tree)
        self._end_process()
        old.lay_out(tree, str(self.place))
        shutil.rmtree(old.root, ignore_errors=True)
        self._boot(self.place)
        return found

    def _looked_at(self, platter: Platter, tree: dict[str, bytes | None]) -> Findings:
        with tempfile.TemporaryDirectory(dir=self.place.parent) as copy:
            platter.lay_out(tree, copy)
            found = look(
                os.path.join(copy, "log"),
                self.acked,
                None,
                erased=self.erased,
                dropped=self.dropped,
                disk=HookedDisk(),
            )
        for trouble in (found.lost, found.duplicated, found.spliced, found.wrong):
            trouble[:] = [f"seed {self.seed}: {said}" for said in trouble]
        return found


def main(cycles: int, seed: int, steps: int = 20) -> dict[str, object]:
    """See tests.faults.start."""
    total = Findings()
    for number in range(seed, seed + cycles):
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
        with tempfile.TemporaryDirectory(dir=memory) as place:
            try:
                total.add(Life(number, Path(place) / "life").live(steps))
            except Exception as exc:  # noqa: BLE001  (a failure must name its seed)
                total.wrong.append(f"seed {number}: {type(exc).__name__}: {exc}")
    return total.as_dict()
