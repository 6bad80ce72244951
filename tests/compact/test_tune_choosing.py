"""Settings are chosen on some sessions and win on others, or they do not win."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.compact import choosing
from holdfast.compact.choosing import NEEDED, figures, halves, judged, most_tried, searched
from holdfast.compact.simulating import Lived, price
from holdfast.model.compact import CompactSettings

NOW = CompactSettings()
lives = st.builds(
    lambda price, needed, share: Lived(
        steps=1, sent=price, needed=needed, missed=int(share * needed)
    ),
    st.integers(1, 10**6),
    st.integers(0, 50),
    st.floats(0, 1),
)
pairs = st.lists(st.tuples(lives, lives), max_size=14)


def costing(*prices: int, missed: int = 0) -> list[Lived]:
    return [Lived(sent=price, needed=100, missed=missed) for price in prices]


@given(pairs)
def test_whoever_wins_is_cheaper_and_misses_hardly_more(found: list[tuple[Lived, Lived]]) -> None:
    first, second = [one for one, _ in found], [other for _, other in found]
    verdict = judged(first, second)
    assert verdict.why
    assert verdict.cheaper + verdict.dearer + verdict.same == len(found)
    if verdict.wins:
        assert price(second) < price(first)
        assert verdict.cheaper > verdict.dearer
        assert choosing.regret(second) <= choosing.regret(first) + 0.0101
        assert not judged(second, first).wins


@given(pairs, st.randoms(use_true_random=False))
def test_the_order_of_sessions_does_not_matter(
    found: list[tuple[Lived, Lived]], luck: object
) -> None:
    mixed = sorted(found, key=lambda _: luck.random())  # type: ignore[attr-defined]
    one = judged([a for a, _ in found], [b for _, b in found])
    other = judged([a for a, _ in mixed], [b for _, b in mixed])
    assert one == other


@given(st.lists(lives, max_size=12))
def test_the_same_settings_never_win(found: list[Lived]) -> None:
    assert not judged(found, found).wins


def test_as_many_sessions_as_are_needed_can_win_and_fewer_cannot() -> None:
    enough = NEEDED // 2
    assert judged(costing(*[100] * enough), costing(*[90] * enough)).wins
    fewer = enough - 1
    lost = judged(costing(*[100] * fewer), costing(*[90] * fewer))
    assert not lost.wins
    assert "chance" in lost.why


def test_what_is_cheaper_and_forgets_more_does_not_win() -> None:
    lost = judged(costing(*[100] * 6), costing(*[50] * 6, missed=5))
    assert not lost.wins
    assert "misses 5.0% of what was needed instead of 0.0%" in lost.why


def test_a_saving_of_next_to_nothing_does_not_win() -> None:
    assert "less than 1%" in judged(costing(*[1000] * 6), costing(*[999] * 6)).why


@given(st.lists(st.integers(0, 10**6), max_size=40), st.randoms(use_true_random=False))
def test_halves_are_halves_whatever_the_order(sizes: list[int], luck: object) -> None:
    named = [(size, f"s{n}") for n, size in enumerate(sizes)]
    seen, unseen = halves(named)
    assert sorted((*seen, *unseen)) == sorted(name for _, name in named)
    assert abs(len(unseen) - len(seen)) <= 1
    mixed = sorted(named, key=lambda _: luck.random())  # type: ignore[attr-defined]
    assert halves(mixed) == (seen, unseen)


# ---- the search ------------------------------------------------------------------------------------


class Landscape:
    """Sessions that cost what a function of the settings says."""

    def __init__(self, best_to: float, best_recent: int) -> None:
        self.best = (best_to, best_recent)
        self.asked: list[CompactSettings] = []

    def __call__(self, of: CompactSettings) -> Sequence[Lived]:
        self.asked.append(of)
        far = int(abs(of.compact_to - self.best[0]) * 100) + abs(of.recent - self.best[1])
        return costing(*[1000 + 10 * far] * 5)


def test_the_search_finds_what_is_cheapest_and_asks_of_each_once() -> None:
    land = Landscape(0.35, 20)
    best, tried = searched(NOW, land)
    assert (best.compact_to, best.recent) == (0.35, 20)
    assert replace(best, compact_to=NOW.compact_to, recent=NOW.recent) == NOW
    assert [of for of, _ in tried] == land.asked
    assert tried[0][0] == NOW
    assert len(set(land.asked)) == len(land.asked) <= most_tried()
    assert searched(NOW, Landscape(0.35, 20))[0] == best


def test_a_quick_search_turns_fewer_knobs() -> None:
    land = Landscape(0.35, 20)
    assert searched(NOW, land, quick=True)[0].compact_to == 0.35
    assert len(land.asked) <= most_tried(quick=True) < most_tried()


def test_what_is_set_stays_where_nothing_is_better() -> None:
    best, tried = searched(NOW, lambda _: costing(10, 20, 30))
    assert best == NOW
    assert len(tried) > 10


def test_no_combination_is_tried_that_contradicts_itself() -> None:
    land = Landscape(0.5, 4)
    searched(replace(NOW, compact_at=0.35, compact_to=0.3, keep=0.4, drop=0.2), land)
    for of in land.asked:
        assert of.drop < of.keep
        assert of.compact_to < of.compact_at <= of.most


def test_figures_are_sums_over_sessions_with_what_left_most_first() -> None:
    one = Lived(
        steps=2,
        sent=30,
        needed=4,
        missed=1,
        drops={"low_relevance": (2, 50)},
        scores={"drop": [2] + [0] * 19},
    )
    other = Lived(steps=1, sent=10, drops={"cut": (1, 90), "low_relevance": (1, 1)})
    found = figures([one, other], costing(70, 10))
    assert (found.sessions, found.steps, found.sent, found.regret) == (2, 3, 40, 0.25)
    assert found.savings == 0.5
    assert [(d.why, d.chunks, d.tokens) for d in found.drops] == [
        ("cut", 1, 90),
        ("low_relevance", 3, 51),
    ]
    assert found.scores["drop"][0] == 2
