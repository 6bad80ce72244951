"""What is kept beside memories: their slots, how they were used, and all of it in snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.engines.reference.log import MemoryLog
from holdfast.engines.reference.views import MemorySnapshots, MemoryViews
from holdfast.model.events import Entry
from holdfast.model.memories import (
    SCOPES,
    Usage,
    slot,
    visible,
)
from holdfast.model.settings import ViewSettings
from holdfast.views import knowledge, snapshot, state
from holdfast.views.every import VIEWS
from holdfast.views.runner import Runner
from holdfast.views.slots import SlotView
from holdfast.views.usage import UsageView
from tests.contract.entries import entry
from tests.property.effort import examples
from tests.property.histories import (
    folded,
    recorded,
)
from tests.property.lives import IDS, agents, lives, users

# ---- slots and usage ----------------------------------------------------------------------------


def reading(events: Sequence[Entry]) -> Runner:
    log = MemoryLog()
    log.append(list(events))
    made = {"spare": MemoryViews, "project_id": "p", "settings": ViewSettings()}
    return Runner(log, MemoryViews(), MemorySnapshots(), **made)  # type: ignore[arg-type]


@settings(max_examples=examples(80))
@given(st.lists(st.tuples(st.sampled_from(["db", "DB ", "", "os"]), users, agents), max_size=15))
def test_a_slot_names_every_memory_that_was_learned_for_it(learnt: list[Any]) -> None:
    told = []
    for n, (key, user, agent) in enumerate(learnt):
        said = {"memory": f"mem_{n}", "text": "x", "key": key, "scope": SCOPES[n % 4]}
        told.append(entry(type="memory_learned@1", payload=said, user=user, agent=agent))
    found = reading(told).read(lambda r: list(knowledge.memories(r)))
    assert len(found) == len(told)
    for memory in found:
        place = slot(memory)
        same = [one.id for one in found if place is not None and slot(one) == place]
        there = reading(told).read(
            lambda r, place=place: knowledge.in_slot(r, place) if place else []  # type: ignore[misc]
        )
        assert [one.id for one in there] == sorted(same, key=lambda one: int(one[4:]))


owners = st.sampled_from(["ana", "ben", "coder", ""])
places = st.tuples(
    st.lists(st.sampled_from(["db", "", "x"]), min_size=3, max_size=3),
    st.sampled_from([*SCOPES, "all", ""]),
    st.lists(owners, max_size=3),
).map(lambda parts: [*parts[0], parts[1], *parts[2]])


@settings(max_examples=examples(100))
@given(st.sampled_from(["ana", "ben", None]), places | st.lists(st.text(max_size=5), max_size=7))
def test_nobody_puts_a_memory_into_a_slot_of_somebody_else(user: Any, place: list[str]) -> None:
    said = {"memory": "mem_a", "slot": place, "changes": {"importance": 1}}
    (event,) = recorded([entry(type="memory_revised@1", payload=said, user=user)])
    keys = SlotView().keys(event)
    for key in keys:
        parts = msgspec.json.decode(key)
        assert parts[:4] == [None, None, None, "slot"]
        assert parts[7] in ("project", "system") or parts[8] == user
    own = place[3:] in (["user", user], ["session", user, "coder"], ["project"], ["system"])
    assert keys or not own


@settings(max_examples=examples(80))
@given(lives())
def test_uses_are_counted_for_those_who_may_see(told: list[Entry]) -> None:
    events = recorded(told)
    runner = reading(told)
    for memory in runner.read(lambda r: list(knowledge.memories(r))):
        mine = [e for e in events if e.kind == "memory_used" and visible(memory, e.user, None)]
        cited = sum(memory.id in event.payload["cited"] for event in mine)
        wrong = sum(memory.id in event.payload["wrong"] for event in mine)
        assert (memory.usage.cited, memory.usage.wrong) == (cited, wrong)
        alone = runner.read(lambda r, one=memory.id: knowledge.memory(r, one))  # type: ignore[misc]
        assert alone == memory
    counts = runner.read(lambda r: knowledge.usage(r, [*IDS, "evt-1"], "ben"))
    bens = [e.payload for e in events if e.kind == "memory_used" and e.user == "ben"]
    for one in IDS:
        cited = sum(one in said["cited"] for said in bens)
        assert counts[one].cited == cited
    assert counts["evt-1"] == Usage()


def test_a_recall_counts_each_memory_it_found() -> None:
    told = [
        entry(type="memory_recall@1", payload={"query": "q", "ids": ["mem_a", "mem_a", "evt-1"]}),
        entry(type="memory_recall@1", payload={"ids": ["mem_a", 5, None, "", "a b"]}, user="ben"),
        entry(type="memory_recall@1", payload={"ids": "mem_a"}),
    ]
    for user, found in (("ana", [1, 1, 0]), ("ben", [1, 0, 0])):
        counts = reading(told).read(
            lambda r, user=user: knowledge.usage(r, ["mem_a", "evt-1", "mem_b"], user)  # type: ignore[misc]
        )
        assert [usage.retrieved for usage in counts.values()] == found
    assert len(folded(recorded(told), views=(UsageView(),))) == 3


# ---- snapshots ----------------------------------------------------------------------------------


def lots(count: int, size: int) -> list[Entry]:
    told = [
        entry(type="memory_learned@1", payload={"memory": f"mem_{n}", "text": f"{n} " + "x" * size})
        for n in range(count)
    ]
    return [*told, entry(type="session_ended@1", payload={"reason": "done"})]


@pytest.mark.parametrize(("room", "whole"), [(1 << 22, True), (20_000, False), (4_000, False)])
def test_a_snapshot_holds_all_memories_or_says_that_it_holds_none(room: int, whole: bool) -> None:
    log = MemoryLog()
    log.append(lots(20, 1_000))
    kept = MemorySnapshots()
    made: Any = {"spare": MemoryViews, "project_id": "p"}
    made |= {"settings": ViewSettings(snapshot_most_bytes=room)}
    first = Runner(log, MemoryViews(), kept, **made)
    expected = first.state_hash()
    found = snapshot.read(next(iter(kept.load())), "p", VIEWS)
    assert isinstance(found, snapshot.Snapshot)
    there = [key for view, key, _ in found.each() if view == "memories"]
    assert len(there) == (20 if whole else 0)
    assert (snapshot.short(snapshot.NOBODY) in found.lacking.details) is not whole
    again = Runner(log, MemoryViews(), kept, **made)
    answer = again.read(lambda r: knowledge.memory(r, "mem_7"))
    assert answer is not None
    assert answer.text.startswith("7 ")
    assert again.state_hash() == expected


class _CountedLog(MemoryLog):
    """Notes from where it was read."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[int] = []

    def read(self, after: int = 0) -> Any:
        self.begun.append(after)
        return super().read(after)


def test_whoever_asks_for_a_session_does_not_wait_for_memories_left_to_the_log() -> None:
    log, kept = _CountedLog(), MemorySnapshots()
    log.append(lots(20, 1_000))
    made: Any = {"spare": MemoryViews, "project_id": "p"}
    made |= {"settings": ViewSettings(snapshot_most_bytes=4_000)}
    Runner(log, MemoryViews(), kept, **made).state_hash()
    again = Runner(log, MemoryViews(), kept, **made)
    log.begun.clear()
    (info,) = again.read(lambda r: state.sessions(r, "ana"))
    assert again.read(lambda r: state.state(r, info)).info == info
    assert 0 not in log.begun
    assert again.read(lambda r: knowledge.memory(r, "mem_7")) is not None
    assert 0 in log.begun
