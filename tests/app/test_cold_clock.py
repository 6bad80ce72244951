"""By which clock what left runs out: one that the log has seen go, whatever is said at a wrong one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from tests.app.test_cold import dropped
from tests.recall.replays import DAY, MINUTE, Ticking

YEARS = 3_650


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def hf(clock: Ticking, tmp_path: Path) -> Iterator[holdfast.Holdfast]:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=clock) as opened:
        yield opened


def days(clock: Ticking, more: float) -> None:
    clock.minutes += more * DAY / MINUTE


@pytest.mark.parametrize("ahead", [31, YEARS])
def test_what_is_said_at_a_clock_that_jumped_lets_nothing_run_out(
    hf: holdfast.Holdfast, clock: Ticking, ahead: int
) -> None:
    found = dropped(hf)
    s = hf.session(agent="coder", session_id="other").start()
    days(clock, ahead)
    assert "nothing was recorded" in hf.cold.expire(dry_run=False).paused
    s.user("one word")
    assert "nothing was recorded" in hf.cold.expire(dry_run=False).paused
    s.end()
    with hf.session(agent="coder"):
        pass
    assert len(hf.cold.list()) == len(found)
    days(clock, -ahead)
    s.user("the clock is right again")
    assert hf.cold.expire(dry_run=False).chunks == ()
    assert len(hf.cold.list()) == len(found)


def test_after_a_month_of_silence_what_is_over_runs_out_a_day_later(
    hf: holdfast.Holdfast, clock: Ticking
) -> None:
    found = dropped(hf)
    days(clock, 90)
    s = hf.session(agent="coder").start()
    s.user("back again")
    s.end()
    assert len(hf.cold.list()) == len(found)
    days(clock, 1)
    s.end()
    assert hf.cold.list() == []


def test_history_is_no_clock(hf: holdfast.Holdfast, clock: Ticking) -> None:
    found = dropped(hf)
    s = hf.session(agent="coder").start()
    days(clock, 29)
    s.user("still here")
    days(clock, 2)
    s.user("long ago", at="2020-01-01T00:00:00Z")
    assert len(hf.cold.expire().chunks) == len(found)
    s.user("some day", at="2050-01-01T00:00:00Z")
    s.end()
    assert hf.cold.list() == []


def test_a_clock_before_the_newest_event_lets_nothing_run_out(
    hf: holdfast.Holdfast, clock: Ticking
) -> None:
    dropped(hf)
    s = hf.session(agent="coder").start()
    for _ in range(4):
        days(clock, 10)
        s.user("still here")
    days(clock, -5)
    assert "before the newest" in hf.cold.expire(dry_run=False).paused
