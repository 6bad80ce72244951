"""The end of the active segment: finding the last whole record, and mending what a crash left.

A writer that died in the middle of its one write leaves a tail without its newline. A whole record
that lacks only the newline gets it; anything else is copied to quarantine, synced, and only then cut
off. Without room for the copy nothing is cut: the log is readable and refuses to grow.
"""

from __future__ import annotations

import os

from . import line
from .disk import Disk
from .layout import sealed_segments

_BLOCK = 8 << 10
_CHUNK = 1 << 20


def last_record(disk: Disk, fd: int, size: int) -> bytes | None:
    """The last whole record in the first `size` bytes, found from the end backwards."""
    end, block, rest = size, _BLOCK, b""
    while end > 0:
        start = max(0, end - block)
        data = disk.read_range(fd, start, end) + rest
        cut = 0 if start == 0 else data.find(b"\n") + 1
        if start == 0 or cut:
            good = [span for span in line.spans(data[cut:]) if span[2]]
            if good:
                return data[cut + good[-1][0] : cut + good[-1][1]]
        # the piece before the first newline belongs to a line that begins in an earlier block
        rest, end, block = (data[:cut] if cut else data), start, min(block * 2, 8 << 20)
    return None


def last_sealed(disk: Disk, folder: str) -> bytes | None:
    """The last whole record of the newest sealed segment that has one."""
    for segment in reversed(sealed_segments(folder, disk.listdir(folder))):
        fd = disk.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = disk.fstat(fd).st_size
            length = size if segment.length is None else min(size, segment.length)
            record = last_record(disk, fd, length)
        finally:
            disk.let_go(fd)
        if record is not None:
            return record
    return None


def highest_record(disk: Disk, fd: int, start: int, end: int) -> bytes | None:
    """The record with the highest seq between two offsets, wherever it lies."""
    best, highest, rest = None, 0, b""
    while start < end:
        data = rest + disk.read_range(fd, start, min(end, start + _CHUNK))
        start = min(end, start + _CHUNK)
        cut = len(data) if start == end else data.rfind(b"\n") + 1
        for first, last, good in line.spans(data[:cut]):
            if good and line.seq_and_id(data[first:last])[0] > highest:
                best = data[first:last]
                highest = line.seq_and_id(best)[0]
        rest = data[cut:]
    return best


def first_record(disk: Disk, fd: int, size: int) -> bytes | None:
    """The first whole record of a segment."""
    start, rest = 0, b""
    while start < size:
        data = rest + disk.read_range(fd, start, min(size, start + _BLOCK))
        start = min(size, start + _BLOCK)
        for first, last, good in line.spans(data):
            if good:
                return data[first:last]
        rest = data[-(8 << 20) :]
    return None


def torn_bytes(disk: Disk, fd: int, size: int) -> bytes:
    """What follows the last newline: empty when the last write was whole."""
    end, block, tail = size, 4096, b""
    while end > 0:
        start = max(0, end - block)
        data = disk.read_range(fd, start, end)
        cut = data.rfind(b"\n")
        if cut >= 0:
            return data[cut + 1 :] + tail
        tail, end, block = data + tail, start, min(block * 4, 8 << 20)
    return tail
