"""What no longer holds, or does not hold yet, never comes as if it did."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings

import holdfast
from holdfast.model.memories import current
from tests.property.effort import examples
from tests.recall.careers import Career, Step, careers, everything, remembered
from tests.recall.replays import AS_FOUND, DAY, MINUTE, Ticking, ids, stamp

Holdfast = holdfast.Holdfast


@pytest.fixture(autouse=True)
def _words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


@settings(max_examples=examples(40), phases=AS_FOUND)
@given(careers)
def test_recall_gives_the_memories_that_hold_and_no_other(taken: list[Step]) -> None:
    clock = Ticking()
    with (
        tempfile.TemporaryDirectory() as place,
        holdfast.open(place, project="p", user="ana", now=clock) as hf,
    ):
        career = Career(hf, clock)
        for step in taken:
            career.take(step)
            every = [hf.get(one) for one in career.made]
            now = stamp(clock.minutes)
            holds = {memory.id: memory.text for memory in every if current(memory, now)}
            found = everything(hf)
            assert remembered(found) == holds
            assert {hit.id: hit.text for hit in found if hit.memory is not None} == holds
            assert {m.id for m in hf.retrieve_recent(9_999, 1_000)} == holds.keys()
            tagged = {memory.id for memory in every if memory.id in holds and memory.tags}
            assert {m.id for m in hf.retrieve_by_tags(["red", "blue"], 1_000)} == tagged


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def hf(tmp_path: Path, clock: Ticking) -> Holdfast:
    return holdfast.open(tmp_path / "home", project="p", user="ana", now=clock)


def test_what_was_taken_out_of_use_comes_back_when_it_is_restored(hf: Holdfast) -> None:
    one = hf.remember("we deploy with ansible").id
    two = hf.remember("ansible runs on fridays").id
    assert ids(hf.recall("ansible deploy", min_relevance=0))[0] == one
    hf.forget(one, reason="old")
    assert ids(hf.recall("ansible deploy", min_relevance=0)) == [two]
    hf.restore(one)
    assert sorted(ids(hf.recall("ansible deploy", min_relevance=0))) == sorted([one, two])
    new = hf.remember("we deploy with nix", supersedes=one).id
    assert one not in ids(hf.recall("ansible deploy", min_relevance=0))
    hf.restore(one)
    assert {one, new} <= set(ids(hf.recall("ansible deploy", min_relevance=0)))
    hf.merge([new, one])
    assert one not in ids(hf.recall("ansible deploy", min_relevance=0))
    hf.restore(one)
    assert one in ids(hf.recall("ansible deploy", min_relevance=0))


def test_a_value_that_changed_is_answered_with_the_new_one(hf: Holdfast) -> None:
    old = hf.remember(key="database", value="PostgreSQL 15")
    new = hf.remember(key="database", value="PostgreSQL 18")
    found = hf.recall("which database do we use?", min_relevance=0)
    assert ids(found) == [new.id]
    assert found[0].memory is not None
    assert found[0].memory.supersedes == (old.id,)
    assert old.id in found[0].related


def test_a_memory_holds_from_its_first_moment_to_its_last(hf: Holdfast, clock: Ticking) -> None:
    one = hf.remember(
        "the freeze is on", valid_from=stamp(10), valid_to=stamp(20), tags=["freeze"]
    ).id
    for minutes, holds in ((9, False), (10, True), (19, True), (20, False)):
        clock.minutes = minutes
        wanted = [one] if holds else []
        assert ids(hf.recall("is the freeze on?", min_relevance=0)) == wanted, minutes
        assert [m.id for m in hf.retrieve_by_tags(["freeze"])] == wanted, minutes
        assert [m.id for m in hf.list()] == wanted, minutes
        assert ids(hf.recall("freeze", as_of=stamp(minutes), min_relevance=0)) == wanted, minutes


def test_when_the_clock_is_far_ahead_recall_and_list_agree_about_what_ran_out(
    hf: Holdfast, clock: Ticking
) -> None:
    """Expiry stands still while the clock is more than 30 days past the newest event."""
    hf.remember("the sprint token is active", expires_at=stamp(DAY / MINUTE))
    for days in (0.5, 2, 40, 400):
        clock.minutes = days * DAY / MINUTE
        found = {hit.id for hit in hf.recall("sprint token", min_relevance=0)}
        assert found == {memory.id for memory in hf.list()}, f"after {days} days"


def test_a_revised_memory_is_not_found_by_what_it_said_before(hf: Holdfast) -> None:
    one = hf.remember("the cache lives in memcached").id
    hf.recall("memcached", min_relevance=0)
    hf.revise(one, text="the sessions live in redis")
    assert not hf.recall("memcached", min_relevance=0)
    assert ids(hf.recall("redis", min_relevance=0)) == [one]
