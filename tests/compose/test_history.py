"""A conversation begins where it fits, at something a person said; what was shown stays as it was."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.compose import history, render
from holdfast.compose.history import Turns, begins, openings
from holdfast.compose.render import Part
from holdfast.model.epochs import Epoch, Injected
from holdfast.model.events import Event
from holdfast.text.spoken import said
from tests.compose.happenings import conversations, count, event, turns
from tests.compose.marks import blocks
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND

some_sizes = st.lists(st.integers(1, 90), min_size=30, max_size=30)
refills = st.sampled_from([0.0, 0.3, 0.5, 1.0])
LONG = "The build failed in src/auth/login.ts line 42 with exit code 3. " * 40


# ---- one event ----------------------------------------------------------------------------------


@settings(max_examples=examples(80))
@given(conversations(), st.integers(0, 400))
def test_an_event_is_shown_as_long_as_it_may_be_and_as_it_was(
    events: list[Event], most: int
) -> None:
    made, again = Turns(most, count), Turns(most, count)
    for one in reversed(events):
        again.part(one)
    for one in events:
        part = made.part(one)
        assert part == again.part(one)
        assert made.tokens(one) == count(part.text + "\n\n")
        if part.whole:
            assert part.text == turns([one], 10**6)[0].text
        else:
            assert one.event_id in part.text
            assert count(turns([one], 10**6)[0].text + "\n\n") > most


@pytest.mark.parametrize("most", [300, 80, 0])
def test_a_long_event_is_shown_in_short_with_a_handle(most: int) -> None:
    one = event(1, "tool_result", {"tool": "Bash", "text": LONG})
    part = turns([one], most)[0]
    (block,) = blocks(part.text)
    assert f"expand {one.event_id}" in block.body
    assert not part.whole
    assert count(part.text) < count(LONG) / 2


# ---- where it begins ----------------------------------------------------------------------------


def well_formed(events: Sequence[Event]) -> list[Event]:
    """The conversation without calls and answers that lack each other."""
    kept: list[Event] = []
    group: list[Event] = []
    for one in [*events, event(99, "user_message", {"text": "end"})]:
        if one.kind in ("tool_call", "tool_result"):
            group.append(one)
            continue
        kinds = [each.kind for each in group]
        if kinds.count("tool_call") == kinds.count("tool_result") and not orphans(group):
            kept += group
        kept.append(one)
        group = []
    return kept[:-1]


def orphans(events: Sequence[Event]) -> list[str]:
    """Answers whose call is not before them."""
    waiting: list[str] = []
    found = []
    for one in events:
        name = str(one.payload.get("call_id") or one.payload.get("tool"))
        if one.kind == "tool_call":
            waiting.append(name)
        elif one.kind == "tool_result":
            if name in waiting:
                waiting.remove(name)
            else:
                found.append(one.event_id)
    return found


@settings(max_examples=examples(200))
@given(conversations().map(well_formed), some_sizes, st.integers(0, 600), refills)
def test_it_begins_with_all_that_fits_or_refills_a_share(
    events: list[Event], sizes: list[int], room: int, refill: float
) -> None:
    of = sizes[: len(events)]
    place = begins(events, of, room, refill)
    assert 0 <= place <= len(events)
    if sum(of) <= room:
        assert place == 0
        return
    assert sum(of[place:]) <= room
    asked = [n for n in range(len(events)) if events[n].kind == "user_message"]
    whole = [n for n in asked if not orphans(events[n:])]
    if asked and sum(of[asked[-1] :]) <= room:
        assert place <= asked[-1]
    elif asked:
        assert place > asked[-1]
        assert place == len(events) or of[asked[-1]] + sum(of[place:]) <= room
    fitting = [n for n in range(len(events)) if sum(of[n:]) <= room * refill]
    refilling = [n for n in whole if n in fitting]
    if refilling and 2 * sum(of[refilling[0] :]) >= sum(of[fitting[0] :]):
        assert place == refilling[0]


@settings(max_examples=examples(300), phases=AS_FOUND)
@given(conversations().map(well_formed), some_sizes, st.integers(0, 600), refills)
def test_no_answer_stands_without_its_call(
    events: list[Event], sizes: list[int], room: int, refill: float
) -> None:
    of = sizes[: len(events)]
    place = begins(events, of, room, refill)
    if orphans(events[place:]):  # only where anything else would show less than half of it
        later = range(place + 1, len(events))
        whole = [sum(of[n:]) for n in later if not orphans(events[n:])]
        asked = [n for n in later if events[n].kind == "user_message"]
        assert asked or not whole or 2 * whole[0] < sum(of[place:])


@settings(max_examples=examples(200))
@given(conversations(), some_sizes, st.integers(0, 600), refills)
def test_what_the_person_said_last_is_always_there_but_at_the_very_last(
    events: list[Event], sizes: list[int], room: int, refill: float
) -> None:
    asked = [one.event_seq for one in events if one.kind == "user_message"]
    found = list(openings(events, sizes[: len(events)], room, refill))
    assert [one.first for one in found] == sorted(one.first for one in found)
    for one in found[:-1]:
        assert not asked or asked[-1] >= one.first or asked[-1] == one.pinned
    assert found[-1].pinned == 0


def test_many_answers_at_once_do_not_drive_the_conversation_out() -> None:
    said = [event(1, "user_message", {"text": "an old question"})]
    said += [event(2, "user_message", {"text": "now"})]
    said += [event(3 + n, "tool_call", {"tool": "Read", "call_id": f"c{n}"}) for n in range(6)]
    said += [event(9 + n, "tool_result", {"tool": "Read", "call_id": f"c{n}"}) for n in range(6)]
    sizes = [1_000, 10, *[10] * 6, *[100] * 6]
    assert begins(said, sizes, 800, 0.5) == 1
    assert begins(said, sizes, 650, 0.5) == 11
    said += [event(15, "model_message", {"text": "I read them."})]
    assert begins(said, [*sizes, 10], 650, 0.5) == 11


# ---- with what was added ------------------------------------------------------------------------


@st.composite
def grown(draw: st.DrawFn) -> tuple[list[Event], Epoch, dict[str, list[Part]]]:
    """A conversation in an epoch, and what contexts added to it behind some of its events."""
    events = draw(conversations())
    behind = sorted(draw(st.lists(st.integers(0, len(events)), max_size=4)))
    added = [Injected(pack=f"pck_{n}", position=at) for n, at in enumerate(behind)]
    parts = {
        one.pack: [Part(section="relevant", text=f'<hf:memory part="{one.pack}">\n</hf:memory>')]
        for one in added
    }
    epoch = Epoch(
        id="epo",
        event_seq=1,
        key="k",
        history_from=draw(st.integers(0, 3)),
        position=behind[-1] if behind else 0,
        added=tuple(added),
    )
    return events, epoch, parts


@settings(max_examples=examples(100))
@given(grown(), st.data())
def test_it_only_grows(
    given: tuple[list[Event], Epoch, dict[str, list[Part]]], data: st.DataObject
) -> None:
    events, epoch, added = given
    made = Turns(4_000, count)
    whole = history.parts(made, epoch, events, added, history.left_out(1, epoch.history_from))
    heard = data.draw(st.integers(epoch.position, max(epoch.position, len(events))))
    earlier = history.parts(
        made, epoch, events[:heard], added, history.left_out(1, epoch.history_from)
    )
    assert whole[: len(earlier)] == earlier


@settings(max_examples=examples(100))
@given(grown())
def test_every_event_and_every_addition_stands_once_where_it_was(
    given: tuple[list[Event], Epoch, dict[str, list[Part]]],
) -> None:
    events, epoch, added = given
    made = blocks(
        render.text_of(
            history.parts(
                Turns(4_000, count), epoch, events, added, history.left_out(1, epoch.history_from)
            )
        )
    )
    marks = [block.mark for block in made]
    assert marks.count("earlier") == (epoch.history_from > 1)
    assert "earlier" not in marks[1:]
    assert marks.count("turn") == len(events)
    told = [block for block in made if block.mark != "earlier"]
    heard, seen = 0, []
    for block in told:
        if block.mark == "turn":
            heard += 1
        else:
            seen.append((block.attributes["part"], heard))
    assert seen == [(one.pack, min(one.position, len(events))) for one in epoch.added]


def test_only_what_was_said_or_done_is_part_of_it() -> None:
    kinds = ("session_started", "state_updated", "memory_learned", "context_assembled", "unknown")
    assert not any(history.spoken(event(1, kind, {"text": "x"})) for kind in kinds)
    assert all(history.spoken(event(1, kind, {"text": "x"})) for kind in history.SAID)
    assert said(event(1, "user_message", {"text": "x", "mood": "fine"})) == "x"
