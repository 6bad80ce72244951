"""What an item is worth: between 0 and 1, less with age, more with use, and its tier agrees."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compact.importance import days_between, importance, score_of, tier_of
from holdfast.model.compact import ItemSettings
from holdfast.model.items import TYPES, ContextItem

weights = st.floats(0, 1)
days = st.floats(0, 1e6)
accesses = st.integers(0, 10**9)
settings = st.builds(ItemSettings, decay_days=st.floats(0.01, 36_500))
WARMER = {"COLD": 0, "WARM": 1, "HOT": 2}


@given(weights, days, accesses, settings)
def test_it_is_a_number_from_0_to_1(
    weight: float, age: float, times: int, of: ItemSettings
) -> None:
    assert 0 <= importance(weight, age, times, of) <= 1


@given(weights, days, days, accesses, settings)
def test_it_never_rises_with_age(
    weight: float, one: float, other: float, times: int, of: ItemSettings
) -> None:
    young, old = sorted((one, other))
    assert importance(weight, old, times, of) <= importance(weight, young, times, of)


@given(weights, days, accesses, accesses, settings)
def test_it_never_falls_with_accesses(
    weight: float, age: float, one: int, other: int, of: ItemSettings
) -> None:
    few, many = sorted((one, other))
    assert importance(weight, age, few, of) <= importance(weight, age, many, of)


@given(weights, days, accesses, st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_the_tier_agrees_with_the_score(
    weight: float, age: float, times: int, one: float, other: float, pinned: bool
) -> None:
    of = ItemSettings(warm=min(one, other), hot=max(one, other))
    score = importance(weight, age, times, of)
    tier = tier_of(score, of, pinned=pinned)
    assert (tier == "HOT") == (pinned or score >= of.hot)
    assert pinned or (tier == "COLD") == (score < of.warm and score < of.hot)


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_is_never_colder(one: float, other: float) -> None:
    low, high = (tier_of(score, ItemSettings()) for score in sorted((one, other)))
    assert WARMER[low] <= WARMER[high]


def test_the_formula_is_the_one_that_is_written_down() -> None:
    of = ItemSettings(decay_days=7)
    assert importance(0.7, 0, 0, of) == 0.7
    expected = 0.7 * math.exp(-3.5 / 7) * (1 + math.log(5) / 10)
    assert importance(0.7, 3.5, 4, of) == pytest.approx(expected, abs=1e-6)
    assert importance(1, 0, 100, of) == 1


def saved(**fields: object) -> ContextItem:
    given = {"type": "CODE", "updated_at": "2026-01-01T00:00:00.000Z", **fields}
    return ContextItem(id="itm_1", text="x", sha256="", **given)  # type: ignore[arg-type]


def test_a_score_of_ones_own_counts_in_place_of_the_type() -> None:
    at, of = "2026-01-01T00:00:00.000Z", ItemSettings(weights={"NOTE": 0.3})
    assert score_of(saved(importance=0.95), at, of) == 0.95
    assert score_of(saved(type="NOTE"), at, of) == 0.3
    assert all(0 < score_of(saved(type=kind), at, of) <= 1 for kind in (*TYPES, "OTHER"))


def test_loading_an_item_makes_it_as_good_as_new() -> None:
    of, later = ItemSettings(), "2026-01-08T00:00:00.000Z"
    old = score_of(saved(), later, of)
    again = score_of(saved(last_accessed=later, accesses=1), later, of)
    assert old < again
    assert again == pytest.approx(0.7 * (1 + math.log(2) / 10), abs=1e-6)


@pytest.mark.parametrize("odd", ["", "yesterday", "2026-01-01T00:00:00"])
def test_a_time_that_is_none_counts_for_nothing(odd: str) -> None:
    assert days_between(odd, "2026-01-08T00:00:00.000Z") == 0
    assert days_between("2026-01-08T00:00:00.000Z", "2026-01-01T00:00:00.000Z") == 0
