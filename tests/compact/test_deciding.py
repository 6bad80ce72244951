"""Every chunk has a verdict with its reason; together they fit; what must stay stays."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.compact import scoring, strategies
from holdfast.compact.chunks import chunks
from holdfast.compact.room import Room
from holdfast.compact.strategies import Task, cost, decided, summary_size
from holdfast.errors import Invalid
from holdfast.model.compact import CompactSettings, Strategy
from holdfast.model.compactions import Decided
from holdfast.model.events import Event
from tests.compact.happenings import conversations, count, event, texts
from tests.property.effort import examples

NOW = 1_772_326_800_000
NAMES = get_args(Strategy)
LATE = {"recent", "decision", "instruction", "important", "pinned", "asked"}


def task(events: list[Event], room: int, strategy: str, prompt: str, recent: int = 3) -> Task:
    pieces = chunks(events, lambda one: count(str(one.payload)))
    chosen = replace(CompactSettings(), strategy=strategy, recent=recent)
    alike = scoring.likeness(prompt, [piece.text for piece in pieces])
    found = scoring.scores(pieces, alike, NOW, chosen)
    return Task(
        chunks=tuple(pieces),
        scores=tuple(found),
        room=Room.named(room),
        never=room,
        settings=chosen,
    )


def size(verdicts: list[Decided], chosen: CompactSettings) -> int:
    return sum(cost(one, chosen) for one in verdicts)


@given(conversations())
def test_chunks_cover_a_conversation_and_no_result_is_without_its_call(events: list[Event]) -> None:
    pieces = chunks(events, lambda _: 1)
    assert [seq for piece in pieces for seq in piece.seqs] == [one.event_seq for one in events]
    places = {seq: n for n, piece in enumerate(pieces) for seq in piece.seqs}
    for one in events:
        if one.kind == "tool_result":
            assert places[one.event_seq] == places[one.event_seq - 1]


@settings(max_examples=examples(150))
@given(conversations(), st.integers(0, 800), st.sampled_from(NAMES), texts)
def test_verdicts_fit_the_room_unless_only_what_must_stay_is_left(
    events: list[Event], room: int, strategy: str, prompt: str
) -> None:
    given_ = task(events, room, strategy, prompt)
    found = decided(given_)
    assert [one.id for one in found] == [piece.id for piece in given_.chunks]
    assert all(one.why for one in found)
    if size(found, given_.settings) > room:
        held = [one for one in found if one.verdict == "keep"]
        always = ("asked", "recent", "pinned")
        bound = [one for one in held if one.why not in always]
        assert {one.why for one in bound} <= {"decision", "instruction", "important"}
        assert sum(one.tokens for one in bound) <= 0.75 * room
        assert len([one for one in held if one.why in always[:2]]) <= 2
        assert sum(one.tokens for one in held if one.why == "pinned" and one.tokens > 100) <= room
        short = [one for one in found if one.verdict == "summarize"]
        always = ("pinned", "asked", "no_room")
        assert all(2 * one.tokens > room or one.why in always for one in short)


@settings(max_examples=examples(100))
@given(conversations(), st.sampled_from(NAMES), texts)
def test_what_must_stay_stays_where_there_is_room_for_it(
    events: list[Event], strategy: str, prompt: str
) -> None:
    given_ = task(events, 10**6, strategy, prompt)
    found = decided(given_)
    for piece, one in zip(given_.chunks, found, strict=True):
        if piece.stays:
            assert one.verdict == "keep"
            assert one.why in (piece.stays, "asked")
    assert all(one.verdict == "keep" for one in found[-3:])
    asked = [one for piece, one in zip(given_.chunks, found, strict=True) if piece.turn]
    assert not asked or asked[-1].verdict == "keep"


def asked(of: Task) -> list[int]:
    """Where the person's last words are."""
    return [piece.first for piece in of.chunks if piece.turn][-1:]


@settings(max_examples=examples(100))
@given(conversations(), st.integers(0, 400), st.sampled_from(NAMES), texts)
def test_what_is_pinned_stays_unless_it_is_too_much_by_itself(
    events: list[Event], room: int, strategy: str, prompt: str
) -> None:
    given_ = task(events, room, strategy, prompt)
    found = decided(given_)
    pinned = [one for p, one in zip(given_.chunks, found, strict=True) if p.stays == "pinned"]
    assert all(one.verdict != "drop" for one in pinned)
    others = [p for p in given_.chunks if p.stays in ("decision", "instruction", "important")]
    beside = [
        *(summary_size(one.tokens, given_.settings) for one in found if one.first in asked(given_)),
        *(cost(one, given_.settings) for one in found[-1:]),
        min(int(0.75 * room), sum(p.tokens for p in others)),
    ]
    if sum(one.tokens for one in pinned) + sum(beside) <= room:
        assert all(one.verdict == "keep" for one in pinned)
    else:
        long = [one.tokens for one in pinned if one.verdict == "keep" and one.tokens > 100]
        assert sum(long) <= room


def test_the_formula_is_the_one_of_the_settings() -> None:
    events = [event(1, "model_message", {"text": "the parser of the cart", "important": True})]
    (piece,) = chunks(events, lambda _: 10)
    chosen = CompactSettings()
    (one,) = scoring.scores([piece], [0.5], piece.at + 6 * 3_600_000, chosen)
    assert one.similarity == pytest.approx(0.6 * 0.5)
    assert one.recency == pytest.approx(0.2 * math.exp(-1))
    assert one.importance == pytest.approx(0.1)
    assert one.total == pytest.approx(0.3 + 0.2 * math.exp(-1) + 0.1)


@given(st.floats(0, 1), st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_chunk_is_never_worth_more_for_being_older(alike: float, age: int, more: int) -> None:
    (piece,) = chunks([event(1, "model_message", {"text": "a"})], lambda _: 1)
    chosen = CompactSettings()
    young = scoring.scores([piece], [alike], piece.at + age, chosen)[0].total
    old = scoring.scores([piece], [alike], piece.at + age + more, chosen)[0].total
    assert 0 <= old <= young <= 0.9


@given(texts, st.lists(texts, max_size=8))
def test_likeness_is_a_share_of_the_prompt(prompt: str, others: list[str]) -> None:
    found = scoring.likeness(prompt, [prompt, *others])
    assert all(0 <= one <= 1 + 1e-9 for one in found)
    assert found[0] == max(found)
    assert scoring.likeness("", others) == [0.0] * len(others)


def test_thresholds_decide_between_keeping_summarising_and_leaving() -> None:
    events = [event(n + 1, "model_message", {"text": f"step {n}"}) for n in range(3)]
    pieces = chunks(events, lambda _: 100)
    chosen = replace(CompactSettings(), recent=1)
    parts = [scoring.Score(similarity=x, recency=0, importance=0) for x in (0.7, 0.5, 0.3)]
    pieces.append(replace(pieces[0], id="last"))
    parts.append(scoring.Score(similarity=0, recency=0, importance=0))
    roomy = Room.named(10_000)
    task = Task(
        chunks=tuple(pieces), scores=tuple(parts), room=roomy, never=10_000, settings=chosen
    )
    found = decided(task)
    assert [(one.verdict, one.why) for one in found] == [
        ("keep", "relevant"),
        ("summarize", "between"),
        ("drop", "low_relevance"),
        ("keep", "recent"),
    ]


def test_the_other_ways_do_what_their_names_say() -> None:
    events = [event(n + 1, "user_message", {"text": f"turn {n}"}) for n in range(40)]
    slid = decided(task(events, 10**6, "sliding_window", "", recent=1))
    assert [one.verdict for one in slid] == ["drop"] * 10 + ["keep"] * 30
    room = 10 * chunks(events[-1:], lambda one: count(str(one.payload)))[0].tokens
    cut = decided(task(events, room, "token_truncation", "", recent=1))
    assert [one.verdict for one in cut] == ["drop"] * 30 + ["keep"] * 10
    short = decided(task(events, 10**6, "recursive_summarization", "", recent=4))
    assert [one.verdict for one in short] == ["summarize"] * 36 + ["keep"] * 4


def test_a_way_nobody_knows_is_refused_with_those_there_are() -> None:
    with pytest.raises(Invalid, match="adaptive, recursive_summarization, sliding_window"):
        decided(
            replace(task([], 1, "adaptive", ""), settings=replace(CompactSettings(), strategy="x"))
        )


def test_without_summaries_what_lies_between_leaves() -> None:
    given_ = task(
        [event(n + 1, "model_message", {"text": "a"}) for n in range(9)], 10**6, "adaptive", "a"
    )
    bare = replace(given_, settings=replace(given_.settings, summarize=False))
    assert {one.verdict for one in decided(bare)} <= {"keep", "drop"}
    assert strategies.STRATEGIES.keys() == set(NAMES)
