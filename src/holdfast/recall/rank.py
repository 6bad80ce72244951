"""The last order: relevance, and a little for what is new, important and proved useful.

    final = relevance · (1 + a·recency + b·importance + c·usage),  a, b, c ≤ 0.15

so of two hits the clearly more relevant one always comes first. Profile `seed` adds instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
import numpy as np
from msgspec.structs import replace

from holdfast.model.memories import IMPORTANCE, UNUSED, Memory, Usage
from holdfast.model.recall import RecallSettings

from .gather import Candidate
from .score import Scored

_DAY = 86_400_000
#: so many hits of one conversation make each further one count less
_EARLIER = 4


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate with its place in the order."""

    candidate: Candidate
    #: the passage that is shown
    passage: int
    final: float
    relevance: float
    parts: dict[str, float]


def by_relevance(scored: Scored) -> list[int]:
    """The candidates, the most relevant first; ties by id."""
    return sorted(
        range(len(scored.candidates)),
        key=lambda n: (-scored.relevance[n], scored.candidates[n].document.id),
    )


def most(relevance: float, settings: RecallSettings) -> float:
    """What a hit of this relevance can reach at best."""
    if settings.profile == "seed":
        return 0.4 * relevance + 0.6
    return relevance * (1 + settings.recency + settings.importance + settings.usage)


def ranked(
    scored: Scored,
    places: list[int],
    memories: Mapping[str, Memory],
    usage: Mapping[str, Usage],
    settings: RecallSettings,
    now: int,
    *,
    broad: bool = False,
) -> list[Ranked]:
    """These candidates in their last order; ties by id."""
    made = []
    for n in places:
        candidate = scored.candidates[n]
        of = candidate.document.id
        memory = memories.get(of)
        bonuses = {
            "recency": recency(now - candidate.document.at, settings.recency_days),
            "importance": memory.importance if memory is not None else IMPORTANCE,
            "usage": usefulness(usage.get(of, UNUSED), settings),
        }
        relevance = float(scored.relevance[n])
        final, shares = _final(relevance, bonuses, settings)
        parts = {name: float(part[n]) for name, part in scored.parts.items() if part[n]}
        made.append(
            Ranked(
                candidate=candidate,
                passage=scored.best[n],
                final=final,
                relevance=relevance,
                parts={**parts, "relevance": relevance, **shares},
            )
        )
    order = sorted(made, key=lambda one: (-one.final, one.candidate.document.id))
    return _spread(order, settings.breadth) if broad else order


def _spread(order: list[Ranked], penalty: float) -> list[Ranked]:
    """Each further hit of one conversation counts less, so that several conversations are heard.

    After a few it counts no less: what comes late in a long one is still worth more than nothing.
    """
    waiting: dict[tuple[int, str], list[Ranked]] = {}
    for one in order:
        session = one.candidate.document.session or one.candidate.document.id
        waiting.setdefault((one.candidate.shelf, session), []).append(one)
    heard = [
        replace(
            one,
            final=one.final * math.exp(-penalty * min(earlier, _EARLIER)),
            parts={
                **one.parts,
                **({"breadth": -penalty * min(earlier, _EARLIER)} if earlier else {}),
            },
        )
        for of in waiting.values()
        for earlier, one in enumerate(of)
    ]
    return sorted(heard, key=lambda one: (-one.final, one.candidate.document.id))


def _final(
    relevance: float, bonuses: dict[str, float], settings: RecallSettings
) -> tuple[float, dict[str, float]]:
    if settings.profile == "seed":
        shares = {"recency": 0.3 * bonuses["recency"], "importance": 0.3 * bonuses["importance"]}
        return 0.4 * relevance + sum(shares.values()), shares
    weights = {
        "recency": settings.recency,
        "importance": settings.importance,
        "usage": settings.usage,
    }
    shares = {name: weights[name] * value for name, value in bonuses.items() if value}
    return relevance * (1 + sum(shares.values())), shares


def recency(age: float, days: float) -> float:
    """1 for what is new, a third after so many days; what lies ahead counts as new."""
    return math.exp(-max(age, 0) / _DAY / days)


def usefulness(usage: Usage, settings: RecallSettings) -> float:
    """-1 to 1: cited and useful raise it, wrong lowers it, being ignored again and again does too."""
    praise = usage.cited + 2 * usage.useful - 2 * usage.wrong
    ignored = max(0, usage.ignored - settings.usage_patience * (1 + usage.cited + usage.useful))
    return float(np.tanh(settings.usage_step * praise - settings.usage_ignored * ignored))
