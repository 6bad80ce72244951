"""The rows of one shelf in a file, and beside it the list of what was written when.

Row i - 1 is passage i: float16, unit length. What was never written reads as zero. The file is only ever
grown or removed. After each write its range of rows is noted at the end of the `.changes` file, so that
everybody who holds something worked out of the rows reads again what changed and nothing else. No
descriptor and no mapping outlives a call: there is nothing a fork could share or a cut file could kill.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.capture.disk import Disk

Floats = NDArray[np.float32]

#: a kept row is this near to unit length (squared), or something happened to it
_TOLERANCE = 0.03
#: bytes of one note of a change: first row, row after the last
_NOTE = 16
_SIGN_AND_REST = np.int32(-0x70002000)
_HIGHER = np.float32(2.0**112)
_WRITE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


class Look(NamedTuple):
    """What a file looked like at one moment."""

    identity: tuple[int, int]
    #: bytes of notes
    changes: int
    #: whole rows
    length: int

    def goes_on_from(self, before: Look) -> bool:
        """Is this the same file, and nothing of it lost?"""
        same = self.identity == before.identity
        return same and self.changes >= before.changes and self.length >= before.length


def unit(rows: NDArray[np.floating]) -> Floats:
    """Each row at length 1; zero where it has no direction."""
    wide = np.asarray(rows, np.float64)
    with np.errstate(all="ignore"):
        wide = wide / np.max(np.abs(wide), axis=1, keepdims=True, initial=0.0)
        wide = wide / np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    wide[~np.isfinite(wide).all(axis=1)] = 0.0
    return np.asarray(wide, np.float32)


def sound(data: bytes, dims: int) -> Floats:
    """The rows as read, zero where they are not what anybody kept.

    From half to single precision by hand, six times as fast as numpy does it: the bits move to where
    the wider format has them, and its exponents begin 112 higher. Infinities and what is no number
    become numbers far too large, so their rows are not kept ones either.
    """
    bits = np.frombuffer(data, "<i2").astype(np.int32)
    bits <<= 13
    bits &= _SIGN_AND_REST
    rows = bits.view(np.float32).reshape(-1, dims)
    rows *= _HIGHER
    squares = np.einsum("ij,ij->i", rows, rows)
    rows[np.abs(squares - 1.0) > _TOLERANCE] = 0.0
    return rows


class Rows:
    """One shelf's file. Writers take turns by a lock of their own; readers need none."""

    def __init__(self, path: str, dims: int, disk: Disk) -> None:
        self._path, self._noted = f"{path}.f16", f"{path}.changes"
        self._dims, self._width = dims, 2 * dims
        self._disk = disk

    def look(self) -> Look:
        """The file as it is now. What is read afterwards is at least as new."""
        noted, changes = self._stat(self._noted)
        inode, size = self._stat(self._path)
        return Look((inode, noted), changes - changes % _NOTE, size // self._width)

    def touched(self, since: int, until: int) -> list[tuple[int, int]]:
        """The ranges of rows noted between two looks, in order and apart."""
        if since >= until:
            return []
        notes = np.frombuffer(self._bytes(self._noted, since, until), np.uint8)
        pairs = notes[: len(notes) - len(notes) % _NOTE].view("<i8").reshape(-1, 2)
        ranges: list[tuple[int, int]] = []
        for start, stop in sorted((max(0, int(a)), int(b)) for a, b in pairs):
            if ranges and start <= ranges[-1][1]:
                ranges[-1] = (ranges[-1][0], max(stop, ranges[-1][1]))
            elif start < stop:
                ranges.append((start, stop))
        return ranges

    def read(self, start: int, stop: int) -> Floats:
        """Rows start … stop; those that are missing, damaged or past the end are zero."""
        data = self._bytes(self._path, start * self._width, stop * self._width)
        return sound(data.ljust((stop - start) * self._width, b"\0"), self._dims)

    def pick(self, places: NDArray[np.int64]) -> Floats:
        """These rows, in this order, as `read` would give them."""
        parts = [b""] * len(places)
        with suppress(FileNotFoundError):
            fd = self._disk.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                pread, width = self._disk.pread, self._width
                parts = [pread(fd, width, at) for at in (places * width).tolist()]
            finally:
                self._disk.let_go(fd)
        data = b"".join(parts)
        if len(data) < len(places) * self._width:
            data = b"".join(part.ljust(self._width, b"\0") for part in parts)
        return sound(data, self._dims)

    def write(self, runs: Iterable[tuple[int, Floats]]) -> None:
        """Put rows where they belong, then say so."""
        notes = bytearray()
        fd = self._open_to_write(self._path)
        try:
            for start, rows in runs:
                self._put(fd, rows.astype("<f2").tobytes(), start * self._width)
                notes += np.array([start, start + len(rows)], "<i8").tobytes()
        finally:
            self._disk.let_go(fd)
        self._note(bytes(notes))

    def _note(self, notes: bytes) -> None:
        fd = self._open_to_write(self._noted, os.O_APPEND)
        try:
            torn = self._disk.fstat(fd).st_size % _NOTE
            self._disk.write_all(fd, bytes(_NOTE - torn if torn else 0) + notes)
        finally:
            self._disk.let_go(fd)

    def _put(self, fd: int, data: bytes, at: int) -> None:
        view = memoryview(data)
        while view:
            written = self._disk.pwrite(fd, view, at)
            view, at = view[written:], at + written

    def _open_to_write(self, path: str, flags: int = 0) -> int:
        try:
            return self._disk.open(path, _WRITE | flags, 0o600)
        except FileNotFoundError:
            self._disk.make_folder(os.path.dirname(path))
            return self._disk.open(path, _WRITE | flags, 0o600)

    def _bytes(self, path: str, start: int, stop: int) -> bytes:
        try:
            fd = self._disk.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return b""
        try:
            return self._disk.read_range(fd, start, stop)
        finally:
            self._disk.let_go(fd)

    def _stat(self, path: str) -> tuple[int, int]:
        """Inode and size; (0, 0) when there is no such file."""
        try:
            found = self._disk.stat(path)
        except FileNotFoundError:
            return 0, 0
        return found.st_ino, found.st_size
