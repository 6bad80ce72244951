"""The bytes of segments, cut into records and what is not one.

Lines are split on the newline byte and on nothing else. A line that is not a whole record is searched
for records inside it, so a torn write, a lost newline or a run of NULs costs what it damaged and no
more. Which place a record takes in the order is not decided here (`order.py`).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

from msgspec.structs import replace

from holdfast.capture import line
from holdfast.capture.disk import Disk
from holdfast.capture.layout import ACTIVE, LOCK, Segment, sealed_segments
from holdfast.capture.tail import first_record, last_record
from holdfast.model.events import Damage

_FIRST_CHUNK, _CHUNK = 64 << 10, 1 << 20
_PROBE = 16 << 10


class Piece(NamedTuple):
    """A whole record and where it lies."""

    seq: int
    record: bytes
    segment: str
    offset: int
    event_id: str


def segments(disk: Disk, folder: str) -> list[Segment]:
    """The sealed segments in order."""
    try:
        return sealed_segments(folder, disk.listdir(folder))
    except FileNotFoundError:
        return []


def pieces(disk: Disk, folder: str, after: int = 0) -> Iterator[Piece | Damage]:
    """The records of every segment that may hold one behind `after`, up to now."""
    done: set[str] = set()
    while True:
        waiting = [s for s in segments(disk, folder) if s.name not in done]
        if not waiting:
            fd = _open(disk, os.path.join(folder, ACTIVE))
            if all(s.name in done for s in segments(disk, folder)):
                break
            # sealed while we looked: what we hold may have passed us by; look again
            if fd >= 0:
                disk.let_go(fd)
            continue
        passed = [
            s for s, after_it in pairwise(waiting) if s.first_seq < after_it.first_seq <= after + 1
        ]
        if passed:  # another segment begins at or before what is asked for
            done.update(s.name for s in passed)
            continue
        segment = waiting[0]
        done.add(segment.name)
        following = waiting[1].first_seq if len(waiting) > 1 else _first_seq(disk, folder)
        if not segment.first_seq < following <= after + 1:
            fd = _open(disk, segment.path)
            yield from _from_position(disk, fd, segment, after)
    yield from _from_position(disk, fd, Segment(folder, ACTIVE, 0, None), after)


def _first_seq(disk: Disk, folder: str) -> int:
    """Where the active segment begins; 0 while it is empty."""
    fd = _open(disk, os.path.join(folder, ACTIVE))
    if fd < 0:
        return 0
    try:
        record = first_record(disk, fd, disk.fstat(fd).st_size)
    finally:
        disk.let_go(fd)
    return line.seq_and_id(record)[0] if record else 0


def _open(disk: Disk, path: str) -> int:
    try:
        return disk.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return -1  # dropped since the listing; order.py says so if anything is missing


def _from_position(disk: Disk, fd: int, segment: Segment, after: int) -> Iterator[Piece | Damage]:
    if fd < 0:
        return
    try:
        start = seek(disk, fd, _length(disk, fd, segment), after) if after else 0
        before = 0
        for piece in _segment_pieces(disk, fd, segment, start):
            if isinstance(piece, Damage):
                yield replace(piece, after_seq=before)
            else:
                before = piece.seq
                yield piece
    finally:
        disk.let_go(fd)


def _length(disk: Disk, fd: int, segment: Segment) -> int:
    size = disk.fstat(fd).st_size
    return size if segment.length is None else min(size, segment.length)


def _segment_pieces(disk: Disk, fd: int, segment: Segment, start: int) -> Iterator[Piece | Damage]:
    offset, parts = start, []
    at, end, size = start, _length(disk, fd, segment), _FIRST_CHUNK
    while at < end:
        chunk = disk.pread(fd, min(size, end - at), at)
        if not chunk:
            break
        at += len(chunk)
        size = min(2 * size, _CHUNK)  # who asks for one event is not made to wait for a thousand
        if b"\n" not in chunk:
            parts.append(chunk)
            continue
        lines = b"".join([*parts, chunk]).split(b"\n")
        parts = [lines.pop()]
        for record in lines:
            found = line.placed(record)
            if found is not None:
                yield Piece(found[0], record, segment.name, offset, found[1])
            elif record:
                yield from salvage(record, segment.name, offset)
            offset += len(record) + 1
    rest = b"".join(parts)
    if rest and segment.name == ACTIVE and not line.whole(rest):
        yield from _unfinished(disk, fd, segment, offset)
    elif rest:
        yield from salvage(rest, segment.name, offset)


def salvage(data: bytes, segment: str, offset: int) -> Iterator[Piece | Damage]:
    """The whole records inside a damaged stretch, and the rest of it as damage."""
    for start, end, good in line.spans(data):
        if good:
            record = data[start:end]
            seq, event_id = line.seq_and_id(record)
            yield Piece(seq, record, segment, offset + start, event_id)
        else:
            yield Damage(
                reason="garbage",
                segment=segment,
                offset=offset + start,
                length=end - start,
                crc=f"{crc32(data[start:end]):08x}",
            )


def _unfinished(disk: Disk, fd: int, segment: Segment, offset: int) -> Iterator[Piece | Damage]:
    """Bytes without a newline at the end: a writer at work, or the rest of one that died.

    A writer holds the lock while it writes. With the lock free and the bytes still unfinished,
    nobody is coming to finish them.
    """
    lock = -1
    folder = os.path.dirname(segment.path)
    with suppress(FileNotFoundError, PermissionError):
        lock = disk.open(os.path.join(folder, LOCK), os.O_RDONLY | os.O_CLOEXEC)
    try:
        if lock >= 0:
            disk.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        rest = disk.read_range(fd, offset, _length(disk, fd, segment))
    except BlockingIOError:
        return
    finally:
        if lock >= 0:
            disk.let_go(lock)
    done, newline, torn = rest.rpartition(b"\n")
    if newline:  # the writer finished meanwhile
        for record in done.split(b"\n"):
            if record:
                yield from salvage(record, segment.name, offset)
            offset += len(record) + 1
    for piece in salvage(torn, segment.name, offset):
        yield replace(piece, reason="torn_tail") if isinstance(piece, Damage) else piece


def seek(disk: Disk, fd: int, size: int, after: int) -> int:
    """An offset from which no record behind `after` is missed, by halving.

    A file whose last record lies before `after` is not in order (an old copy was appended to it):
    there, only reading everything misses nothing.
    """
    last = last_record(disk, fd, size)
    if last is None or line.seq_and_id(last)[0] < after:
        return 0
    low, high = 0, size
    while high - low > _PROBE:
        middle = (low + high) // 2
        width, found = _PROBE, None
        while found is None and middle + width // 2 < high:  # a record may be longer than that
            probe = disk.read_range(fd, middle, min(high, middle + width))
            found = next((span for span in line.spans(probe) if span[2]), None)
            width *= 2
        if found is None:
            high = middle
            continue
        begin, end, _ = found
        if line.seq_and_id(probe[begin:end])[0] <= after:
            low = middle + begin
        else:
            high = middle
    return low


def last_of(disk: Disk, segment: Segment) -> bytes | None:
    """The last whole record of a segment."""
    fd = _open(disk, segment.path)
    if fd < 0:
        return None
    try:
        return last_record(disk, fd, _length(disk, fd, segment))
    finally:
        disk.let_go(fd)


def pieces_of(disk: Disk, segment: Segment) -> Iterator[Piece | Damage]:
    """One sealed segment, as it lies."""
    yield from _from_position(disk, _open(disk, segment.path), segment, 0)
