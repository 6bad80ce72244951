"""Vectors: every engine answers as the reference does, whatever was kept and in whatever order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)
from numpy.typing import NDArray

from holdfast.engines.reference.vectors import MemoryVectors
from holdfast.engines.vectors.files import FileVectors
from holdfast.errors import Invalid
from holdfast.ports.vectors import Vectors
from tests.property.effort import examples

DIMS = 3
Rows = NDArray[np.float32]
Maker = Callable[[Path], Vectors]

MAKERS: dict[str, Maker] = {
    "reference": lambda _folder: MemoryVectors(DIMS),
    "files": lambda folder: FileVectors(str(folder), "static-3", DIMS),
    "files, approximate": lambda folder: FileVectors(str(folder), "static-3", DIMS, exact_most=4),
}

#: few different rows, so that equals are common; and rows that are none
ROW = st.sampled_from(
    [
        *[[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [1, 1, 0], [0, 3, 4], [1e-30, 0, 0]],
        *[[0, 0, 0], [math.nan, 1, 0], [math.inf, 1, 0], [3e38, 3e38, -3e38]],
    ]
) | st.lists(st.floats(-1, 1, width=16), min_size=DIMS, max_size=DIMS)
ROWS = st.lists(ROW, min_size=1, max_size=9)


def rows(*given: Sequence[float]) -> Rows:
    """Rows as an embedder would hand them over."""
    return np.array(given, np.float32).reshape(-1, DIMS)


@pytest.fixture(params=MAKERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Vectors:
    """Each engine, ready."""
    made = MAKERS[request.param](tmp_path)
    made.begin("one")
    return made


def same_answer(ours: Vectors, reference: Vectors, query: Rows, most: int, through: int) -> None:
    """The same similarities rank by rank, and each of the passage it is said to be of."""
    numbers, found = ours.nearest(1, query, most, through)
    _, expected = reference.nearest(1, query, most, through)
    assert numbers.dtype == np.int64
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-6)
    np.testing.assert_allclose(found, reference.similar(1, query, numbers, through), atol=2e-6)
    assert list(zip(-found, numbers, strict=True)) == sorted(zip(-found, numbers, strict=True))
    assert len(set(numbers.tolist())) == len(numbers)


class Histories(RuleBasedStateMachine):
    """Two stores, one history."""

    make: Maker
    folders = count()
    folder: Path

    @initialize()
    def _begin(self) -> None:
        self.ours = type(self).make(self.folder / str(next(self.folders)))
        self.reference = MemoryVectors(DIMS)
        for store in (self.ours, self.reference):
            store.begin("0")

    def both(self, act: Callable[[Vectors], Any]) -> None:
        """Do it here and there."""
        assert act(self.ours) == act(self.reference)

    @rule(first=st.integers(1, 40), given=ROWS)
    def put(self, first: int, given: list[list[float]]) -> None:
        self.both(lambda store: store.put(1, first, rows(*given)))

    @rule(
        given=st.lists(st.tuples(st.integers(1, 40), ROW), max_size=9),
        shelf=st.sampled_from([1, 2]),
    )
    def put_scattered(self, given: list[tuple[int, list[float]]], shelf: int) -> None:
        numbers, kept = [number for number, _ in given], rows(*(row for _, row in given))
        self.both(lambda store: store.set(shelf, numbers, kept))

    @rule(
        query=ROW,
        most=st.integers(0, 50),
        through=st.integers(0, 50),
        numbers=st.lists(st.integers(-2, 60), max_size=9),
    )
    def look(self, query: list[float], most: int, through: int, numbers: list[int]) -> None:
        asked = rows(query)[0]
        self.both(lambda store: store.missing(1, through, most))
        same_answer(self.ours, self.reference, asked, most, through)
        for limit in (through, None):
            np.testing.assert_allclose(
                self.ours.similar(1, asked, numbers, limit),
                self.reference.similar(1, asked, numbers, limit),
                atol=2e-6,
            )

    @rule(edition=st.sampled_from(["0", "0", "0", "1"]))
    def begin(self, edition: str) -> None:
        self.both(lambda store: store.begin(edition))


@pytest.mark.parametrize("name", MAKERS)
def test_answers_as_the_reference_does(name: str, tmp_path: Path) -> None:
    class History(Histories):
        make = staticmethod(MAKERS[name])
        folder = tmp_path

    far = settings(max_examples=examples(100), stateful_step_count=20)
    run_state_machine_as_test(History, settings=far)


def test_nothing_is_kept_or_asked_before_an_edition_is_begun(tmp_path: Path) -> None:
    for name, make in MAKERS.items():
        store = make(tmp_path / name)
        with pytest.raises(Invalid):
            store.put(1, 1, rows([1, 0, 0]))
        with pytest.raises(Invalid):
            store.set(1, [1], rows([1, 0, 0]))
        with pytest.raises(Invalid):
            store.missing(1, 5, 5)
        with pytest.raises(Invalid):
            store.nearest(1, rows([1, 0, 0])[0], 5, 5)
        with pytest.raises(Invalid):
            store.similar(1, rows([1, 0, 0])[0], [1])


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.put(1, 0, rows([1, 0, 0])),
        lambda store: store.put(1, 1, np.ones((1, DIMS + 1), np.float32)),
        lambda store: store.put(1, 1, np.ones(DIMS, np.float32)),
        lambda store: store.set(1, [0], rows([1, 0, 0])),
        lambda store: store.set(1, [1, 2], rows([1, 0, 0])),
        lambda store: store.nearest(1, np.ones(DIMS + 1, np.float32), 5, 5),
        lambda store: store.similar(1, np.ones((1, DIMS), np.float32), [1]),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(
    store: Vectors, act: Callable[[Vectors], object]
) -> None:
    store.put(1, 1, rows([0, 1, 0]))
    with pytest.raises(Invalid):
        act(store)
    assert store.missing(1, 3, 9) == [3, 2]
    assert store.nearest(1, rows([0, 1, 0])[0], 9, 3)[0].tolist() == [1]


def test_similarity_is_the_cosine_from_the_shrunken_mean(store: Vectors) -> None:
    store.put(1, 1, rows([1, 0, 0], [0, 1, 0], [0, 0, 1]))
    mean = np.array([1 / 52, 1 / 52, 0])  # of the first two: three passages, and two is the power
    away, asked = np.array([0, 0, 1]) - mean, np.array([0.6, 0, 0.8]) - mean
    expected = away @ asked / math.sqrt((away @ away) * (asked @ asked))
    found = store.similar(1, rows([3, 0, 4])[0], [3], 3)
    assert found[0] == pytest.approx(expected, abs=1e-6)
    assert store.nearest(1, rows([3, 0, 4])[0], 1, 3)[1][0] == found[0]


def test_the_mean_is_that_of_the_last_vectors_there_are_up_to_a_power_of_two(
    store: Vectors,
) -> None:
    store.set(1, [1, 5, 7], rows([0, 1, 0], [1, 0, 0], [1, 0, 0]))
    store.put(1, 9, rows([0, 0, 1]))  # behind the eight that count when nine are searched
    mean = np.array([2 / 52, 0, 0])  # three vectors among eight passages: the last two of them
    asked, away = np.array([0, 1, 0]) - mean, np.array([0, 0, 1]) - mean
    expected = asked @ away / math.sqrt((asked @ asked) * (away @ away))
    assert store.similar(1, rows([0, 1, 0])[0], [9], 9)[0] == pytest.approx(expected, abs=1e-6)


def test_of_equals_the_lower_number_comes_first(store: Vectors) -> None:
    store.put(1, 1, rows(*[[0, 1, 0], [1, 0, 0]] * 20))
    numbers, found = store.nearest(1, rows([1, 0, 0])[0], 23, 39)
    assert numbers.tolist() == [*range(2, 39, 2), 1, 3, 5, 7]
    assert len(set(found.tolist())) == 2


def test_a_later_row_takes_the_place_of_an_earlier(store: Vectors) -> None:
    store.put(1, 1, rows([1, 0, 0], [0, 1, 0], [0, 0, 1]))
    store.nearest(1, rows([1, 0, 0])[0], 3, 3)
    store.put(1, 1, rows([0, 0, 1], [0, 0, 0]))
    assert store.missing(1, 3, 9) == [2]
    numbers, found = store.nearest(1, rows([0, 0, 1])[0], 3, 3)
    assert numbers.tolist() == [1, 3]
    assert found[0] == found[1]
    store.set(1, [2, 2], rows([1, 0, 0], [0, 1, 0]))
    assert store.nearest(1, rows([0, 1, 0])[0], 1, 3)[0].tolist() == [2]


def test_only_the_direction_of_a_row_and_of_a_question_counts(store: Vectors) -> None:
    store.put(1, 1, rows([0.2, 0.1, 0], [200, 100, 0], [1e-30, 0, 0]))
    found = store.similar(1, rows([50, 0, 0])[0], [1, 2, 3])
    again = store.similar(1, rows([1e-20, 0, 0])[0], [1, 2, 3])
    assert found[0] == found[1] < found[2]
    assert found.tolist() == again.tolist()


@pytest.mark.parametrize("query", [[0, 0, 0], [math.nan, 0, 1], [0, math.inf, 1]])
def test_a_question_without_a_direction_has_no_answers(store: Vectors, query: list[float]) -> None:
    store.put(1, 1, rows([1, 0, 0]))
    numbers, found = store.nearest(1, rows(query)[0], 5, 1)
    assert len(numbers) == len(found) == 0
    assert np.isnan(store.similar(1, rows(query)[0], [1])).all()


def test_the_newest_that_are_missing_come_first(store: Vectors) -> None:
    assert store.missing(1, 5, 2) == [5, 4]
    store.set(1, [2, 4, 5], rows([1, 0, 0], [1, 0, 0], [1, 0, 0]))
    assert store.missing(1, 7, 9) == [7, 6, 3, 1]
    assert store.missing(1, 7, 3) == [7, 6, 3]
    assert store.missing(1, 4, 1) == [3]
    assert store.missing(1, 4, 0) == store.missing(1, 0, 5) == []


def test_shelves_know_nothing_of_each_other(store: Vectors) -> None:
    store.put(1, 1, rows([1, 0, 0]))
    before = store.nearest(1, rows([1, 1, 0])[0], 5, 1)
    store.put(2, 1, rows([0, 1, 0], [0, 0, 1]))
    after = store.nearest(1, rows([1, 1, 0])[0], 5, 1)
    assert [part.tolist() for part in before] == [part.tolist() for part in after]
    assert store.missing(1, 2, 9) == [2]
    assert store.missing(0, 2, 9) == [2, 1]


def test_a_new_edition_knows_nothing_and_the_old_one_does_not_come_back(store: Vectors) -> None:
    store.put(1, 1, rows([1, 0, 0], [0, 1, 0]))
    store.begin("one")
    assert store.missing(1, 2, 9) == []
    store.begin("two")
    assert store.missing(1, 2, 9) == [2, 1]
    assert len(store.nearest(1, rows([1, 0, 0])[0], 5, 2)[0]) == 0
    store.begin("one")
    assert store.missing(1, 2, 9) == [2, 1]


def test_passages_beyond_the_last_one_asked_for_count_for_nothing(store: Vectors) -> None:
    store.put(1, 1, rows([1, 0, 0], [0, 1, 0]))
    query = rows([1, 2, 0])[0]
    before = store.nearest(1, query, 9, 2), store.similar(1, query, [1, 2, 3], 2)
    store.put(1, 3, rows(*[[0, 1, 0]] * 9))
    after = store.nearest(1, query, 9, 2), store.similar(1, query, [1, 2, 3], 2)
    np.testing.assert_equal(before, after)


def test_closing_and_closing_again_is_fine(store: Vectors) -> None:
    store.put(1, 1, rows([1, 0, 0]))
    store.close()
    store.close()
    assert np.isnan(store.similar(2, rows([1, 0, 0])[0], [1], 1)).all()
