"""As things stood then: an answer about the past is the answer the log of then would give."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.model.memories import MOST_CHANGES
from tests.property.effort import examples
from tests.recall.careers import Career, Step, careers, everything, remembered, shown
from tests.recall.replays import AS_FOUND, Ticking, forgotten_index, ids, stamp, told_again

Holdfast = holdfast.Holdfast


@pytest.fixture(autouse=True)
def _words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


def lived(home: Path, taken: list[Step], *, asked_on_the_way: bool) -> Ticking:
    """A history in a home; the clock at its end."""
    clock = Ticking()
    with holdfast.open(home, project="p", user="ana", now=clock) as hf:
        career = Career(hf, clock)
        for step in taken:
            career.take(step)
            if asked_on_the_way:
                everything(hf)
    return clock


@pytest.mark.parametrize("asked_on_the_way", [True, False], ids=["as it came", "all at once"])
@settings(max_examples=examples(25), phases=AS_FOUND)
@given(taken=careers, cuts=st.lists(st.integers(0, 20), min_size=3, max_size=3))
def test_what_stood_then_is_what_the_log_up_to_then_holds(
    asked_on_the_way: bool, taken: list[Step], cuts: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place) / "whole"
        clock = lived(whole, taken, asked_on_the_way=asked_on_the_way)
        for n, cut in enumerate(cuts):
            then, part = stamp(cut + 0.5), Path(place) / f"part {n}"
            told_again(whole, part, ["p"], lambda event, then=then: event.timestamp <= then)  # type: ignore[misc]
            with holdfast.open(whole, project="p", user="ana", now=clock) as hf:
                found = everything(hf, as_of=then)
                stood = {m.id: m.text for m in hf.list(as_of=then)}
            with holdfast.open(part, project="p", user="ana", now=clock) as hf:
                assert shown(found) == shown(everything(hf, as_of=then))
            assert remembered(found) == stood


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def hf(tmp_path: Path, clock: Ticking) -> Holdfast:
    return holdfast.open(tmp_path / "home", project="p", user="ana", now=clock)


def revised(hf: Holdfast, clock: Ticking, *, asked_between: bool) -> str:
    made = hf.remember("the uploader retries three times")
    if asked_between:
        everything(hf)
    clock.minutes = 10
    hf.revise(made.id, text="the uploader retries five times with backoff")
    clock.minutes = 20
    return made.id


@pytest.mark.parametrize("asked_between", [True, False])
def test_the_old_text_is_found_and_shown_as_of_its_time(
    hf: Holdfast, clock: Ticking, asked_between: bool
) -> None:
    one = revised(hf, clock, asked_between=asked_between)
    (hit,) = hf.recall("uploader retries three", as_of=stamp(5), min_relevance=0)
    assert (hit.id, hit.text) == (one, "the uploader retries three times")
    assert hit.memory is not None
    assert hit.memory.text == hit.text
    (now,) = hf.recall("uploader retries three", min_relevance=0)
    assert now.text == "the uploader retries five times with backoff"


@pytest.mark.parametrize("asked_between", [True, False])
@pytest.mark.parametrize("verb", ["forget", "supersede", "trust", "merge", "restore"])
def test_what_happened_to_it_later_does_not_hide_what_it_was(
    hf: Holdfast, clock: Ticking, verb: str, asked_between: bool
) -> None:
    one = hf.remember("the queue is called outbound").id
    other = hf.remember("the outbound queue has priority").id
    if asked_between:
        everything(hf)
    clock.minutes = 10
    act: dict[str, Callable[[], Any]] = {
        "forget": lambda: hf.forget(one, reason="gone"),
        "supersede": lambda: hf.remember("queues have no names", supersedes=one),
        "trust": lambda: hf.trust(one, 2, reason="seen"),
        "merge": lambda: hf.merge([other, one]),
        "restore": lambda: (hf.forget(one, reason="gone"), hf.restore(one)),
    }
    act[verb]()
    clock.minutes = 20
    found = hf.recall("outbound queue", as_of=stamp(5), min_relevance=0)
    assert sorted(ids(found)) == sorted([one, other])


def test_a_memory_of_many_revisions_is_found_at_each_time(hf: Holdfast, clock: Ticking) -> None:
    one = hf.remember("the limit of the gateway is 0 requests").id
    for n in range(1, 91):
        clock.minutes = n
        hf.revise(one, text=f"the limit of the gateway is {n} requests")
        if n % 10 == 0:
            everything(hf)
    clock.minutes = 100
    for n in (10, 50, 90):
        found = hf.recall("limit of the gateway", 3, as_of=stamp(n + 0.5), min_relevance=0)
        assert [hit.text for hit in found] == [f"the limit of the gateway is {n} requests"]


def test_what_is_told_about_the_past_later_counts_from_its_own_time(
    hf: Holdfast, clock: Ticking
) -> None:
    clock.minutes = 100
    s = hf.session(agent="coder", session_id="s")
    late = s.user("the invoice export broke", at=stamp(30))
    learned = hf.remember("the invoice export needs python 3.11", at=stamp(40))
    found = hf.recall("invoice export", as_of=stamp(35), min_relevance=0)
    assert ids(found) == [late.event_id]
    found = hf.recall("invoice export", as_of=stamp(45), min_relevance=0)
    assert sorted(ids(found)) == sorted([late.event_id, learned.id])
    assert not hf.recall("invoice export", as_of=stamp(20), min_relevance=0)


def test_revisions_that_are_told_out_of_order_show_what_stood(hf: Holdfast, clock: Ticking) -> None:
    one = hf.remember("the port is 8001", at=stamp(1)).id
    hf.revise(one, text="the port is 8009", at=stamp(9))
    everything(hf)
    hf.revise(one, text="the port is 8007", at=stamp(7))
    clock.minutes = 20
    for minute, port in ((2, 8001), (8, 8007), (10, 8007)):
        (hit,) = hf.recall("which port", as_of=stamp(minute), min_relevance=0)
        assert hit.memory is not None
        assert (hit.text, hit.memory.text) == (f"the port is {port}", f"the port is {port}")


def test_in_the_past_later_use_counts_for_nothing(hf: Holdfast, clock: Ticking) -> None:
    one = hf.remember("the staging host is called magpie").id
    clock.minutes = 5
    before = hf.recall("staging host", as_of=stamp(5), min_relevance=0)
    clock.minutes = 10
    hf.used([one], "wrong")
    after = hf.recall("staging host", as_of=stamp(5), min_relevance=0)
    assert [(h.id, h.score) for h in before] == [(h.id, h.score) for h in after] != []


def test_an_index_made_anew_remembers_the_past(tmp_path: Path, clock: Ticking) -> None:
    home = tmp_path / "home"
    with holdfast.open(home, project="p", user="ana", now=clock) as hf:
        revised(hf, clock, asked_between=True)
        before = shown(hf.recall("uploader retries three", as_of=stamp(5), min_relevance=0))
    forgotten_index(home)
    with holdfast.open(home, project="p", user="ana", now=clock) as hf:
        after = shown(hf.recall("uploader retries three", as_of=stamp(5), min_relevance=0))
    assert after == before != {}


def test_of_many_values_of_one_key_that_of_then_is_found(hf: Holdfast, clock: Ticking) -> None:
    for n in range(450):
        clock.minutes = n
        hf.remember(f"the deploy is at step {n}", key="deploy", value=f"step {n}")
    for n in (60, 220, 449):
        found = hf.recall("where is the deploy?", 3, as_of=stamp(n + 0.5), min_relevance=0)
        assert [hit.text for hit in found] == [f"the deploy is at step {n}"]


@pytest.mark.parametrize("asked_between", [True, False])
def test_more_changes_than_a_row_keeps_leave_the_last_words_found(
    tmp_path: Path, clock: Ticking, asked_between: bool
) -> None:
    with holdfast.open(tmp_path, project="p", user="ana", now=clock) as hf:
        one = hf.remember("the gateway is called heron").id
        hf.revise(one, text="the gateway is called magpie")
        if asked_between:
            everything(hf)
        for n in range(MOST_CHANGES + 5):
            hf.trust(one, n % 3, reason="seen")
        live = hf.recall("what is the gateway called?", min_relevance=0)
        assert [hit.text for hit in live] == ["the gateway is called magpie"]
    forgotten_index(tmp_path)
    with holdfast.open(tmp_path, project="p", user="ana", now=clock) as hf:
        assert ids(hf.recall("magpie", min_relevance=0)) == ids(live) == [one]
