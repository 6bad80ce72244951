"""Putting a backup back, byte for byte: the same records, the same seqs, the same bodies."""

from __future__ import annotations

import os
from collections.abc import Iterator

from holdfast.capture import line
from holdfast.capture.layout import ACTIVE, LOCK
from holdfast.capture.lock import Lock
from holdfast.engines.files.decode import bodies_in
from holdfast.engines.files.pieces import Piece
from holdfast.errors import Conflict
from holdfast.model.events import Damage

from .holdfast import Holdfast
from .incoming import BATCH, BATCH_BYTES, Bodies, Imported, said_in


class PuttingBack:
    """Takes records as they are, behind those that an earlier try put there."""

    def __init__(self, hf: Holdfast, bodies: Bodies, done: Imported) -> None:
        self._hf = hf
        self._bodies = bodies
        self._done = done
        self._torn: Damage | None = None
        self._there = self._records_there()
        self._last = 0
        self._batch: list[bytes] = []
        self._size = 0

    def take(self, number: int, record: bytes) -> None:
        """Put a record in its place, or see that it is there."""
        seq, _ = line.seq_and_id(record)
        if seq <= self._last:
            self._done.leave_out(number)
            return
        self._last = seq
        there = self._expect(record)
        said = said_in(record)
        for digest in sorted(bodies_in(said.get("payload") if isinstance(said, dict) else None)):
            self._bodies.keep(digest)
        if there:
            self._done.already_there += 1
            return
        if self._torn is not None:
            self._take_back(self._torn, record)
        self._batch.append(record)
        self._size += len(record)
        if len(self._batch) >= BATCH or self._size >= BATCH_BYTES:
            self._flush()

    def finish(self) -> None:
        """Put the last ones in their place."""
        self._expect(None)
        self._flush()

    def _flush(self) -> None:
        if self._batch:
            self._hf.log.restore(self._batch)
        self._done.events += len(self._batch)
        self._batch, self._size = [], 0

    def _records_there(self) -> Iterator[bytes]:
        for piece in self._hf.log.found():
            if isinstance(piece, Piece):
                yield piece.record
            elif piece.reason == "torn_tail":
                self._torn = piece

    def _expect(self, record: bytes | None) -> bool:
        """Is this record the next of those that are there? No other may be."""
        there = next(self._there, None)
        if there is not None and there != record:
            raise Conflict("this project holds other events; restore into an empty one")
        return there is not None

    def _take_back(self, torn: Damage, record: bytes) -> None:
        """Remove the start of this very record, left by a restore that was killed.

        A writer would take it for damage and say so in an event, in the place of the record.
        """
        self._torn = None
        log, fd = self._hf.log, -1
        lock = Lock(os.path.join(log.folder, LOCK), log.disk)
        try:
            lock.acquire(log.settings.lock_timeout)
            fd = log.disk.open(os.path.join(log.folder, ACTIVE), os.O_RDWR | os.O_CLOEXEC)
            if record.startswith(log.disk.read_range(fd, torn.offset, 1 << 62)):
                log.disk.ftruncate(fd, torn.offset)
                log.disk.fsync(fd)
        finally:
            if fd >= 0:
                log.disk.let_go(fd)
            lock.done()
