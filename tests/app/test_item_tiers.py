"""A tier is what an item is worth when that is written: others act in between, clocks may be wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.model.events import Draft
from holdfast.model.items import ContextItem
from tests.recall.replays import DAY, MINUTE, Ticking


class Busy(Ticking):
    """A clock at which somebody else acts once, while it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] | None = None

    def now_ms(self) -> int:
        """The time, after what happens meanwhile."""
        act, self.meanwhile = self.meanwhile, None
        if act is not None:
            act()
        return super().now_ms()

    def days(self, days: float) -> None:
        self.minutes += days * DAY / MINUTE


def opened(home: Path, clock: Ticking) -> holdfast.Holdfast:
    return holdfast.open(home, project="p", user="ana", now=clock)


@pytest.mark.parametrize(
    "act",
    [
        lambda items, one: items.pin(one.id, agent="coder"),
        lambda items, one: items.save("saved again", id=one.id, agent="coder"),
    ],
)
def test_what_somebody_else_made_hot_meanwhile_stays_hot(
    tmp_path: Path, act: Callable[[object, ContextItem], ContextItem]
) -> None:
    clock, usual = Busy(), Ticking()
    with opened(tmp_path, clock) as hf, opened(tmp_path, usual) as other:
        item = hf.items.save("fix the release", "TASK", agent="coder")
        usual.minutes = clock.minutes = 20 * DAY / MINUTE
        clock.meanwhile = lambda: act(other.items, item)
        update = hf.items.update_tiers(agent="coder")
        kinds = [event.kind for event in hf.events()]
        assert kinds == ["item_saved", "item_saved", "tiers_assigned"]
        assert hf.items.get(item.id, agent="coder").tier == "HOT"
        assert (update.after["HOT"], update.moved) == (1, {})


def test_what_is_pinned_stays_hot_whatever_an_old_log_says(tmp_path: Path) -> None:
    with opened(tmp_path, Ticking()) as hf:
        pinned, plain = (hf.items.save(f"item {n}", "TASK", agent="coder") for n in range(2))
        hf.items.pin(pinned.id, agent="coder")
        tiers = {one.id: {"tier": "COLD", "score": 1_000} for one in (pinned, plain)}
        said = {"tiers": tiers, "why": "asked for"}
        hf.record(
            [Draft(type="tiers_assigned", payload=said, origin="system", agent="coder", user="ana")]
        )
        found = {one.id: (one.tier, one.score) for one in hf.items.list(agent="coder")}
        assert found == {pinned.id: ("HOT", 1.0), plain.id: ("COLD", 0.001)}


def test_a_section_of_a_specification_stays_hot_for_its_first_hours(tmp_path: Path) -> None:
    clock = Busy()
    with opened(tmp_path, clock) as hf, hf.session(agent="coder") as s:
        item = s.items.save("The API answers 404 for what is not there", "PRD_SECTION")
        clock.minutes += 60
        s.task_done("something else")
        assert s.items.get(item.id).tier == "HOT"


def test_what_was_saved_by_a_clock_far_ahead_fades_once_it_was_weighed(tmp_path: Path) -> None:
    clock = Busy()
    with opened(tmp_path, clock) as hf:
        clock.days(3_000)
        item = hf.items.save("from the future", "TASK", agent="coder")
        clock.days(-3_000)
        assert hf.items.update_tiers(agent="coder").moved == {}
        clock.days(5)
        assert hf.items.get(item.id, agent="coder").score_now == pytest.approx(0.4895, abs=1e-4)
        hf.items.update_tiers(agent="coder")
        assert hf.items.get(item.id, agent="coder").tier == "WARM"
        recorded = hf.log.head()
        hf.items.update_tiers(agent="coder")
        assert hf.log.head() == recorded
