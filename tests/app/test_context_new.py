"""What a host that keeps the conversation itself is given: what is new, each thing once, and everything
again after it shortened its window."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

import holdfast
from holdfast.model.packs import Pack
from tests.app.conversations import AROUND, EVERYTHING, HOST, LEARN, TALK, Move, lived, lives, taken
from tests.compose.marks import numbered
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


@settings(max_examples=examples(25), phases=AS_FOUND)
@given(lives(EVERYTHING, most=18))
def test_what_is_new_in_each_context_makes_up_all_that_is_remembered(told: list[Move]) -> None:
    with lived(told, budget=1_500, new_tokens=600) as (_, packs):
        window: dict[int, str] = {}
        for pack in packs:
            window = {} if pack.receipt.epoch_began else window
            new = numbered(pack.new)
            assert not set(new) & set(window)
            assert set(new) == {one.number for one in taken(pack)}
            window |= new
            assert window == numbered(pack.text)


@settings(max_examples=examples(12), phases=AS_FOUND)
@given(lives((*TALK, *LEARN, *AROUND, *HOST), most=18))
def test_a_replay_tells_the_same_news(told: list[Move]) -> None:
    with lived(told, budget=1_500) as (life, packs):
        for pack in packs:
            assert life.hf.replay(pack.id).new == pack.new


@settings(max_examples=examples(15), phases=AS_FOUND)
@given(lives((*TALK, *LEARN, "compacted", "compacted"), most=20))
def test_nothing_from_before_the_window_was_shortened_counts_as_shown(told: list[Move]) -> None:
    with lived(told, budget=2_000) as (life, packs):
        events = list(life.hf.events(session_id="s"))
        for pack in packs:
            of = next(e for e in events if e.event_id == pack.receipt.epoch)
            packed = next(e for e in events if e.event_id == pack.id)
            lost = [
                e.event_seq
                for e in events
                if e.kind == "compacted" and e.event_seq < packed.event_seq
            ]
            shortened = max(lost, default=0)
            assert of.event_seq > shortened
            assert of.payload["history_from"] >= shortened


def first(hf: holdfast.Holdfast, **more: int | None) -> Pack:
    s = hf.session(agent="coder")
    chosen = replace(hf.settings.compose, first_tokens=more["first_tokens"])
    return s.context("how do we deploy the service", settings=chosen)


def test_an_epoch_may_be_told_to_begin_small(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as hf:
        for n in range(60):
            hf.remember(f"the service is deployed by step {n} of the long list of deploy steps")
        whole, small = first(hf, first_tokens=None), first(hf, first_tokens=200)
        assert 0 < small.receipt.new_tokens <= 200 < whole.receipt.new_tokens
        assert {c.verdict for c in small.receipt.candidates} >= {"taken", "cap"}


def test_only_the_host_says_that_its_window_was_shortened(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as hf:
        hf.remember("tabs, never spaces", category="rules")
        s = hf.session(agent="coder", session_id="s").start()
        began = s.context("style").receipt.epoch
        s.record("compacted", {"by": "host"}, origin="tool")
        s.record("compacted", {"strategy": "adaptive"}, origin="system")
        assert s.context("style again").receipt.epoch == began
        s.record("compacted", {"by": "host"}, origin="system")
        after = s.context("style once more")
        assert after.receipt.epoch_began == "the host has shortened its conversation"
        assert "tabs, never spaces" in after.new
