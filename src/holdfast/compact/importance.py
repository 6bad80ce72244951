"""What an item is worth, and so how warm it is.

    importance = weight · exp(-days since it was saved or loaded / τ) · (1 + ln(1 + accesses) / 10)

between 0 and 1. It never rises while nobody touches an item and never falls because somebody loads it.
"""

from __future__ import annotations

import math
from datetime import datetime

from holdfast.model.compact import ItemSettings, type_weight
from holdfast.model.items import ContextItem, Tier

_DAY = 86_400
#: as exact as scores are written down, so that a tier agrees with the score beside it
_DIGITS = 6


def importance(weight: float, days: float, accesses: int, settings: ItemSettings) -> float:
    """What something of this weight is worth after so many days without, and so many, accesses."""
    faded = math.exp(-max(days, 0.0) / settings.decay_days)
    boost = 1 + math.log1p(max(accesses, 0)) / 10
    return round(min(max(weight * faded * boost, 0.0), 1.0), _DIGITS)


def tier_of(score: float, settings: ItemSettings, *, pinned: bool = False) -> Tier:
    """How warm something of this score is; what is pinned is hot."""
    if pinned or score >= settings.hot:
        return "HOT"
    return "WARM" if score >= settings.warm else "COLD"


def score_of(item: ContextItem, now: str, settings: ItemSettings) -> float:
    """What an item is worth at a time; the caller's own score counts in place of its type's."""
    own = item.importance
    weight = type_weight(item.type, settings) if own is None else own
    return importance(
        weight, days_between(item.touched_by(now) or now, now), item.accesses, settings
    )


def days_between(then: str, now: str) -> float:
    """The days from a time to another; none where one of them is no time, or they are out of order."""
    try:
        passed = datetime.fromisoformat(now) - datetime.fromisoformat(then)
    except (ValueError, TypeError):
        return 0.0
    return max(passed.total_seconds() / _DAY, 0.0)
