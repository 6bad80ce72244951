"""What of an answer goes into so many tokens: the hits that give the most for their length."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from holdfast.model.recall import Hit


def fitted(hits: Sequence[Hit], tokens: int, count: Callable[[str], int]) -> list[Hit]:
    """The hits that fit, in the order of the answer; dense ones are taken before long ones."""
    cost = {hit.id: max(1, count(hit.text)) for hit in hits}
    dense = sorted(hits, key=lambda hit: (math.log(cost[hit.id]) - _worth(hit), hit.id))
    taken: set[str] = set()
    left = tokens
    for hit in dense:
        if cost[hit.id] <= left:
            left -= cost[hit.id]
            taken.add(hit.id)
    return [hit for hit in hits if hit.id in taken]


def _worth(hit: Hit) -> float:
    return math.log(max(hit.score, 1e-300))
