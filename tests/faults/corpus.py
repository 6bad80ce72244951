"""Random damage to the bytes of a chained log: noticed always, and never worse than what was hit."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from pathlib import Path

from holdfast.capture.chain import Chain
from holdfast.engines.files import FileLog
from holdfast.engines.files.pieces import Piece

from .disks import HookedDisk
from .logs import Findings, entry

KINDS = ("flip", "truncate", "nuls", "cut out", "splice", "duplicate", "swap")


def damage(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """One kind of harm at a random place."""
    kind = rng.choice(KINDS)
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.choice((1, 2, 10, 100, 400, 2000)))
    if kind == "flip":
        flipped = data[start] ^ (1 << rng.randrange(8))
        return kind, data[:start] + bytes([flipped]) + data[start + 1 :]
    if kind == "truncate":
        return kind, data[:start]
    if kind == "nuls":
        return kind, data[:start] + b"\0" * (end - start) + data[end:]
    if kind == "cut out":
        return kind, data[:start] + data[end:]
    if kind == "splice":  # half a record, and another's beginning on the same line
        other = data.find(b"{", rng.randrange(len(data)))
        return kind, data[:start] + data[max(other, 0) :]
    if kind == "duplicate":
        begin = data.rfind(b"\n", 0, start) + 1
        stop = data.find(b"\n", start) + 1
        return kind, data[:stop] + data[begin:stop] + data[stop:]
    middle = rng.randint(start, end)
    return kind, data[:start] + data[middle:end] + data[start:middle] + data[end:]


class Golden:
    """A log of sixty records in three files, and its copies to be harmed."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.folder = place / "golden"
        anchors = place / "anchors"
        self.chain = Chain(b"k" * 32, str(anchors), HookedDisk())
        log = FileLog(str(self.folder), chain=self.chain, disk=HookedDisk())
        log.disk.make_folder(str(self.folder))
        log.disk.put_file(
            str(self.folder / "meta.json"),
            b'{"generation":1,"integrity_mode":"chained","schema_version":2}',
        )
        for number in range(60):
            log.append([entry(f"g{number}", 20 + number * 7 % 300)])
            if number in (19, 39):
                log.seal()
        log.anchor()
        log.close()
        self.records = {p.seq: p.record for p in self._pieces(self.folder)}

    def _pieces(self, folder: Path) -> list[Piece]:
        log = FileLog(str(folder), chain=self.chain, disk=HookedDisk())
        return [piece for piece in log.found() if isinstance(piece, Piece)]

    def trial(self, seed: int) -> Findings:
        """Harm a copy, read it, and compare with what its bytes still hold."""
        rng = random.Random(seed)
        copy = self.place / "copy"
        shutil.copytree(self.folder, copy)
        path = rng.choice(sorted(copy.glob("events*.ndjson")))
        kind, harmed = damage(path.read_bytes(), rng)
        path.write_bytes(harmed)
        left = b"\n".join(p.read_bytes() for p in copy.glob("events*.ndjson"))
        served = {p.seq: p.record for p in self._pieces(copy)}
        log = FileLog(str(copy), chain=self.chain, disk=HookedDisk())
        sound = log.verify().sound
        log.close()
        shutil.rmtree(copy)
        return self._judge(f"seed {seed}, {kind} in {path.name}", left, served, sound)

    def _judge(self, where: str, left: bytes, served: dict[int, bytes], sound: bool) -> Findings:
        found = Findings(acked=len(self.records))
        for seq, record in served.items():
            if self.records.get(seq) != record:
                found.wrong.append(f"{where}: served something else at {seq}")
        for seq, record in self.records.items():
            if record in left and seq not in served:
                found.lost.append(f"{where}: {seq} is whole and was not served")
        if sound and len(served) < len(self.records):
            found.spliced.append(f"{where}: nobody noticed")
        return found


def main(cycles: int, seed: int) -> dict[str, object]:
    """See tests.faults.start."""
    total = Findings()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as place:
        golden = Golden(Path(place))
        for number in range(seed, seed + cycles):
            try:
                total.add(golden.trial(number))
            except Exception as exc:  # noqa: BLE001  (a failure must name its seed)
                total.wrong.append(f"seed {number}: {type(exc).__name__}: {exc}")
    return total.as_dict()
