"""Things worked out of a shelf's rows and kept in step with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .rows import Floats, Look, Rows

Kind = TypeVar("Kind", bound=np.generic)

#: numbers read at once: as many as stay in a processor's cache
_BLOCK = 1 << 19


class Follower(ABC):
    """Takes in each row as it is on disk, once, and again when it changed.

    After `follow(through)` every row up to `through` that the file held at that moment is in.
    """

    def __init__(self, rows: Rows, dims: int) -> None:
        self._rows = rows
        self._step = max(1, _BLOCK // dims)
        self._seen: Look | None = None
        #: rows taken in so far
        self.taken = 0

    def follow(self, through: int) -> None:
        """Take in what is new."""
        look = self._rows.look()
        if self._seen is None or not look.goes_on_from(self._seen):
            self._seen, self.taken = None, 0
            self.forget()
        else:
            for start, stop in self._rows.touched(self._seen.changes, look.changes):
                self._read(start, min(stop, self.taken))
        self._read(self.taken, min(look.length, through))
        self._seen = look

    @abstractmethod
    def forget(self) -> None:
        """Begin anew: nothing taken in so far counts."""

    @abstractmethod
    def make_room(self, count: int) -> None:
        """So many rows are to be taken in, all told."""

    @abstractmethod
    def take(self, start: int, rows: Floats) -> None:
        """These rows are so now."""

    def _read(self, start: int, stop: int) -> None:
        if stop > self.taken:
            self.make_room(stop)
        for begin in range(start, stop, self._step):
            end = min(stop, begin + self._step)
            self.take(begin, self._rows.read(begin, end))
            self.taken = max(self.taken, end)


class Flags(Follower):
    """Which passages have a vector."""

    def forget(self) -> None:
        """None that we know of."""
        self._there = np.zeros(0, np.bool_)

    def make_room(self, count: int) -> None:
        """A flag for each."""
        self._there = roomy(self._there, count)

    def take(self, start: int, rows: Floats) -> None:
        """Note which of these rows are there."""
        self._there[start : start + len(rows)] = rows.any(axis=1)

    def upto(self, through: int) -> NDArray[np.bool_]:
        """A flag for each row known of 0 … `through`."""
        return self._there[: min(self.taken, through)]

    def missing(self, through: int, most: int) -> list[int]:
        """Numbers of passages that have no vector, newest first."""
        beyond = list(range(through, self.taken, -1)[:most])
        holes = np.flatnonzero(~self.upto(through))[::-1] + 1
        return beyond + [int(hole) for hole in holes[: most - len(beyond)]]


def roomy(kept: NDArray[Kind], count: int) -> NDArray[Kind]:
    """The same rows with room for `count`; where it grows, for twice as many as there were.

    Room that is not used yet takes addresses and no memory.
    """
    if count <= len(kept):
        return kept
    grown = np.zeros((max(count, 2 * len(kept)), *kept.shape[1:]), kept.dtype)
    grown[: len(kept)] = kept
    return grown
