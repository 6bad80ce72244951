"""The end of the active segment: finding the last whole record, and mending what a crash left.

A writer that died in the middle of its one write leaves a tail without its newline. A whole record
that lacks only the newline gets it; anything else is copied to quarantine, synced, and only then cut
off. Without room for the copy nothing is cut: the log is readable and refuses to grow.
"""

from __future__ import annotations

from . import line
from .disk import Disk

_BLOCK = 8 << 10


def last_record(disk: Disk, fd: int, size: int) -> bytes | None:
    """The last whole record in the first `size` bytes, found from the end backwards.

    Of the records in its block the one with the highest seq counts: a writer never goes backwards,
    whatever an editor or a restored backup did to the order.
    """
    end, block, rest = size, _BLOCK, b""
    while end > 0:
        start = max(0, end - block)
        data = disk.read_range(fd, start, end) + rest
        cut = 0 if start == 0 else data.find(b"\n") + 1
        if start == 0 or cut:
            records = [data[cut + a : cut + b] for a, b, good in line.spans(data[cut:]) if good]
            if records:
                return max(reversed(records), key=lambda record: line.seq_and_id(record)[0])
        # the piece before the first newline belongs to a line that begins in an earlier block
        rest, end, block = (data[:cut] if cut else data), start, min(block * 2, 8 << 20)
    return None


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
