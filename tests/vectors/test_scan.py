"""Finding the nearest: what is approximate is which rows are found, never how near they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.engines.vectors import scan
from holdfast.engines.vectors.rows import sound
from holdfast.engines.vectors.scan import leading, mean_of
from tests.property.effort import examples
from tests.vectors.some import Rows, opened, some_rows

SCORES = st.sampled_from([-np.inf, -1.0, -0.25, 0.0, 0.25, 0.5, 1.0]) | st.floats(-1, 1, width=32)


def _plainly(scores: Rows, count: int) -> set[int]:
    """The best, of equals the first, one by one."""
    ranked = sorted((-score, at) for at, score in enumerate(scores.tolist()) if score > -np.inf)
    return {at for _, at in ranked[:count]}


@given(st.lists(SCORES, max_size=60), st.integers(1, 70))
def test_the_leading_scores_are_all_there(given_scores: list[float], count: int) -> None:
    scores = np.array(given_scores, np.float32)
    found = leading(scores, count).tolist()
    assert _plainly(scores, count) <= set(found)
    assert len(set(found)) == len(found)
    assert not np.isneginf(scores[found]).any()


@given(
    seed=st.integers(0, 999),
    count=st.integers(1, 400),
    high=st.sampled_from([1, 2, 63, 64, 65, 128]),
    masked=st.booleans(),
)
@settings(max_examples=examples(60))
def test_nothing_is_missed_where_a_sample_of_scores_misleads(
    seed: int, count: int, high: int, masked: bool
) -> None:
    scores = np.random.default_rng(seed).uniform(-1, 0, 6_000).astype(np.float32)
    scores[::high] += 1
    if masked:
        scores[seed % 64 :: 2] = -np.inf
    found = set(leading(scores, count).tolist())
    assert _plainly(scores, count) <= found
    assert len(found) <= count + 20


def test_of_many_that_are_alike_the_first_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_ALIKE", 10)
    scores = np.full(1_000, 0.5, np.float32)
    scores[[700, 800]] = 0.9
    scores[::2] += 1e-7  # nearer than a product is to the truth
    assert set(leading(scores, 5).tolist()) == {700, 800, *range(10)}


@given(st.lists(st.booleans(), max_size=70), st.integers(0, 80))
def test_the_mean_is_of_the_last_power_of_two_within_the_first(
    there: list[bool], through: int
) -> None:
    first = [at for at, flag in enumerate(there[:through]) if flag]
    limit = max((1 << n for n in range(8) if 1 << n <= through), default=0)
    first = [at for at in first if at < limit]
    count = max((1 << n for n in range(8) if 1 << n <= len(first)), default=0)
    low, high = mean_of(np.array(there, np.bool_)[:through], through)
    assert [at for at in first if low <= at < high] == first[len(first) - count :]


def test_half_precision_is_read_as_numpy_reads_it() -> None:
    every = np.arange(1 << 16, dtype="<u2").view("<f2")
    rows = np.zeros((len(every), 2), "<f2")
    rows[:, 0] = every
    with np.errstate(invalid="ignore", over="ignore"):
        length = np.nan_to_num(every.astype(np.float64), nan=9.0, posinf=9.0, neginf=9.0)
    rows[:, 1] = np.sqrt(np.clip(1 - length**2, 0, 1))
    found = sound(rows.tobytes(), 2)
    kept = np.abs(length) <= 1
    np.testing.assert_array_equal(found[kept], rows[kept].astype(np.float32))
    assert not found[np.abs(length) > 1.02].any()


def test_rows_that_differ_in_few_directions_are_found_without_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "_CANDIDATES", 20)
    dice = np.random.default_rng(5)
    rows = some_rows(3_000, 6, dims=60) @ dice.normal(size=(60, 160)).astype(np.float32)
    exact = opened(tmp_path, dims=160)
    exact.put(1, 1, rows)
    narrow = opened(tmp_path, dims=160, exact_most=100)
    for query in rows[dice.integers(0, 3_000, 20)] + 0.3 * rows[:20]:
        np.testing.assert_equal(
            narrow.nearest(1, query, 10, 3_000), exact.nearest(1, query, 10, 3_000)
        )
    assert narrow.memory == 3_000 * scan._DIRECTIONS * 4


def test_what_is_approximate_is_which_rows_never_how_near(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "_DIRECTIONS", 12)
    monkeypatch.setattr(scan, "_CANDIDATES", 60)
    rows = some_rows(2_000, 7, dims=24)
    exact = opened(tmp_path, dims=24)
    exact.put(1, 1, rows)
    exact.put(1, 500, 0 * rows[:100])
    narrow = opened(tmp_path, dims=24, exact_most=100)
    shared = 0
    for query in some_rows(40, 8, dims=24):
        numbers, found = narrow.nearest(1, query, 10, 2_000)
        best = exact.nearest(1, query, 10, 2_000)[0]
        np.testing.assert_array_equal(found, exact.similar(1, query, numbers, 2_000))
        assert (np.diff(found) <= 0).all()
        assert not ((numbers >= 500) & (numbers < 600)).any()
        shared += len(set(best.tolist()) & set(numbers.tolist()))
    assert 200 < shared < 400  # half the directions, three rows in a hundred: most, not all


def test_whole_rows_are_let_go_of_when_there_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "_DIRECTIONS", 12)
    rows = some_rows(120, 9, dims=24)
    store = opened(tmp_path, dims=24, exact_most=100)
    store.put(1, 1, rows)
    store.nearest(1, rows[0], 5, 100)
    assert store.memory == 100 * 24 * 4
    store.nearest(1, rows[0], 5, 120)  # the mean is the same
    assert store.memory == 120 * 12 * 4
    assert store.nearest(1, rows[0], 5, 100)[0][0] == 1
    assert store.memory == 100 * 24 * 4


def test_more_answers_than_candidates_are_given_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "_CANDIDATES", 5)
    store = opened(tmp_path, exact_most=0)
    store.put(1, 1, some_rows(90))
    assert sorted(store.nearest(1, some_rows(1)[0], 90, 90)[0].tolist()) == list(range(1, 91))


@pytest.mark.parametrize("exact_most", [200_000, 0])
def test_a_shelf_full_of_the_same_is_told_apart_by_number(exact_most: int, tmp_path: Path) -> None:
    store = opened(tmp_path, exact_most=exact_most)
    row = some_rows(2)
    store.put(1, 1, np.repeat(row[:1], 5_000, axis=0))
    store.put(1, 4_321, row[1:])
    numbers, found = store.nearest(1, row[0], 6, 5_000)
    assert numbers.tolist() == [1, 2, 3, 4, 5, 6]
    assert len(set(found.tolist())) == 1
    assert store.nearest(1, row[1], 2, 5_000)[0].tolist() == [4_321, 1]
