"""Scores of candidates anew, from the parts that were written down.

A part is a weight of the settings times what was measured; with another weight it counts as much more or
less. Relevance is a share of one answer times the chance that there is one, so when one weight changes,
all candidates share anew. What was never measured, because its weight was zero, and what decided which
candidates there are, cannot be told from a record: `unknown` names it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from holdfast.model.packs import Weighed
from holdfast.model.recall import RecallSettings

Parts = Mapping[str, float]
#: parts of the log odds; all but one by the setting that weighs them
_ODDS = (
    *("lexical", "vector", "static", "following", "session", "letters"),
    *("speaker", "person", "date", "instruction", "preference", "length", "decision", "exact"),
)
_SHARES = ("recency", "importance", "usage")
#: the profile `seed` adds relevance and these, whatever the settings say
_SEED, _SEED_RELEVANCE = {"recency": 0.3, "importance": 0.3, "usage": 0.0}, 0.4
#: settings that are no weight and can be told from the parts nevertheless
_TOLD = frozenset(
    {"profile", "answer_among", "relevance_share", "answer_base", "confidence_base"}
    | {"confidence_spread", "breadth", "open_thread"}
)
#: settings that no context depends on: of recall alone, and of what is said afterwards
_ELSEWHERE = ("min_relevance", "cited_")
#: a chance is not told apart from none, or from certainty, by less than what is written down
_LEAST = 1e-6


def unknown(before: RecallSettings, after: RecallSettings) -> list[str]:
    """The settings whose change cannot be told from what was written down."""
    changed = [
        name
        for name in before.__struct_fields__
        if getattr(before, name) != getattr(after, name) and not name.startswith(_ELSEWHERE)
    ]
    was, now = _weights(before), _weights(after)
    unmeasured = {name for name in was if now[name] and not was[name]}
    known = _TOLD | {*_ODDS, *_SHARES}
    return sorted({name for name in changed if name not in known} | unmeasured)


def rescored(
    candidates: Sequence[Weighed],
    confidence: float,
    before: RecallSettings,
    after: RecallSettings,
) -> tuple[list[Weighed], float]:
    """The candidates and the confidence as they would have been; what recall did not find stays."""
    found = [one.parts for one in candidates if one.parts]
    if before == after or not found:
        return list(candidates), confidence
    was, now = _weights(before), _weights(after)
    weighed = [_weighed(parts, was, now) for parts in found]
    old, new = _Answer.of(found, before), _Answer.of(weighed, after)
    known = _odds(old.chance(found)) - before.answer_base
    made = iter(
        {**parts, "relevance": relevance}
        for parts, relevance in zip(
            weighed, new.relevance(_logistic(after.answer_base + known)), strict=True
        )
    )
    there = old.confidence(known)
    share = min(1.0, confidence * new.confidence(known) / there) if there else confidence
    return [_with(one, next(made), after) if one.parts else one for one in candidates], share


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What candidates say together: how one answer is shared among them."""

    settings: RecallSettings
    #: the log odds of each, and those without who is named
    scores: tuple[float, ...]
    unnamed: tuple[float, ...]

    @classmethod
    def of(cls, found: Sequence[Parts], settings: RecallSettings) -> _Answer:
        scores = tuple(sum(parts.get(name, 0.0) for name in (*_ODDS, "open")) for parts in found)
        named = zip(scores, found, strict=True)
        unnamed = tuple(score - parts.get("speaker", 0.0) for score, parts in named)
        return cls(settings=settings, scores=scores, unnamed=unnamed)

    def relevance(self, chance: float) -> list[float]:
        """Of each, when there is an answer with this chance."""
        base = self.settings.relevance_share - _log_sum(self._top())
        return [min(1.0, _logistic(base + score) * chance) for score in self.scores]

    def chance(self, found: Sequence[Parts]) -> float:
        """How likely it was that there is an answer at all, from the best one's relevance."""
        best = max(range(len(found)), key=lambda n: self.scores[n])
        share = self.relevance(1.0)[best]
        return min(1.0, found[best].get("relevance", 0.0) / share) if share else 0.0

    def confidence(self, known: float) -> float:
        """How likely the answer is among them, by what is known of the question."""
        top, settings = self._top(), self.settings
        shares = [math.exp(score - _log_sum(top)) for score in top]
        spread = -sum(share * math.log(share + 1e-12) for share in shares)
        there = _logistic(settings.confidence_base + known + settings.confidence_spread * spread)
        pairs = zip(self.scores, self.unnamed, strict=True)
        named = [one for score, one in pairs if score > one]
        return there * math.exp(_log_sum(named) - _log_sum(self.unnamed)) if named else there

    def _top(self) -> list[float]:
        return sorted(self.scores, reverse=True)[: self.settings.answer_among]


def _weights(settings: RecallSettings) -> dict[str, float]:
    """By the name of the part, what it is weighed with."""
    seed = settings.profile == "seed"
    shares = _SEED if seed else {name: getattr(settings, name) for name in _SHARES}
    odds = {name: getattr(settings, name) for name in _ODDS}
    return {**odds, **shares, "open": settings.open_thread, "breadth": settings.breadth}


def _weighed(parts: Parts, was: Mapping[str, float], now: Mapping[str, float]) -> Parts:
    made = {
        name: part * now[name] / was[name] if was.get(name) else part
        for name, part in parts.items()
    }
    return {name: part for name, part in made.items() if part}


def _with(one: Weighed, parts: Parts, settings: RecallSettings) -> Weighed:
    """A candidate with other parts, ranked by them."""
    bonus = sum(parts.get(name, 0.0) for name in _SHARES)
    relevance = parts["relevance"]
    seed = settings.profile == "seed"
    score = _SEED_RELEVANCE * relevance + bonus if seed else relevance * (1 + bonus)
    score *= math.exp(parts.get("breadth", 0.0))
    return replace(one, relevance=relevance, score=score, parts=dict(parts))


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, x))))


def _odds(chance: float) -> float:
    within = max(_LEAST, min(1 - _LEAST, chance))
    return math.log(within / (1 - within))


def _log_sum(values: Sequence[float]) -> float:
    most = max(values)
    return most + math.log(sum(math.exp(value - most) for value in values))
