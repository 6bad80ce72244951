"""Scores of candidates anew, from the parts that were written down.

A part is a weight of the settings times what was measured; with another weight it counts as much more or
less. What was not measured, because its weight was zero, stays unknown. Relevance is a share of one
answer, so when one weight changes, all candidates share anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from holdfast.model.packs import Weighed
from holdfast.model.recall import RecallSettings

#: parts by the setting that weighs them, where the names differ
_WEIGHED = {"open": "open_thread"}
_SHARES = ("recency", "importance", "usage")
_MADE = frozenset({"relevance", "breadth", *_SHARES})
Parts = Mapping[str, float]


def rescored(
    candidates: Sequence[Weighed], before: RecallSettings, after: RecallSettings
) -> list[Weighed]:
    """The candidates as they would have been scored; those recall did not find stay as they are."""
    found = [one for one in candidates if "relevance" in one.parts]
    made = iter(_shared([one.parts for one in found], before, after))
    return [_with(one, next(made)) if "relevance" in one.parts else one for one in candidates]


def _shared(found: Sequence[Parts], before: RecallSettings, after: RecallSettings) -> list[Parts]:
    """The parts of each as other settings would have made them."""
    if not found:
        return []
    new = [_score(parts, before, after) for parts in found]
    level = _log_sum(sorted(new, reverse=True)[: after.answer_among])
    there = _there(found, before)
    return [
        _made(
            parts, min(1.0, _logistic(after.relevance_share + score - level) * there), before, after
        )
        for parts, score in zip(found, new, strict=True)
    ]


def _score_of(parts: Parts) -> float:
    """What a candidate is ranked by."""
    bonus = 1 + sum(parts.get(name, 0.0) for name in _SHARES)
    return parts["relevance"] * bonus * math.exp(parts.get("breadth", 0.0))


def _score(parts: Parts, before: RecallSettings, after: RecallSettings) -> float:
    """The log odds of a candidate, its parts weighed anew."""
    total = 0.0
    for name, part in parts.items():
        if name not in _MADE:
            weight = _WEIGHED.get(name, name)
            was, now = getattr(before, weight), getattr(after, weight)
            total += part * now / was if was else part
    return total


def _there(found: Sequence[Parts], settings: RecallSettings) -> float:
    """How likely it was that there is an answer at all, from the best candidate's relevance."""
    scores = [_score(parts, settings, settings) for parts in found]
    level = _log_sum(sorted(scores, reverse=True)[: settings.answer_among])
    best = max(range(len(found)), key=lambda n: scores[n])
    share = _logistic(settings.relevance_share + scores[best] - level)
    return min(1.0, found[best]["relevance"] / share) if share else 0.0


def _made(parts: Parts, relevance: float, before: RecallSettings, after: RecallSettings) -> Parts:
    shares = {}
    for name in _SHARES:
        was, now = getattr(before, name), getattr(after, name)
        shares[name] = parts.get(name, 0.0) * (now / was if was else 1.0)
    return {**parts, "relevance": relevance, **{n: v for n, v in shares.items() if v}}


def _with(one: Weighed, parts: Parts) -> Weighed:
    return replace(one, relevance=parts["relevance"], score=_score_of(parts), parts=dict(parts))


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, x))))


def _log_sum(values: Sequence[float]) -> float:
    most = max(values)
    return most + math.log(sum(math.exp(value - most) for value in values))
