"""Vectors in memory: what Vectors means, written as it is said, one passage at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import Invalid

_SHRINK = 50


class MemoryVectors:
    """One embedder's vectors, as long as the process lives."""

    def __init__(self, dims: int) -> None:
        self._dims = dims
        self._edition: str | None = None
        self._kept: dict[int, dict[int, NDArray[np.float64]]] = {}
        self._ends: dict[int, int] = {}

    def begin(self, edition: str) -> None:
        """Use this edition; what is kept of another goes."""
        if edition != self._edition:
            self._kept, self._ends = {}, {}
        self._edition = edition

    def use(self, edition: str) -> None:
        """Use this edition; only one is kept here."""
        self.begin(edition)

    def put(self, shelf: int, first: int, rows: NDArray[np.float32]) -> None:
        """Keep the vectors of passages `first`, `first` + 1, …"""
        self.set(shelf, range(first, first + len(rows)), rows)

    def set(self, shelf: int, numbers: Sequence[int], rows: NDArray[np.float32]) -> None:
        """Keep the vectors of these passages."""
        kept, given = self._shelf(shelf), np.asarray(rows, np.float64)
        if given.shape != (len(numbers), self._dims) or min(numbers, default=1) < 1:
            raise Invalid("these vectors do not fit these passages")
        self._ends[shelf] = max(self._ends.get(shelf, 0), *numbers, 0)
        for number, row in zip(numbers, given, strict=True):
            kept.pop(int(number), None)
            if (unit := _unit(row)) is not None:
                kept[int(number)] = np.asarray(unit, np.float16).astype(np.float64)

    def missing(self, shelf: int, through: int, most: int) -> list[int]:
        """Passages that have no vector, newest first."""
        kept = self._shelf(shelf)
        return [number for number in range(through, 0, -1) if number not in kept][:most]

    def nearest(
        self, shelf: int, query: NDArray[np.float32], most: int, through: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The most similar passages, the best first."""
        numbers = sorted(number for number in self._shelf(shelf) if number <= through)
        found = self.similar(shelf, query, numbers, through)
        ranked = sorted(zip(-found, numbers, strict=True)) if not np.isnan(found).any() else []
        best = ranked[: max(0, most)]
        return (
            np.array([number for _, number in best], np.int64),
            np.array([-below for below, _ in best], np.float32),
        )

    def similar(
        self,
        shelf: int,
        query: NDArray[np.float32],
        numbers: Sequence[int] | NDArray[np.int64],
        through: int | None = None,
    ) -> NDArray[np.float32]:
        """How similar these passages are; nan where there is no vector."""
        kept, asked = self._shelf(shelf), np.asarray(query, np.float64)
        if asked.shape != (self._dims,):
            raise Invalid("this is no query of as many numbers")
        limit = self._ends.get(shelf, 0) if through is None else through
        mean, direction = self._mean(kept, limit), _unit(asked)
        found = np.full(len(numbers), np.nan, np.float32)
        for at, number in enumerate(numbers):
            if direction is not None and number in kept and number <= limit:
                found[at] = _cosine(kept[int(number)] - mean, direction - mean)
        return found

    def close(self) -> None:
        """Nothing to let go of."""

    def _shelf(self, number: int) -> dict[int, NDArray[np.float64]]:
        if self._edition is None:
            raise Invalid("no edition of vectors was begun")
        return self._kept.setdefault(number, {})

    def _mean(self, kept: dict[int, NDArray[np.float64]], through: int) -> NDArray[np.float64]:
        first = sorted(number for number in kept if number <= _power_of_two(through))
        last = first[len(first) - _power_of_two(len(first)) :]
        total = np.zeros(self._dims)
        for number in last:
            total += kept[number]
        return total / (len(last) + _SHRINK)


def _power_of_two(most: int) -> int:
    """The largest power of two that is at most this; 0 when none is."""
    return 1 << (most.bit_length() - 1) if most > 0 else 0


def _unit(row: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The row at unit length, in single precision; None when it has no direction."""
    largest = np.max(np.abs(row), initial=0.0)
    if not np.isfinite(largest) or largest == 0:
        return None
    scaled = row / largest
    return np.asarray(scaled / np.sqrt((scaled * scaled).sum()), np.float32).astype(np.float64)


def _cosine(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    lengths = np.sqrt((one * one).sum()) * np.sqrt((other * other).sum())
    return float((one * other).sum() / lengths) if lengths > 0 else 0.0
