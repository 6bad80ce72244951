"""Tiers through the public verbs: they agree with the scores beside them, whatever was done to items."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.model.compact import ItemSettings
from holdfast.model.items import TIERS, TYPES, ContextItem
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking

DAY = 24 * 60
WHAT = (
    "save",
    "save",
    "save",
    "again",
    "load",
    "accessed",
    "pin",
    "unpin",
    "wait",
    "update",
    "done",
)


class Step(NamedTuple):
    """One thing that happens to items; `which` picks among what is there."""

    what: str
    which: int
    kind: str
    worth: float | None
    text: str


steps = st.builds(
    Step,
    st.sampled_from(WHAT),
    st.integers(0, 40),
    st.sampled_from([*TYPES, "MINE"]),
    st.none() | st.floats(0, 1) | st.sampled_from([0.0, 0.4, 0.8, 1.0]),
    st.text(min_size=1, max_size=30).filter(str.strip),
)


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


class Kept:
    """Items of one agent, as they are told."""

    def __init__(self, hf: holdfast.Holdfast, clock: Ticking) -> None:
        self.hf = hf
        self.s = hf.session(agent="coder", session_id="s")
        self.clock = clock
        self.ids: list[str] = []

    def tell(self, step: Step) -> None:
        """Take one step; what needs an item waits for one."""
        items = self.s.items
        if step.what == "save":
            self.ids.append(items.save(step.text, step.kind, importance=step.worth).id)
        elif step.what == "wait":
            self.clock.minutes += step.which * DAY / 3
        elif step.what == "update":
            items.update_tiers()
        elif step.what == "done":
            self.s.task_done(step.text)
        elif self.ids:
            one = self.ids[step.which % len(self.ids)]
            match step.what:
                case "again":
                    items.save(step.text, id=one)
                case "load":
                    items.load()
                case "accessed":
                    items.accessed([one])
                case "pin":
                    items.pin(one)
                case "unpin":
                    items.unpin(one)

    def now(self) -> list[ContextItem]:
        """Every item."""
        return self.s.items.list()


def expected(item: ContextItem) -> str:
    """The tier that goes with a score."""
    chosen = ItemSettings()
    if item.pinned or item.score >= chosen.hot:
        return "HOT"
    return "WARM" if item.score >= chosen.warm else "COLD"


@settings(max_examples=examples(40), phases=AS_FOUND)
@given(st.lists(steps, max_size=25), st.integers(0, 60))
def test_tiers_agree_with_scores(history: list[Step], days: int) -> None:
    clock = Ticking()
    with (
        TemporaryDirectory() as home,
        holdfast.open(home, project="p", user="ana", now=clock) as hf,
    ):
        life = Kept(hf, clock)
        for step in history:
            life.tell(step)
        clock.minutes += days * DAY
        before = {item.id: item.tier for item in life.now()}
        found = life.s.items.update_tiers()
        items = life.now()
        assert {item.id for item in items} == set(life.ids)
        for item in items:
            assert item.tier == expected(item)
            assert 0 <= item.score <= 1
        after = {item.id: item.tier for item in items}
        moved = {one: (before[one], after[one]) for one in after if before[one] != after[one]}
        assert found.moved == moved
        agrees_with_itself(life, items)
        head = hf.log.head()
        assert life.s.items.update_tiers().moved == {}
        assert hf.log.head() == head, "nothing moved, so nothing is recorded"
        known = life.now()  # the context is a younger event, which lets more time have passed
        hf.rebuild()
        assert life.now() == known


def agrees_with_itself(life: Kept, items: list[ContextItem]) -> None:
    """Lists by tier, figures and contexts say the same."""
    stats = life.s.items.stats()
    counted = (stats.hot_count, stats.warm_count, stats.cold_count)
    by_tier = {tier: life.s.items.list(tier=tier) for tier in TIERS}
    assert counted == tuple(len(by_tier[tier]) for tier in TIERS)
    for tier, of in by_tier.items():
        assert {one.id for one in of} == {one.id for one in items if one.tier == tier}
    order = [(not one.pinned, -one.score_now) for one in items]
    assert order == sorted(order)
    pack = life.s.context("what is open?", window=9_000, budget=900)
    levels = {one.shown.id: one.verdict for one in pack.receipt.candidates}
    hot = [one for one in by_tier["HOT"] if one.id in levels]
    assert len(hot) == len(by_tier["HOT"]), "every hot item is weighed for a context"
