"""The packer beside an exact solver that shares nothing with it, and what must hold for any offers."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.compose import packing
from holdfast.compose.packing import Choice, Offer, packed
from tests.property.effort import examples

choices = st.lists(
    st.builds(Choice, st.integers(0, 60), st.floats(0, 5, allow_nan=False)), max_size=4
).map(tuple)
offers = st.lists(
    st.builds(Offer, st.sampled_from(["a", "b", "c", "unknown"]), choices), max_size=9
)
caps = st.fixed_dictionaries({name: st.integers(-5, 150) for name in "abc"})


def worth(given: Sequence[Offer], chosen: Sequence[int | None]) -> float:
    pairs = zip(given, chosen, strict=True)
    return sum(offer.choices[n].value for offer, n in pairs if n is not None)


def sizes(given: Sequence[Offer], chosen: Sequence[int | None]) -> dict[str, int]:
    found: dict[str, int] = {}
    for offer, n in zip(given, chosen, strict=True):
        if n is not None:
            found[offer.section] = found.get(offer.section, 0) + offer.choices[n].tokens
    return found


def fits(found: Mapping[str, int], caps: Mapping[str, int], total: int) -> bool:
    return sum(found.values()) <= max(total, 0) and all(
        size <= max(caps.get(name, 0), 0) for name, size in found.items()
    )


def best_of_all(given: Sequence[Offer], caps: Mapping[str, int], total: int) -> float:
    """Every combination there is."""
    ways = [[None, *(range(len(o.choices)) if o.section in caps else ())] for o in given]
    return max(
        worth(given, chosen) for chosen in product(*ways) if fits(sizes(given, chosen), caps, total)
    )


@settings(max_examples=examples(300))
@given(offers, caps, st.integers(-5, 300))
def test_nothing_passes_a_cap_and_nothing_is_taken_twice(
    given: list[Offer], caps: dict[str, int], total: int
) -> None:
    chosen = packed(given, caps, total)
    assert len(chosen) == len(given)
    assert fits(sizes(given, chosen), caps, total)
    assert packed(given, caps, total) == chosen


@settings(max_examples=examples(200))
@given(offers.filter(lambda found: len(found) <= 5), caps, st.integers(0, 200))
def test_it_is_as_good_as_every_combination(
    given: list[Offer], caps: dict[str, int], total: int
) -> None:
    assert abs(worth(given, packed(given, caps, total)) - best_of_all(given, caps, total)) < 1e-6


@settings(max_examples=examples(200))
@given(offers, caps, st.integers(0, 300), st.integers(0, 100))
def test_more_room_is_never_worth_less(
    given: list[Offer], caps: dict[str, int], total: int, more: int
) -> None:
    smaller = worth(given, packed(given, caps, total))
    assert worth(given, packed(given, caps, total + more)) >= smaller - 1e-9
    wider = {name: cap + more for name, cap in caps.items()}
    assert worth(given, packed(given, wider, total)) >= smaller - 1e-9


def made(chance: random.Random, count: int, longest: int) -> list[Offer]:
    """Offers as a context has them: each level shorter and worth less than the one before."""
    found = []
    for _ in range(count):
        tokens, value = chance.randint(5, longest), chance.random() ** 3
        steps = []
        for _ in range(chance.randint(1, 4)):
            steps.append(Choice(tokens, value))
            tokens, value = max(1, tokens // chance.randint(2, 5)), value * chance.uniform(0.3, 0.9)
        found.append(Offer(chance.choice("ab"), tuple(steps)))
    return found


def table(given: Sequence[Offer], caps: tuple[int, int], total: int) -> float:
    """The exact answer by a table over both sections at once, one token at a time."""
    best = {(0, 0): 0.0}
    for offer in given:
        after = dict(best)
        for (a, b), value in best.items():
            for choice in offer.choices:
                here = (a + choice.tokens, b) if offer.section == "a" else (a, b + choice.tokens)
                if here[0] <= caps[0] and here[1] <= caps[1] and sum(here) <= total:
                    after[here] = max(after.get(here, 0.0), value + choice.value)
        best = after
    return max(best.values())


def test_ten_thousand_instances_beside_an_exact_solver() -> None:
    chance = random.Random(20261116)
    worst = 1.0
    for _ in range(10_000):
        given = made(chance, chance.randint(1, 6), 40)
        total = chance.randint(10, 90)
        limits = chance.randint(5, total), chance.randint(5, total)
        exact = table(given, limits, total)
        found = worth(given, packed(given, {"a": limits[0], "b": limits[1]}, total))
        worst = min(worst, found / exact if exact else 1.0)
    assert worst >= 0.999999


@pytest.mark.parametrize("total", [20_000, 60_000, 150_000])
def test_a_budget_counted_in_steps_is_nearly_the_optimum_and_fits(
    total: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = made(random.Random(total), 300, total // 60)
    caps = {"a": total // 2, "b": total}
    chosen = packed(offered, caps, total)
    assert fits(sizes(offered, chosen), caps, total)
    monkeypatch.setattr(packing, "_SIZES", total)
    assert worth(offered, chosen) >= 0.99 * worth(offered, packed(offered, caps, total))
