"""How files look from outside: whether one may have changed is seen without reading it.

A file whose look is as it was holds the bytes it held, if the look is old enough: file systems tell the
time in steps, and within one of them a file can change twice.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

#: no file system that is in use has coarser steps, in nanoseconds
_STEP = 2_000_000_000


class Look(NamedTuple):
    """When a file was written and touched, in nanoseconds; its size; which file it is."""

    written: int
    touched: int
    size: int
    device: int
    node: int


def look_of(about: os.stat_result) -> Look:
    """The look of a file that was asked about."""
    return Look(about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_dev, about.st_ino)


def look_at(place: str) -> Look | None:
    """How a file looks now; None when it cannot be seen."""
    try:
        return look_of(os.stat(place))
    except (OSError, ValueError):
        return None


class Seen:
    """Files whose bytes were compared, by what they were compared with."""

    def __init__(self) -> None:
        self._sure: dict[str, tuple[str, Look]] = {}

    def note(self, place: str, of: str, look: Look) -> None:
        """A file that looked so, before it was read, holds what is known under that name."""
        if time.time_ns() - max(look.written, look.touched) > _STEP:
            self._sure[place] = (of, look)

    def holds(self, place: str, of: str) -> bool:
        """Does it still? Never said of a file that was not compared."""
        return place in self._sure and self._sure[place] == (of, look_at(place))


def untouched(place: str, written: int, size: int, read_at: int) -> bool:
    """Was a file written when it was, long enough before it was read? In microseconds."""
    look = look_at(place)
    told = look is not None and (look.written // 1000, look.size) == (written, size)
    return told and written + _STEP // 1000 < read_at
