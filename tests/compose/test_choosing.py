"""What is chosen fits to the token as it is written, is numbered as it is read, and has its reason."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.compose import render
from holdfast.compose.choosing import Candidate, Chooser, Chosen, Room
from holdfast.compose.items import Item
from holdfast.model.compose import ComposeSettings
from holdfast.model.packs import REASONS
from tests.compose.happenings import count, items
from tests.compose.marks import numbered, remembered
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND

SECTIONS = ("critical", "relevant")
rooms = st.builds(
    lambda critical, relevant, total, ends: Room(
        caps={"critical": critical, "relevant": relevant}, total=total, ends=ends
    ),
    st.integers(-20, 400),
    st.integers(-20, 400),
    st.integers(-20, 500),
    st.sampled_from(["budget", "cap"]),
)


@st.composite
def offers(draw: st.DrawFn, most: int = 9) -> list[Candidate]:
    """Candidates with an id each; some were settled before."""
    found = draw(st.lists(items(), min_size=1, max_size=most))
    return [
        Candidate(
            item=replace(item, id=f"mem_{n}"),
            section=draw(st.sampled_from(SECTIONS)),
            score=draw(st.sampled_from([0.0, 0.01, 0.2, 0.5, 0.5, 1.0])),
            relevance=0.5,
            parts={"lexical": 0.5},
            verdict=draw(st.sampled_from(["", "", "", "floor", "duplicate"])),
        )
        for n, item in enumerate(found)
    ]


def chosen(candidates: list[Candidate], room: Room, first: int = 1, **more: Any) -> Chosen:
    """What is chosen with settings as they come."""
    return Chooser(ComposeSettings(), more.get("count", count), first).choose(candidates, room)


@settings(max_examples=examples(120))
@given(offers(), rooms)
def test_nothing_passes_its_room_as_it_is_written(given: list[Candidate], room: Room) -> None:
    made = chosen(given, room)
    for section, cap in room.caps.items():
        mine = [part for part in made.parts if part.section == section]
        tokens = count(render.text_of(mine))
        assert made.tokens[section] == tokens
        assert tokens <= max(cap, 0)
    assert count(render.text_of(made.parts)) <= max(room.total, 0)


@settings(max_examples=examples(120))
@given(offers(), rooms, st.integers(1, 900))
def test_entries_are_numbered_as_they_are_read_and_say_what_was_chosen(
    given: list[Candidate], room: Room, first: int
) -> None:
    made = chosen(given, room, first)
    shown = sorted(made.shown, key=lambda one: one.number)
    assert [one.number for one in shown] == [*range(first, first + len(shown))]
    by_id = {candidate.item.id: candidate for candidate in given}
    written = numbered(render.text_of(made.parts))
    assert written.keys() == {one.number for one in shown}
    for one in shown:
        item = by_id[one.id].item
        entry = render.entry(item, one.number, one.level)
        assert entry.partition("] ")[2] == written[one.number]
        assert one.section == by_id[one.id].section
    sections = [block.attributes["part"] for block in remembered(render.text_of(made.parts))]
    assert sections == sorted(sections)


@settings(max_examples=examples(120))
@given(offers(), rooms)
def test_every_candidate_has_one_verdict_and_the_tokens_it_takes(
    given: list[Candidate], room: Room
) -> None:
    made = chosen(given, room)
    taken = {one.id: one for one in made.shown}
    assert [one.shown.id for one in made.weighed] == [one.item.id for one in given]
    for candidate, weighed in zip(given, made.weighed, strict=True):
        assert weighed.verdict in REASONS
        assert (weighed.verdict == "taken") == (candidate.item.id in taken)
        assert weighed.parts == candidate.parts
        if candidate.verdict:
            assert weighed.verdict == candidate.verdict
        elif weighed.verdict == "taken":
            assert weighed.shown == taken[candidate.item.id]
            entry = render.entry(candidate.item, 999, weighed.shown.level)
            assert weighed.shown.tokens == count(entry + "\n")
        else:
            assert weighed.verdict in ("share", room.ends)
            assert (weighed.shown.number, weighed.shown.tokens) == (0, 0)


@settings(max_examples=examples(60))
@given(offers(), rooms)
def test_the_same_offers_give_the_same_choice(given: list[Candidate], room: Room) -> None:
    assert chosen(given, room) == chosen(given, room)


@settings(max_examples=examples(60))
@given(offers())
def test_where_there_is_room_for_all_everything_is_shown_whole(given: list[Candidate]) -> None:
    worth = [replace(one, score=max(one.score, 0.01)) for one in given]
    made = chosen(worth, Room(caps=dict.fromkeys(SECTIONS, 90_000), total=90_000))
    assert {one.id for one in made.shown} == {one.item.id for one in worth if not one.verdict}
    assert {one.level for one in made.shown} <= {0}


@settings(max_examples=examples(80), phases=AS_FOUND)
@given(offers(), items(), rooms)
def test_what_must_be_shown_comes_before_anything_else(
    given: list[Candidate], item: Item, room: Room
) -> None:
    first = Candidate(item=replace(item, id="first"), section="critical", score=0.01, must=True)
    alone = {one.id for one in chosen([first], room).shown}
    among = {one.id for one in chosen([*given, first], room).shown}
    assert alone <= among


@settings(max_examples=examples(60))
@given(offers(), rooms, st.integers(0, 7))
def test_tokens_that_do_not_add_up_are_still_kept_to(
    given: list[Candidate], room: Room, seam: int
) -> None:
    """However a vocabulary counts, what is handed out was counted as a whole."""

    def odd(text: str) -> int:
        return len(text) // 4 + seam * text.count("\n")

    made = chosen(given, room, count=odd)
    assert odd(render.text_of(made.parts)) <= max(room.total, 0)
    for section, cap in room.caps.items():
        mine = [part for part in made.parts if part.section == section]
        assert odd(render.text_of(mine)) <= max(cap, 0)


def test_a_long_memory_is_shown_in_short_rather_than_not_at_all() -> None:
    full = "The service listens on port 8080. " * 30
    item = Item(
        kind="memory", id="mem_1", seq=1, head="ana", levels=(full, full[:60], "8080", "8"), trust=2
    )
    given = [Candidate(item=item, section="relevant", score=1.0)]
    for cap, levels in ((1_000, {0}), (100, {1}), (50, {1, 2})):
        (one,) = chosen(given, Room(caps={"relevant": cap}, total=cap)).shown
        assert one.level in levels
    (left,) = chosen(given, Room(caps={"relevant": 5}, total=5)).weighed
    assert left.verdict == "share"


def test_the_reason_names_what_ended_it() -> None:
    item = Item(kind="memory", id="mem_1", seq=1, head="ana", levels=("tabs",) * 4, trust=2)
    given = [Candidate(item=item, section="relevant", score=1.0)]
    for ends in ("budget", "cap"):
        (left,) = chosen(given, Room(caps={"relevant": 500}, total=3, ends=ends)).weighed
        assert left.verdict == ends
