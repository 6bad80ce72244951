"""How well a budget is packed: beside the optimum, found in another way, and beside a greedy choice."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.measures import SEED, mean
from holdfast.compose.packing import Choice, Offer, packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    #: sizes that go up, and what each is worth, going up too
    Frontier = tuple[NDArray[np.int64], NDArray[np.float64]]

#: what each level is worth beside the full text; it takes about the square of that
_KEPT = (1.0, 0.7, 0.45, 0.15)


def packing(count: int = 300) -> dict[str, Any]:
    """What is chosen and what a greedy one takes, of the optimum, over made-up offers."""
    chance = random.Random(SEED)
    ours, theirs = [], []
    for _ in range(count):
        offers, caps, total = _instance(chance)
        best = optimum(offers, caps, total) or 1.0
        ours.append(worth(offers, packed(offers, caps, total)) / best)
        theirs.append(greedy(offers, caps, total) / best)
    return {
        "what": f"{count} instances",
        "chosen / optimum, mean": round(mean(ours), 6),
        "chosen / optimum, worst": round(min(ours), 6),
        "greedy / optimum, mean": round(mean(theirs), 6),
        "greedy / optimum, worst": round(min(theirs), 6),
    }


def _instance(chance: random.Random) -> tuple[list[Offer], dict[str, int], int]:
    """Offers as contexts have them: few are worth much, each at four levels."""
    offers = []
    for _ in range(chance.randint(5, 120)):
        tokens, value = chance.randint(8, 400), chance.random() ** 4
        steps = tuple(Choice(max(6, round(tokens * keep**2)), value * keep) for keep in _KEPT)
        offers.append(Offer(chance.choice(("critical", "relevant")), steps))
    total = chance.choice((500, 2_000, 5_000))
    return offers, {"critical": total * 3 // 5, "relevant": total * 9 // 10}, total


def worth(offers: Sequence[Offer], chosen: Sequence[int | None]) -> float:
    """The value of a choice."""
    pairs = zip(offers, chosen, strict=True)
    return sum(offer.choices[n].value for offer, n in pairs if n is not None)


# ---- the optimum ---------------------------------------------------------------------------------


def optimum(offers: Sequence[Offer], caps: Mapping[str, int], total: int) -> float:
    """What the best that fits is worth, exactly: only choices that no other one beats are kept."""
    room = max(0, total)
    sections = [
        _section([offer for offer in offers if offer.section == name], max(0, min(cap, room)))
        for name, cap in caps.items()
    ]
    *others, (tokens, values) = sections or [_nothing()]
    together = _nothing()
    for one in others:
        sizes, sums = (np.add.outer(*both).ravel() for both in zip(together, one, strict=True))
        together = _undominated(sizes, sums, room)
    at = np.searchsorted(tokens, room - together[0], side="right") - 1
    return float(np.max(together[1] + values[at]))


def _section(offers: Sequence[Offer], cap: int) -> Frontier:
    tokens, values = _nothing()
    for offer in offers:
        choices = (Choice(0, 0.0), *offer.choices)
        tokens, values = _undominated(
            np.concatenate([tokens + one.tokens for one in choices]),
            np.concatenate([values + one.value for one in choices]),
            cap,
        )
    return tokens, values


def _nothing() -> Frontier:
    return np.zeros(1, np.int64), np.zeros(1)


def _undominated(tokens: NDArray[np.int64], values: NDArray[np.float64], most: int) -> Frontier:
    """What fits and is worth more than all that takes no more tokens."""
    fits = tokens <= most
    tokens, values = tokens[fits], values[fits]
    order = np.lexsort((-values, tokens))
    tokens, values = tokens[order], values[order]
    better = np.append(True, values[1:] > np.maximum.accumulate(values)[:-1])
    return tokens[better], values[better]


# ---- greedy --------------------------------------------------------------------------------------

#: how little it adds for each token, which offer, which level, and which it takes the place of
_Step = tuple[float, int, int, int]
_LEFT_OUT = -1


def greedy(offers: Sequence[Offer], caps: Mapping[str, int], total: int) -> float:
    """Step by step what adds most for each token and fits: a further offer, or a better level of one."""
    left, taken = dict(caps), [_LEFT_OUT for _ in offers]
    steps = [step for place, offer in enumerate(offers) for step in _steps(offer, place, _LEFT_OUT)]
    heapq.heapify(steps)
    while steps:
        _, place, level, before = heapq.heappop(steps)
        offer = offers[place]
        more = offer.choices[level].tokens - _at(offer, before).tokens
        if taken[place] != before or more > min(total, left[offer.section]):
            continue
        total -= more
        left[offer.section] -= more
        taken[place] = level
        for step in _steps(offer, place, level):
            heapq.heappush(steps, step)
    return worth(offers, [None if level == _LEFT_OUT else level for level in taken])


def _steps(offer: Offer, place: int, before: int) -> Iterator[_Step]:
    """Every way to show more of something than is shown of it."""
    now = _at(offer, before)
    for level, choice in enumerate(offer.choices):
        if choice.value > now.value:
            more = max(1, choice.tokens - now.tokens)
            yield -(choice.value - now.value) / more, place, level, before


def _at(offer: Offer, level: int) -> Choice:
    return Choice(0, 0.0) if level == _LEFT_OUT else offer.choices[level]
