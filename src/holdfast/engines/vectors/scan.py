"""The nearest passages of one shelf: a matrix in memory finds candidates, the rows on disk settle them.

The matrix holds each row centred and at unit length, so finding candidates is one product. Up to a
number of rows it holds them whole, and the candidates are certain to include the answer. Beyond that it
holds them along the few directions in which the rows differ most, and many candidates are taken. Either
way similarity is worked out anew from the rows themselves, the same for each row whoever asks: so the
answer does not depend on how a product of matrices was split up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .follow import Flags, Follower, roomy
from .rows import Floats, Rows

Wide = NDArray[np.float64]
Places = NDArray[np.int64]

#: how many vectors of nothing the mean includes, so that a few passages do not make one
_SHRINK = 50
#: directions kept of each row beyond `exact_most`, and candidates read from disk. Of a million real
#: passages 64 and 4,000 find 96.1 % of the ten nearest and 87 % of the hundred, 96 and 4,000 find
#: 99.7 % and 97 %, 128 and 4,000 99.97 % and 99.6 % for half as much memory and time again
_DIRECTIONS = 96
_CANDIDATES = 4_000
#: rows whose directions of greatest difference are taken for those of all
_SAMPLE = 20_000
#: a product of unit vectors in float32 is nearer to the truth than this
_BLUR = 1e-5
#: of rows that lie closer together than that, so many are settled
_ALIKE = 4_096
#: one score of so many tells roughly where the high ones begin
_STRIDE = 64


class Scan(Follower):
    """One shelf's matrix, right for one mean; made anew when the mean is another."""

    def __init__(self, rows: Rows, dims: int, flags: Flags, exact_most: int) -> None:
        super().__init__(rows, dims)
        self._dims, self._flags, self._exact_most = dims, flags, exact_most
        self._base = (0, 0)
        self._narrow = self._outdated = False
        self._mean: Wide = np.zeros(dims)
        self._directions: Floats | None = None
        self._matrix: Floats = np.zeros((0, dims), np.float32)

    @property
    def size(self) -> int:
        """Bytes of memory in use."""
        return self._matrix[: self.taken].nbytes

    def nearest(self, query: Wide, most: int, through: int) -> tuple[Places, Floats]:
        """Places of the most similar rows and their similarity, the best first."""
        direction = self._ready(query, through)
        there = self._flags.upto(min(through, self.taken))
        if direction is None or not len(there) or most < 1:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        places, rows = self._candidates(direction, there, most)
        found = self._settled(rows, direction)
        order = np.lexsort((places, -found))[: min(most, int(np.count_nonzero(found == found)))]
        return places[order], found[order]

    def similar(self, query: Wide, places: Places, through: int) -> Floats:
        """The similarity of these rows; nan where there is none."""
        direction = self._ready(query, through)
        found = np.full(len(places), np.nan, np.float32)
        inside = (places >= 0) & (places < through)
        if direction is not None:
            found[inside] = self._settled(self._rows.pick(places[inside]), direction)
        return found

    def forget(self) -> None:
        """Work out the mean, and the directions if rows are to be kept along them."""
        low, high = self._base
        total = np.zeros(self._dims)
        for begin in range(low, high, self._step):
            total += self._rows.read(begin, min(high, begin + self._step)).sum(0, np.float64)
        there = int(np.count_nonzero(self._flags.upto(high)[low:]))
        self._mean = total / (there + _SHRINK)
        self._directions = self._principal(low, high) if self._narrow else None
        self._matrix = self._along(np.zeros((0, self._dims), np.float32))
        self._outdated = False

    def make_room(self, count: int) -> None:
        """A row for each."""
        self._matrix = roomy(self._matrix, count)

    def take(self, start: int, rows: Floats) -> None:
        """Put these rows into the matrix; note when they were part of the mean."""
        stop = start + len(rows)
        before = self._matrix[start : min(stop, self.taken)]
        now = self._along(self._centred(rows))
        low, high = self._base
        if start < high and stop > low and start < self.taken:
            self._outdated = self._outdated or not np.array_equal(before, now)
        self._matrix[start:stop] = now

    def _ready(self, query: Wide, through: int) -> Wide | None:
        """Everything as it is on disk; the direction of the query from the mean, if it has one."""
        self._flags.follow(through)
        base, narrow = mean_of(self._flags.upto(through), through), through > self._exact_most
        if (base, narrow) != (self._base, self._narrow):
            self._base, self._narrow, self._seen = base, narrow, None
        self.follow(through)
        if self._outdated:
            self._seen = None
            self.follow(through)
        if not query.any():
            return None
        away = query - self._mean
        return away / (np.sqrt(away @ away) or 1.0)

    def _candidates(
        self, direction: Wide, there: NDArray[np.bool_], most: int
    ) -> tuple[Places, Floats]:
        """Rows among which the nearest are, and where they are."""
        asked = direction.astype(np.float32)
        scores = self._matrix[: len(there)] @ self._along(asked[None])[0]
        if not there.all():
            scores[~there] = -np.inf
        places = leading(scores, max(most, _CANDIDATES) if self._narrow else most)
        rows = self._rows.pick(places)
        if self._narrow:
            nearest = leading(self._centred(rows) @ asked, most)
            places, rows = places[nearest], rows[nearest]
        return places, rows

    def _settled(self, rows: Floats, direction: Wide) -> Floats:
        """The similarity of each row by itself; nan where it is none."""
        away = rows.astype(np.float64) - self._mean
        lengths = np.sqrt((away * away).sum(axis=1))
        found = (away * direction).sum(axis=1) / np.where(lengths > 0, lengths, 1.0)
        found[~rows.any(axis=1)] = np.nan
        return np.asarray(found, np.float32)

    def _centred(self, rows: Floats) -> Floats:
        away = rows - self._mean.astype(np.float32)
        away[~rows.any(axis=1)] = 0.0
        lengths = np.sqrt(np.einsum("ij,ij->i", away, away))
        away /= np.where(lengths > 0, lengths, 1.0)[:, None]
        return away

    def _along(self, rows: Floats) -> Floats:
        return rows if self._directions is None else rows @ self._directions

    def _principal(self, low: int, high: int) -> Floats:
        """The directions in which an even sample of the mean's rows differs most."""
        places = np.arange(low, high, max(1, -(-(high - low) // _SAMPLE)))
        sample = self._centred(self._rows.pick(places)).astype(np.float64)
        _, vectors = np.linalg.eigh(sample.T @ sample)
        return np.ascontiguousarray(vectors[:, ::-1][:, :_DIRECTIONS], np.float32)


def mean_of(there: NDArray[np.bool_], through: int) -> tuple[int, int]:
    """The range of rows whose vectors make the mean.

    With P the largest power of two that is at most `through`, and C the largest that is at most the
    number of vectors among the first P rows: the C last of those. Rows added at the end, and older
    rows filled in from the newest down, leave it as it is until one of the two doubles.
    """
    if through < 1:
        return 0, 0
    first = there[: 1 << (through.bit_length() - 1)]
    known = np.flatnonzero(first)
    if not len(known):
        return 0, 0
    return int(known[-(1 << (len(known).bit_length() - 1))]), int(known[-1]) + 1


def leading(scores: Floats, count: int) -> Places:
    """Where the highest scores are, in no order: those `count`, and all that may really be higher."""
    last = _at_rank(scores, count)
    if last == -np.inf:
        return np.flatnonzero(scores > -np.inf)
    maybe = np.flatnonzero(scores >= last - _BLUR)
    if len(maybe) <= count + _ALIKE:
        return maybe
    sure = scores[maybe] > last + _BLUR
    return np.concatenate((maybe[sure], maybe[~sure][:_ALIKE]))


def _at_rank(scores: Floats, count: int) -> float:
    """The score that `count` scores reach; minus infinity when there are not so many."""
    if count >= len(scores):
        return -np.inf
    some, rank = scores[::_STRIDE], 2 * count // _STRIDE + 8
    if rank < len(some):
        high = scores[scores >= np.partition(some, len(some) - rank)[len(some) - rank]]
        scores = high if len(high) >= count else scores
    return float(np.partition(scores, len(scores) - count)[len(scores) - count])
