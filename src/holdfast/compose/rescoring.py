"""Scores of recorded candidates under other settings, from the parts that were written down.

A part is a weight of the settings times what was measured; with another weight it counts as much more or
less. What was not measured, because its weight was zero, stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.model.packs import Weighed
from holdfast.model.recall import RecallSettings

#: parts by the setting that weighs them, where the names differ
_WEIGHED = {"open": "open_thread"}
_SHARES = ("recency", "importance", "usage")
_MADE = frozenset({"relevance", "breadth", *_SHARES})


def rescored(
    candidates: Sequence[Weighed], before: RecallSettings, after: RecallSettings
) -> list[Weighed]:
    """The candidates as they would have been scored; those recall did not find stay as they are."""
    found = [one for one in candidates if "relevance" in one.parts]
    if not found:
        return list(candidates)
    old = [_score(one, before, before) for one in found]
    new = [_score(one, before, after) for one in found]
    there = _there(found, old, before)
    level = _log_sum(sorted(new, reverse=True)[: after.answer_among])
    made = iter(
        [
            _with(
                one,
                min(1.0, _logistic(after.relevance_share + score - level) * there),
                before,
                after,
            )
            for one, score in zip(found, new, strict=True)
        ]
    )
    return [next(made) if "relevance" in one.parts else one for one in candidates]


def _score(one: Weighed, before: RecallSettings, after: RecallSettings) -> float:
    """The log odds of a candidate, its parts weighed anew."""
    total = 0.0
    for name, part in one.parts.items():
        if name not in _MADE:
            weight = _WEIGHED.get(name, name)
            was, now = getattr(before, weight), getattr(after, weight)
            total += part * now / was if was else part
    return total


def _there(found: Sequence[Weighed], scores: Sequence[float], settings: RecallSettings) -> float:
    """How likely it was that there is an answer at all, from the best candidate's relevance."""
    level = _log_sum(sorted(scores, reverse=True)[: settings.answer_among])
    best = max(range(len(found)), key=lambda n: scores[n])
    share = _logistic(settings.relevance_share + scores[best] - level)
    return min(1.0, found[best].relevance / share) if share else 0.0


def _with(one: Weighed, relevance: float, before: RecallSettings, after: RecallSettings) -> Weighed:
    shares = {}
    for name in _SHARES:
        was, now = getattr(before, name), getattr(after, name)
        shares[name] = one.parts.get(name, 0.0) * (now / was if was else 1.0)
    parts = {**one.parts, "relevance": relevance, **{n: v for n, v in shares.items() if v}}
    spread = math.exp(one.parts.get("breadth", 0.0))
    score = relevance * (1 + sum(shares.values())) * spread
    return replace(one, relevance=relevance, score=score, parts=parts)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, x))))


def _log_sum(values: Sequence[float]) -> float:
    most = max(values)
    return most + math.log(sum(math.exp(value - most) for value in values))
