"""Memories over any history: what they were at any time, who may change them, and their trust."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from holdfast.model.events import Entry, Event
from holdfast.model.memories import (
    CATEGORIES,
    CONTENT,
    KINDS,
    MOST_CHANGES,
    SCOPES,
    Memory,
    as_dict,
    as_of,
    current,
    state,
    visible,
)
from holdfast.views.memories import MemoryView, learned
from tests.contract.entries import entry
from tests.property.effort import examples
from tests.property.histories import (
    Row,
    about_memories,
    folded,
    histories,
    recorded,
    values,
)
from tests.property.lives import TIMES, lives, moments

VIEW = (MemoryView(),)


def memories_in(rows: Sequence[Row]) -> dict[str, Memory]:
    found = [msgspec.json.decode(row, type=Memory) for view, _, row in rows if view == "memories"]
    return {one.id: one for one in found}


def memories_of(events: Sequence[Event]) -> dict[str, Memory]:
    return memories_in(folded(events, views=VIEW))


# ---- what it was --------------------------------------------------------------------------------


@settings(max_examples=examples(120))
@given(lives())
def test_at_any_time_a_memory_is_the_fold_of_the_events_up_to_it(told: list[Entry]) -> None:
    events = recorded(told)
    whole = memories_of(events)
    for time in TIMES:
        then = memories_of([event for event in events if event.timestamp <= time])
        found = {one: as_of(memory, time) for one, memory in whole.items()}
        assert {one: memory for one, memory in found.items() if memory} == then


@settings(max_examples=examples(60))
@given(lives(), st.integers(0, 6), st.integers(0, 6))
def test_looking_back_from_the_past_is_looking_back_further(
    told: list[Entry], one: int, other: int
) -> None:
    early, late = sorted([TIMES[one], TIMES[other]])
    for memory in memories_of(recorded(told)).values():
        then = as_of(memory, late)
        assert (as_of(then, early) if then else None) == as_of(memory, early)


@settings(max_examples=examples(60))
@given(lives(), st.integers(1, 12))
def test_the_same_however_the_history_is_cut(told: list[Entry], size: int) -> None:
    events = recorded(told)
    rows: list[Row] = []
    for n in range(0, len(events), size):
        rows = folded(events[n : n + size], rows)
    assert rows == folded(events)


def test_a_history_is_bounded_and_still_right_where_it_reaches() -> None:
    told = [entry(type="memory_learned@1", payload={"memory": "mem_a", "text": "0"})]
    for n in range(1, MOST_CHANGES + 50):
        said = {"memory": "mem_a", "changes": {"text": str(n), "importance": n % 7 / 7}}
        at = f"2026-03-01T{n // 60:02d}:{n % 60:02d}:00.000Z"
        told.append(entry(type="memory_revised@1", payload=said, timestamp=at))
    told = [replace(told[0], timestamp="2026-03-01T00:00:00.000Z"), *told[1:]]
    memory = memories_of(recorded(told))["mem_a"]
    assert len(memory.history) == MOST_CHANGES
    assert (memory.text, memory.revision) == (str(MOST_CHANGES + 49), MOST_CHANGES + 49)
    for n in (51, 100, MOST_CHANGES + 49):
        then = as_of(memory, f"2026-03-01T{n // 60:02d}:{n % 60:02d}:30.000Z")
        assert then is not None
        assert (then.text, then.revision, then.importance) == (str(n), n, n % 7 / 7)


# ---- what holds ---------------------------------------------------------------------------------


@settings(max_examples=examples(100))
@given(lives(), moments)
def test_what_was_taken_out_of_use_or_ran_out_is_never_current(told: list[Entry], now: str) -> None:
    events = recorded(told)
    for one, memory in memories_of(events).items():
        out = memory.forgotten_at or memory.superseded_by or memory.merged_into
        early = memory.valid_from is not None and memory.valid_from > now
        late = any(end is not None and end <= now for end in (memory.valid_to, memory.expires_at))
        assert current(memory, now) is (not out and not early and not late)
        assert (state(memory, now) == "current") is current(memory, now)
        last = [event for event in _about(events, one) if _taken(event, memory)]
        if last and last[-1].kind != "memory_restored":
            assert not current(memory, now)


def _about(events: Sequence[Event], one: str) -> list[Event]:
    """The events that name this memory, once it is there."""
    found = [e for e in events if one == e.payload["memory"] or one in e.payload.get("from", ())]
    kinds = [event.kind for event in found]
    return found[kinds.index("memory_learned") + 1 :]


def _taken(event: Event, memory: Memory) -> bool:
    """Does this event take the memory out of use, or bring it back?"""
    mine = event.payload["memory"] == memory.id
    itself = {"memory_superseded": event.payload.get("by") == memory.id, "memory_merged": mine}
    about = event.kind in ("memory_forgotten", "memory_superseded", "memory_merged")
    outside = event.trust == 0 and memory.history[0].trust > 0
    seen = visible(memory, event.user, event.agent) and not outside
    return seen and (about or event.kind == "memory_restored") and not itself.get(event.kind)


@settings(max_examples=examples(60))
@given(lives())
def test_a_memory_names_each_of_its_sources_once(told: list[Entry]) -> None:
    events = {event.event_seq: event for event in recorded(told)}
    for one, memory in memories_of([*events.values()]).items():
        derived = [
            events[change.event_seq]
            for change in memory.history
            if change.what in ("learned", "revised")
            or (change.what == "merged" and events[change.event_seq].payload["memory"] == one)
        ]
        sources = [source for event in derived for source in event.sources]
        assert list(memory.sources) == list(dict.fromkeys(sources))


# ---- who may change it --------------------------------------------------------------------------


@settings(max_examples=examples(100))
@given(lives())
def test_nobody_changes_what_they_may_not_see(told: list[Entry]) -> None:
    events = recorded(told)
    for one, memory in memories_of(events).items():

        def mine(event: Event, memory: Memory = memory) -> bool:
            return visible(memory, event.user, event.agent)

        alone = memories_of([event for event in events if mine(event)])
        assert alone[one] == memory


@settings(max_examples=examples(100))
@given(lives())
def test_what_comes_from_outside_changes_only_what_came_from_outside(told: list[Entry]) -> None:
    events = recorded(told)
    inside = memories_of([event for event in events if event.trust > 0])
    for one, memory in memories_of(events).items():
        if memory.history[0].trust > 0:
            assert memory == inside[one]


@settings(max_examples=examples(100))
@given(lives())
def test_trust_rises_by_a_person_s_own_word_and_by_nothing_else(told: list[Entry]) -> None:
    events = recorded(told)
    words = [event for event in events if event.kind != "trust_changed" or event.trust < 3]
    at_first = {e.payload["memory"]: e.trust for e in events if e.kind == "memory_learned"}
    for one, memory in memories_of(words).items():
        authors = [e.trust for e in _about(words, one) if e.kind == "memory_revised"]
        assert memory.trust <= at_first[one]
        assert memory.trust >= min([at_first[one], *authors])
        rewritten = [c for c in memory.history if c.what == "revised" and CONTENT & c.set.keys()]
        assert memory.trust == min([at_first[one], *(change.trust for change in rewritten)])


@settings(max_examples=examples(150))
@given(about_memories, st.sampled_from(sorted(MemoryView.kinds)), st.integers(0, 2))
def test_no_payload_can_claim_trust_or_an_owner(said: Any, kind: str, trust: int) -> None:
    claims = {"trust": 3, "origin": "user", "user": "ben", "agent": "critic"}
    told = [
        entry(
            type="memory_learned@1",
            payload={**claims, "memory": "mem_1", "text": "x"},
            origin="agent",
            trust=trust,
        ),
        entry(type=f"{kind}@1", payload={**said, **claims, "changes": claims}, trust=trust),
    ]
    found = memories_of(recorded(told))["mem_1"]
    assert (found.trust, found.origin, found.user, found.agent) == (trust, "agent", "ana", "coder")


# ---- whatever a payload holds -------------------------------------------------------------------


@settings(max_examples=examples(150))
@given(histories(max_size=25))
def test_a_row_is_a_memory_whatever_it_was_made_of(told: list[Entry]) -> None:
    for memory in memories_in(folded(recorded(told))).values():
        assert memory.text.strip()
        assert memory.scope in SCOPES
        assert memory.kind in KINDS
        assert memory.category in CATEGORIES
        assert 0 <= memory.importance <= 1
        assert 0 <= memory.confidence <= 1
        assert 0 <= memory.trust <= 3
        assert len(memory.index) <= 50
        assert "\n" not in memory.index
        assert memory.revision == sum(change.what == "revised" for change in memory.history)
        assert memory.history[0].what == "learned"
        for time in ("", "2026-01-31T09:00:15.000Z", "9999"):
            then = as_of(memory, time)
            assert then is None or then.id == memory.id
            assert state(memory, time)
        assert as_dict(memory).keys() == asdict(memory).keys()
        assert as_of(memory, "9999") == memory


@settings(max_examples=examples(100))
@given(st.sampled_from(sorted(MemoryView.kinds)), st.dictionaries(st.text(), values) | values)
def test_what_names_no_memory_makes_and_changes_none(kind: str, said: Any) -> None:
    there = [entry(type="memory_learned@1", payload={"memory": "mem_a", "text": "x"})]
    told = [*there, entry(type=f"{kind}@1", payload=said)]
    assert memories_of(recorded(told)).keys() == {"mem_a"}
    assert len(memories_of(recorded(told))["mem_a"].history) == 1


@pytest.mark.parametrize(
    "said",
    [
        {"text": "x"},
        {"memory": "mem_a"},
        {"memory": "mem_a", "text": ""},
        {"memory": "mem_a", "text": " \n"},
        {"memory": "mem_a", "text": 5},
        {"memory": "mem_a", "key": "k"},
        {"memory": "mem_a", "key": "k", "value": " "},
        {"memory": "evt_a", "text": "x"},
        {"memory": ["mem_a"], "text": "x"},
        {"memory": "mem_" + "a" * 200, "text": "x"},
    ],
)
def test_what_says_nothing_is_no_memory(said: Any) -> None:
    assert memories_of(recorded([entry(type="memory_learned@1", payload=said)])) == {}


def test_nothing_is_replaced_by_itself() -> None:
    told = [entry(type="memory_learned@1", payload={"memory": "mem_a", "text": "x"})]
    for kind, said in (
        ("memory_superseded", {"by": "mem_a"}),
        ("memory_superseded", {"by": "nobody"}),
        ("memory_superseded", {}),
        ("memory_merged", {"from": ["mem_a"]}),
    ):
        told.append(entry(type=f"{kind}@1", payload={"memory": "mem_a", **said}))
    assert current(memories_of(recorded(told))["mem_a"], "2026")


def test_the_first_event_of_an_id_makes_the_memory() -> None:
    told = [
        entry(type="memory_learned@1", payload={"memory": "mem_a", "text": text})
        for text in ("first", "second")
    ]
    assert memories_of(recorded(told))["mem_a"].text == "first"


def test_a_memory_is_known_from_its_event_alone() -> None:
    (event,) = recorded([entry(type="memory_learned@1", payload={"memory": "mem_a", "text": "x"})])
    assert learned(event) == memories_of([event])["mem_a"]
