"""Packing: of everything offered the most valuable that fits, each at one level of detail or not at all.

Sections have caps of their own and one cap together. Each offer lies in one section, so the sections are
packed one by one for every size up to their cap, and the best division between them is looked up: the
answer is the optimum, and more room never makes it worth less. In a very large budget sizes are counted
in steps of a few tokens, rounded up, so an answer always fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: sizes that are told apart; a budget of more tokens is counted in steps
_SIZES = 16_384


class Choice(msgspec.Struct, frozen=True):
    """One way of showing something: what it takes and what it is worth."""

    tokens: int
    value: float


class Offer(msgspec.Struct, frozen=True):
    """Something that may be shown in a section, in one of several ways."""

    section: str
    choices: tuple[Choice, ...]


def packed(offers: Sequence[Offer], caps: Mapping[str, int], total: int) -> list[int | None]:
    """For each offer the place of its choice, None where it is left out."""
    everything = [_most_valuable(offer) for offer in offers]
    if _fits(offers, everything, caps, total):
        return everything
    step = max(1, -(-total // _SIZES))
    room = max(0, total) // step
    names = [name for name in caps if any(offer.section == name for offer in offers)]
    worth: list[NDArray[np.float64]] = []
    filled: list[_Section] = []
    for name in names:
        section = _Section(
            [n for n, offer in enumerate(offers) if offer.section == name],
            offers,
            min(room, max(0, caps[name]) // step),
            step,
        )
        filled.append(section)
        worth.append(section.best)
    chosen: list[int | None] = [None] * len(offers)
    for section, size in zip(filled, _divided(worth, room), strict=True):
        for place, choice in section.taken(size):
            chosen[place] = choice
    return chosen


def _most_valuable(offer: Offer) -> int | None:
    best = max(range(len(offer.choices)), key=lambda n: offer.choices[n].value, default=None)
    return None if best is None or offer.choices[best].value <= 0 else best


def _fits(
    offers: Sequence[Offer], chosen: Sequence[int | None], caps: Mapping[str, int], total: int
) -> bool:
    """Is there room for all of this?"""
    taken = dict.fromkeys(caps, 0)
    for offer, n in zip(offers, chosen, strict=True):
        if n is not None and offer.section not in caps:
            return False
        if n is not None:
            taken[offer.section] += offer.choices[n].tokens
    within = all(taken[name] <= max(0, cap) for name, cap in caps.items())
    return within and sum(taken.values()) <= max(0, total)


class _Section:
    """The best of one section for every size up to its cap."""

    def __init__(self, places: Sequence[int], offers: Sequence[Offer], cap: int, step: int) -> None:
        import numpy as np

        self._places = places
        self._tokens = [[-(-c.tokens // step) for c in offers[n].choices] for n in places]
        self._taken = np.full((len(places), cap + 1), -1, np.int8)
        best = np.zeros(cap + 1)
        for row, (place, sizes) in enumerate(zip(places, self._tokens, strict=True)):
            without = best.copy()
            for choice, size in enumerate(sizes):
                value = offers[place].choices[choice].value
                if size > cap or value <= 0:
                    continue
                with_it = without[: cap + 1 - size] + value
                better = with_it > best[size:]
                best[size:][better] = with_it[better]
                self._taken[row, size:][better] = choice
        self.best = best

    def taken(self, size: int) -> list[tuple[int, int]]:
        """What makes up the best of a size."""
        found = []
        for row in range(len(self._places) - 1, -1, -1):
            choice = int(self._taken[row, size])
            if choice >= 0:
                found.append((self._places[row], choice))
                size -= self._tokens[row][choice]
        return found


def _divided(worth: Sequence[NDArray[np.float64]], room: int) -> list[int]:
    """The size of each section that makes the whole worth most."""
    import numpy as np

    if not worth:
        return []
    *others, last = worth
    if not others:
        return [len(last) - 1]
    rest = others[0]
    tables: list[NDArray[np.int64]] = []
    for one in others[1:]:
        rest, table = _both(rest, one, room)
        tables.append(table)
    sizes = np.arange(min(room, len(last) - 1) + 1)
    left = np.minimum(room - sizes, len(rest) - 1)
    size = int(np.argmax(rest[left] + last[sizes]))
    found, left_over = [size], int(left[size])
    for table in reversed(tables):
        found.append(int(table[left_over]))
        left_over -= found[-1]
    return [left_over, *reversed(found)]


def _both(
    one: NDArray[np.float64], other: NDArray[np.float64], room: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The best of two sections together for every size, and how much of it is the other's."""
    import numpy as np

    length = min(room, len(one) + len(other) - 2) + 1
    best, table = np.full(length, -1.0), np.zeros(length, np.int64)
    for size in range(min(len(other), length)):
        end = min(length, size + len(one))
        with_it = one[: end - size] + other[size]
        better = with_it > best[size:end]
        best[size:end][better] = with_it[better]
        table[size:end][better] = size
    return best, table
