"""What a ranking is worth: pure functions over places, numbers and labels, then over whole answers.

A ranking is a sequence of places, best first; a place that stands for nothing known is negative and
takes its rank like any other. Gold is never empty where a share of it is asked for: a question without
gold has no recall, and whoever averages leaves it out. Every share lies in 0..1.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from bench.data import UPDATES, Question

SEED = 20_261_116
_RESAMPLES = 2_000


def mean(values: Sequence[float]) -> float:
    """The plain average; nan of nothing."""
    return sum(values) / len(values) if values else math.nan


def share(found: Iterable[int], gold: Sequence[int]) -> float:
    """How much of the gold is there."""
    return len(set(gold).intersection(found)) / len(gold)


def recall_at(ranked: Sequence[int], gold: Sequence[int], k: int) -> float:
    """How much of the gold is among the first k."""
    return share(ranked[:k], gold)


def ndcg_at(ranked: Sequence[int], gold: Sequence[int], k: int) -> float:
    """Normalised discounted cumulative gain, each gold turn worth one, and only once."""
    wanted, gain = set(gold), 0.0
    for rank, place in enumerate(ranked[:k]):
        if place in wanted:
            wanted.remove(place)
            gain += _discount(rank)
    return gain / sum(_discount(rank) for rank in range(min(len(gold), k)))


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 2)


def in_order(places: Sequence[int], tokens: Sequence[int], budget: int) -> tuple[int, ...]:
    """The first of a ranking that together take no more than the budget, none skipped."""
    sums = accumulate(tokens)
    return tuple(p for p, total in zip(places, sums, strict=True) if total <= budget)


def latest_first(ranked: Sequence[int], gold: Sequence[int]) -> bool:
    """Is the last of several statements found, and above every one before it?"""
    *earlier, latest = sorted(gold)
    met = next((place for place in ranked if place in gold), None)
    return bool(earlier) and met == latest


def smallest(budgets: Iterable[int], value: Callable[[int], float], goal: float) -> int | None:
    """The first budget whose value reaches the goal; None when none does."""
    return next((budget for budget in budgets if value(budget) >= goal), None)


def calibration_error(predicted: Sequence[float], labels: Sequence[bool], bins: int = 10) -> float:
    """Expected calibration error: how far what was promised is from what held, over equal bins."""
    filled: dict[int, list[tuple[float, bool]]] = {}
    for value, label in zip(predicted, labels, strict=True):
        filled.setdefault(min(int(value * bins), bins - 1), []).append((value, label))
    gaps = (abs(sum(v for v, _ in one) - sum(held for _, held in one)) for one in filled.values())
    return sum(gaps) / len(predicted) if predicted else math.nan


def precision_above(
    predicted: Sequence[float], labels: Sequence[bool], threshold: float
) -> tuple[float, int]:
    """Of what a threshold lets through, the share that is right, and how many that are."""
    passed = [held for value, held in zip(predicted, labels, strict=True) if value >= threshold]
    return mean([float(held) for held in passed]), len(passed)


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """The chance that a positive scores above a negative; a tie counts half."""
    if not positives or not negatives:
        return math.nan
    scored = sorted([(value, 1) for value in positives] + [(value, 0) for value in negatives])
    won, below, at = 0.0, 0, 0
    while at < len(scored):
        end, value = at, scored[at][0]
        while end < len(scored) and scored[end][0] == value:
            end += 1
        above = sum(label for _, label in scored[at:end])
        tied = end - at - above
        won += above * (below + tied / 2)
        below, at = below + tied, end
    return won / (len(positives) * len(negatives))


def percentile(values: Sequence[float], percent: float) -> float:
    """The value so far up the sorted list, between two neighbours in proportion; nan of nothing."""
    if not values:
        return math.nan
    ordered = sorted(values)
    spot = (len(ordered) - 1) * percent / 100
    low, high = ordered[math.floor(spot)], ordered[math.ceil(spot)]
    return low + (high - low) * (spot - math.floor(spot))


def interval(groups: Mapping[str, Sequence[float]], seed: int = SEED) -> tuple[float, float]:
    """95 % interval of the average over all values, whole groups drawn with replacement.

    Questions about one conversation stand and fall together, so the conversation is what is drawn. Two
    values of the same groups and seed are drawn alike and may be compared.
    """
    sums = [(sum(values), len(values)) for values in groups.values() if values]
    if not sums:
        return math.nan, math.nan
    dice = random.Random(seed)
    means = []
    for _ in range(_RESAMPLES):
        drawn = dice.choices(sums, k=len(sums))
        means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    return percentile(means, 2.5), percentile(means, 97.5)


# ---- answers -----------------------------------------------------------------------------------

#: hits beyond these are not looked at where relevance is judged
TOP = 20
THRESHOLDS = (0.05, 0.15, 0.3)
BUDGETS = range(100, 8_001, 100)
NAMES = ("R@5", "R@10", "R@20", "nDCG@10", "R≤2k", "R≤4k", "rank≤2k", "rank≤4k")
#: by conversation, in the order its questions were asked
Answers = Mapping[str, Sequence["Answer"]]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One question, and what one method made of it."""

    question: Question
    #: what was found, best first: the place, the tokens of what would be shown, and its relevance
    places: tuple[int, ...]
    tokens: tuple[int, ...]
    relevance: tuple[float, ...] = ()
    #: how sure the method is of the whole; None when it does not say
    confidence: float | None = None
    #: the places that would be injected into so many tokens
    inject: Callable[[int], tuple[int, ...]]
    seconds: float = 0.0


def values(answer: Answer) -> dict[str, float]:
    """Every measure of one question that has gold."""
    ranked, gold = answer.places, answer.question.gold
    return dict(
        zip(
            NAMES,
            (
                *(recall_at(ranked, gold, k) for k in (5, 10, 20)),
                ndcg_at(ranked, gold, 10),
                *(share(answer.inject(budget), gold) for budget in (2_000, 4_000)),
                *(share(in_order(ranked, answer.tokens, b), gold) for b in (2_000, 4_000)),
            ),
            strict=True,
        )
    )


def averages(answers: Answers, groups: Mapping[str, frozenset[str]]) -> dict[str, dict[str, Any]]:
    """For each group of categories: n, the mean of every measure, and its interval."""
    judged = {
        name: [(one.question.category, values(one)) for one in asked if one.question.gold]
        for name, asked in answers.items()
    }
    found = {}
    for label, categories in groups.items():
        chosen = {
            name: [value for category, value in asked if category in categories]
            for name, asked in judged.items()
        }
        columns = {
            measure: {name: [value[measure] for value in asked] for name, asked in chosen.items()}
            for measure in NAMES
        }
        found[label] = {
            "n": sum(map(len, chosen.values())),
            **{m: mean([v for asked in c.values() for v in asked]) for m, c in columns.items()},
            "intervals": {m: interval(c) for m, c in columns.items()},
        }
    return found


def injection(answers: Sequence[Answer], goal: float = 0.8) -> dict[str, float | None]:
    """What is injected at the smallest budget that holds so much of the gold: is it to the point?

    A turn is to the point when it is gold or stands beside gold in its session.
    """
    asked = [one for one in answers if one.question.gold]
    packs: list[tuple[int, ...]] = []

    def recall(budget: int) -> float:
        packs[:] = [one.inject(budget) for one in asked]
        pairs = zip(packs, asked, strict=True)
        return mean([share(pack, one.question.gold) for pack, one in pairs])

    budget = smallest(BUDGETS, recall, goal) if asked else None
    fits = [
        place in (*one.question.gold, *one.question.near)
        for pack, one in zip(packs, asked, strict=True)
        for place in pack
    ]
    return {
        "budget": budget,
        "precision": mean(fits) if budget is not None else None,
        "turns": len(fits) / len(asked) if budget is not None else None,
    }


def calibration(answers: Sequence[Answer]) -> dict[str, Any]:
    """Does relevance keep its word, over the first hits of every question with gold?"""
    predicted: list[float] = []
    labels: list[bool] = []
    for one in answers:
        if one.question.gold:
            predicted += one.relevance[:TOP]
            labels += [
                place in one.question.gold for place in one.places[: len(one.relevance)][:TOP]
            ]
    above = {f"{t:g}": precision_above(predicted, labels, t) for t in THRESHOLDS}
    return {
        "error": calibration_error(predicted, labels),
        "n": len(predicted),
        "precision": {name: precision for name, (precision, _) in above.items()},
        "hits": {name: count for name, (_, count) in above.items()},
    }


def abstention(answers: Sequence[Answer]) -> dict[str, float]:
    """Is confidence higher where there is an answer than where there is none?"""
    sure = {True: list[float](), False: list[float]()}
    for one in answers:
        if one.confidence is not None:
            sure[one.question.answerable].append(one.confidence)
    return {
        "auroc": auroc(sure[True], sure[False]),
        "answerable": len(sure[True]),
        "not": len(sure[False]),
    }


def updates(answers: Sequence[Answer]) -> dict[str, float]:
    """Of several statements, does the latest stand first?"""
    asked = [
        one for one in answers if one.question.category in UPDATES and len(one.question.gold) > 1
    ]
    first = [latest_first(one.places, one.question.gold) for one in asked]
    return {"latest first": mean(first), "n": len(first)}


def latency(answers: Sequence[Answer]) -> dict[str, float]:
    """Milliseconds of one question."""
    taken = [one.seconds * 1_000 for one in answers]
    return {"p50": percentile(taken, 50), "p95": percentile(taken, 95)}
