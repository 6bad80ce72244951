"""Measures: each beside its definition spelled out, and the bounds nothing may leave."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import measures
from bench.data import Question
from bench.measures import Answer

RANKED = st.lists(st.integers(-1, 30), max_size=40)
GOLD = st.sets(st.integers(0, 30), min_size=1, max_size=12).map(sorted)
UNIT = st.floats(0, 1, allow_subnormal=False)
LABELLED = st.lists(st.tuples(UNIT, st.booleans()), min_size=1, max_size=60)


def answer(
    places: Sequence[int],
    gold: Sequence[int],
    *,
    near: Sequence[int] = (),
    category: str = "single-hop",
    relevance: Sequence[float] = (),
    confidence: float | None = None,
    tokens: int = 100,
    seconds: float = 0.0,
) -> Answer:
    """A ranking of turns of one length."""
    costs = (tokens,) * len(places)
    return Answer(
        question=Question(text="?", category=category, gold=tuple(gold), near=tuple(near)),
        places=tuple(places),
        tokens=costs,
        relevance=tuple(relevance),
        confidence=confidence,
        inject=lambda budget: measures.in_order(places, costs, budget),
        seconds=seconds,
    )


@given(RANKED, GOLD)
def test_recall_grows_with_k_up_to_what_was_found(ranked: list[int], gold: list[int]) -> None:
    grown = [measures.recall_at(ranked, gold, k) for k in range(len(ranked) + 2)]
    assert grown == sorted(grown)
    assert grown[0] == 0
    assert grown[-1] == sum(one in ranked for one in gold) / len(gold) <= 1


@given(RANKED, GOLD, st.integers(1, 20))
def test_ndcg_lies_between_none_and_the_best_order(
    ranked: list[int], gold: list[int], k: int
) -> None:
    value = measures.ndcg_at(ranked, gold, k)
    assert -1e-12 <= value <= 1 + 1e-12
    assert (value == 0) == (measures.recall_at(ranked, gold, k) == 0)
    assert measures.ndcg_at([*gold, *ranked], gold, k) == pytest.approx(1)


def test_ndcg_of_a_known_ranking() -> None:
    value = measures.ndcg_at([7, 1, 9, 2, 1], [1, 2, 3], 10)
    best = 1 + 1 / math.log2(3) + 1 / 2
    assert value == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / best)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 50))), st.integers(0, 400))
def test_what_is_taken_in_order_is_the_longest_start_that_fits(
    hits: list[tuple[int, int]], budget: int
) -> None:
    places, tokens = [place for place, _ in hits], [cost for _, cost in hits]
    taken = measures.in_order(places, tokens, budget)
    assert list(taken) == places[: len(taken)]
    assert sum(tokens[: len(taken)]) <= budget
    assert len(taken) == len(hits) or sum(tokens[: len(taken) + 1]) > budget


@given(RANKED, GOLD)
def test_the_latest_comes_first_when_no_other_statement_is_above_it(
    ranked: list[int], gold: list[int]
) -> None:
    ranks = {one: ranked.index(one) if one in ranked else math.inf for one in gold}
    latest = ranks.pop(gold[-1])
    wanted = bool(ranks) and latest < math.inf and latest < min(ranks.values())
    assert measures.latest_first(ranked, gold) == wanted


@given(LABELLED)
def test_calibration_error_is_the_gap_of_each_bin_by_its_size(
    labelled: list[tuple[float, bool]],
) -> None:
    predicted, labels = [v for v, _ in labelled], [held for _, held in labelled]
    whole = 0.0
    for low in range(10):
        held = [(v, y) for v, y in labelled if min(int(v * 10), 9) == low]
        if held:
            gap = sum(v for v, _ in held) / len(held) - sum(y for _, y in held) / len(held)
            whole += len(held) / len(labelled) * abs(gap)
    assert measures.calibration_error(predicted, labels) == pytest.approx(whole, abs=1e-9)
    assert 0 <= whole <= 1


def test_who_promises_what_holds_has_no_calibration_error() -> None:
    predicted, labels = [0.25] * 8 + [1.0] * 3, [True, False, False, False] * 2 + [True] * 3
    assert measures.calibration_error(predicted, labels) == pytest.approx(0)
    assert measures.calibration_error([1.0, 1.0], [False, False]) == 1
    assert math.isnan(measures.calibration_error([], []))


@given(LABELLED, UNIT)
def test_precision_counts_what_passes(labelled: list[tuple[float, bool]], threshold: float) -> None:
    passed = [held for value, held in labelled if value >= threshold]
    precision, count = measures.precision_above(
        [v for v, _ in labelled], [held for _, held in labelled], threshold
    )
    assert count == len(passed)
    assert math.isnan(precision) if not passed else precision == sum(passed) / len(passed)


@given(st.lists(st.integers(0, 6), max_size=30), st.lists(st.integers(0, 6), max_size=30))
def test_auroc_is_the_share_of_pairs_in_order(positives: list[int], negatives: list[int]) -> None:
    value = measures.auroc(positives, negatives)
    pairs = [(p > n) + (p == n) / 2 for p in positives for n in negatives]
    if not pairs:
        assert math.isnan(value)
        return
    assert value == pytest.approx(sum(pairs) / len(pairs))
    assert measures.auroc(negatives, positives) == pytest.approx(1 - value)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 100))
def test_percentiles_lie_among_the_values(values: list[float], percent: float) -> None:
    found = measures.percentile(values, percent)
    assert min(values) - 1e-6 <= found <= max(values) + 1e-6
    assert measures.percentile(values, 0) == min(values)
    assert measures.percentile(values, 100) == max(values)
    assert measures.percentile([3.0, 1.0, 2.0], 50) == 2


@given(st.lists(st.lists(UNIT, max_size=6), min_size=1, max_size=6))
def test_an_interval_stays_among_the_averages_of_its_groups(groups: list[list[float]]) -> None:
    named = {str(n): values for n, values in enumerate(groups)}
    low, high = measures.interval(named)
    means = [sum(values) / len(values) for values in groups if values]
    if not means:
        assert math.isnan(low)
        assert math.isnan(high)
        return
    assert min(means) - 1e-9 <= low <= high <= max(means) + 1e-9
    assert (low, high) == measures.interval(named)


def test_an_interval_draws_groups_and_not_values() -> None:
    assert measures.interval({"one": [0.0, 1.0] * 50}) == (0.5, 0.5)
    low, high = measures.interval({"a": [0.0] * 50, "b": [1.0] * 50})
    assert (low, high) == (0, 1)


def test_the_smallest_budget_is_the_first_that_reaches_the_goal() -> None:
    assert measures.smallest([1, 2, 3, 4], lambda budget: budget / 4, 0.6) == 3
    assert measures.smallest([1, 2], lambda budget: budget / 4, 0.6) is None


def test_every_measure_of_one_answer() -> None:
    found = measures.values(answer([9, 1, 8, 7, 6, 5, 2], [1, 2], tokens=400))
    assert list(found) == list(measures.NAMES)
    assert (found["R@5"], found["R@10"], found["R@20"]) == (0.5, 1, 1)
    assert (found["R≤2k"], found["R≤4k"]) == (0.5, 1)
    assert (found["rank≤2k"], found["rank≤4k"]) == (0.5, 1)


def test_averages_leave_out_questions_without_gold_and_other_groups() -> None:
    answers = {
        "a": [answer([1], [1]), answer([2], [1]), answer([1], []), answer([1], [1], category="x")],
        "b": [answer([1], [1])],
    }
    groups = {"first": frozenset({"single-hop"}), "second": frozenset({"x"})}
    found = measures.averages(answers, groups)
    assert (found["first"]["n"], found["second"]["n"]) == (3, 1)
    assert found["first"]["R@10"] == pytest.approx(2 / 3)
    assert found["second"]["R@10"] == 1
    low, high = found["first"]["intervals"]["R@10"]
    assert (low, high) == (0.5, 1)


def test_injected_turns_are_judged_at_the_budget_that_holds_most_of_the_gold() -> None:
    one = answer([3, 1, 8, 9], [1], near=[0, 2])
    two = answer([4, 5, 8], [5], near=[4, 6])
    found = measures.injection([one, two, answer([1], [])])
    assert found["budget"] == 200
    assert found["precision"] == 3 / 4
    assert found["turns"] == 2
    lost = measures.injection([answer([3], [1])])
    assert lost == {"budget": None, "precision": None, "turns": None}
    assert measures.injection([])["budget"] is None


def test_relevance_is_judged_over_the_first_hits_of_questions_with_gold() -> None:
    places = list(range(30))
    relevance = [0.9] + [0.2] * 29
    asked = [
        answer(places, [0], relevance=relevance),
        answer(places, [25], relevance=relevance),
        answer(places, [], relevance=relevance),
    ]
    found = measures.calibration(asked)
    assert found["n"] == 2 * measures.TOP
    assert found["hits"] == {"0.05": 40, "0.15": 40, "0.3": 2}
    assert found["precision"]["0.3"] == 0.5
    assert found["error"] == pytest.approx((2 * 0.4 + 38 * 0.2) / 40)


def test_confidence_is_compared_between_what_has_an_answer_and_what_has_none() -> None:
    asked = [
        answer([1], [1], confidence=0.9),
        answer([1], [], confidence=0.4),
        answer([1], [1], category="adversarial", confidence=0.5),
        answer([1], [], category="abstention", confidence=0.1),
        answer([1], [1]),
    ]
    assert measures.abstention(asked) == {"auroc": 0.75, "answerable": 2, "not": 2}


def test_updates_count_questions_with_several_statements() -> None:
    asked = [
        answer([9, 5, 1], [1, 5], category="knowledge_update"),
        answer([1, 5], [1, 5], category="knowledge-update"),
        answer([5], [5], category="knowledge_update"),
        answer([5, 1], [1, 5], category="temporal"),
    ]
    assert measures.updates(asked) == {"latest first": 0.5, "n": 2}


def test_latency_is_told_in_milliseconds() -> None:
    asked = [answer([], [], seconds=n / 1_000) for n in range(101)]
    assert measures.latency(asked) == pytest.approx({"p50": 50, "p95": 95})
