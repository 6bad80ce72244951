"""When a compaction is due, and what is said of when the next one will be."""

from __future__ import annotations

import pytest

from holdfast.compact.pressure import Bounds, Fill, due, next_at, pressure
from holdfast.model.compact import CompactSettings, Trigger

WINDOW = Bounds(limit=100_000, history=90_000, refill=0.5)


def fill(tokens: int) -> Fill:
    return Fill(tokens=tokens, talk=tokens, left=0, since=())


@pytest.mark.parametrize("triggers", [(), ("gate",), ("turns", "idle")])
@pytest.mark.parametrize(("flash", "begins"), [(None, 80_000), (20_000, 20_000)])
def test_everything_is_saved_in_time_whatever_the_triggers_are(
    triggers: tuple[Trigger, ...], flash: int | None, begins: int
) -> None:
    settings = CompactSettings(triggers=triggers, flash_tokens=flash)
    assert due(fill(begins - 1), WINDOW, settings) == ""
    assert due(fill(begins), WINDOW, settings) == "tokens"
    assert next_at(WINDOW.limit, settings) == begins


def test_the_next_compaction_is_at_the_smallest_of_what_begins_one() -> None:
    settings = CompactSettings()
    assert next_at(100_000, settings) == 50_000
    assert next_at(100_000, CompactSettings(flash_tokens=70_000)) == 50_000
    assert next_at(100_000, CompactSettings(flash_at=0.45)) == 45_000
    few = CompactSettings(flash_tokens=3_000)
    assert pressure(1_000, 100_000, few, [500] * 5).turns_left == 4


def test_a_conversation_without_room_is_compacted_whatever_the_triggers_are() -> None:
    narrow = Bounds(limit=100_000, history=3_000, refill=0.5)
    assert due(fill(3_001), narrow, CompactSettings(triggers=())) == "tokens"
