"""The compose bench on a conversation small enough to know its figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import compose
from bench.data import Conversation, Question, find, read
from holdfast.compose.packing import Choice, Offer
from tests.bench.test_bench_scale import data_folder


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> Conversation:
    folder: Path = data_folder(tmp_path_factory.mktemp("data"))
    return read(find(folder, "locomo"), "locomo")[0]


def test_figures_are_shares_and_a_larger_budget_holds_no_less(conversation: Conversation) -> None:
    found = compose.measured(conversation, "none", [100, 2_000], frozenset())
    assert set(found) == {100, 2_000}
    for figures in found.values():
        assert len(figures) == sum(1 for q in conversation.questions if q.gold)
        for one in figures:
            shares = (one["evidence"], one["named"], one["precision"], one["in order: evidence"])
            assert all(0 <= share <= 1 for share in shares)
            assert one["evidence"] <= one["named"]
    small, large = ([one["named"] for one in found[size]] for size in (100, 2_000))
    assert sum(small) <= sum(large)


@pytest.mark.parametrize(
    ("shown", "gold", "expected"), [([3, 4, 9], [4], 2 / 3), ([], [4], 0.0), ([1], [4, 2], 1.0)]
)
def test_precision_counts_what_is_beside_gold(
    shown: Sequence[int], gold: Sequence[int], expected: float
) -> None:
    assert compose._precision(shown, gold) == pytest.approx(expected)


def test_greedy_is_never_better_than_what_is_chosen() -> None:
    figures = compose.packing(20)
    assert 0 < figures["greedy / chosen, worst"] <= figures["greedy / chosen, mean"] <= 1


def test_greedy_takes_the_densest_that_fits() -> None:
    offers = [Offer("a", (Choice(10, 1.0),)), Offer("a", (Choice(2, 0.5),)), Offer("b", ())]
    assert compose.greedy(offers[:2], {"a": 10}, 10) == 0.5
    assert compose.greedy(offers[:2], {"a": 12}, 12) == 1.5


def test_questions_are_what_the_set_says(conversation: Conversation) -> None:
    assert all(isinstance(question, Question) for question in conversation.questions)
