"""What always holds of a window, whatever is said: its limit, and that nothing leaves it for good."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app.bodies import payload
from holdfast.app.compacting import summed
from holdfast.app.compactions import read
from holdfast.app.expanding import whole
from holdfast.app.windows import holding, turns_for
from holdfast.compose.history import spoken
from holdfast.model.events import Event
from holdfast.text.quoting import quoted
from holdfast.text.spoken import said
from tests.app.places import held, out_of_place
from tests.property.effort import examples
from tests.property.windows import Step, Told, histories, texts, told, windows
from tests.recall.replays import AS_FOUND

#: pages in which what left is read back
PAGE = 4_000
#: what may come of a window in which nothing new is said
AGAIN = ("compact", "compact", "flash", "context", "save", "resume")
#: a window in which what was just said leaves room for something else
ROOMY = 3_000


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


# ---- the hard limit ---------------------------------------------------------------------------------


@settings(max_examples=examples(20), phases=AS_FOUND)
@given(histories, windows, texts)
def test_no_context_passes_its_window_and_any_model_takes_its_messages(
    history: list[Step], window: int, query: str
) -> None:
    last = [Step("context", which, query, window) for which in (0, 3)]
    last.append(Step("crowded", 0, query, window))
    with told([*history, *last]) as life:
        count = life.hf.counter().count
        for pack, limit in life.packs:
            assert pack.tokens == count(pack.text) <= int(0.85 * limit)
            calls_are_answered(pack.messages)
        assert life.measured == [pack.tokens for pack, _ in life.packs]
        erased = any(event.erased for event in life.hf.events())
        for pack, _ in life.packs[-3:] if erased else life.packs:
            assert life.hf.replay(pack.id).text == pack.text


def calls_are_answered(messages: list[dict[str, Any]]) -> None:
    """Every call is answered at once, every answer has its call; but calls at the end may wait."""
    waiting: set[str] = set()
    for message in messages:
        made, answers = _calls(message), _answers(message)
        assert answers <= waiting
        waiting -= answers
        assert not (waiting and not answers), "something else came before the answers"
        waiting |= made
    assert not waiting or _calls(messages[-1]) == waiting


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message["content"] if isinstance(message["content"], list) else []


def _calls(message: dict[str, Any]) -> set[str]:
    used = [block["id"] for block in _blocks(message) if block["type"] == "tool_use"]
    return {*(call["id"] for call in message.get("tool_calls", ())), *used}


def _answers(message: dict[str, Any]) -> set[str]:
    if message["role"] == "tool":
        return {message["tool_call_id"]}
    results = [block for block in _blocks(message) if block["type"] == "tool_result"]
    return {block["tool_use_id"] for block in results}


@settings(max_examples=examples(30), phases=AS_FOUND)
@given(histories, windows, st.integers(2, 9), texts)
def test_a_compaction_keeps_to_its_room_and_its_figures_are_those_of_the_window(
    history: list[Step], window: int, share: int, prompt: str
) -> None:
    with told(history) as life:
        to = max(150, window // share)
        made = life.s.compact(prompt, to=to, window=window)
        if made is None:
            return
        assert made.tokens_after < made.tokens_before
        assert life.s.pressure(window=window).tokens == made.tokens_after + _beside(life)
        if made.tokens_after > to:
            stays = {"asked", "pinned", "decision", "instruction", "important"}
            kept = [one for one in made.decided[:-1] if one.verdict == "keep"]
            assert {one.why for one in kept} <= stays, "what must stay stays, and nothing else"
            bound = [one.tokens for one in kept if one.why not in ("asked", "pinned")]
            assert sum(bound) <= 0.75 * to


def _beside(life: Told) -> int:
    """What the last context held beside the conversation."""
    if not life.packs:
        return 0
    sections = life.packs[-1][0].receipt.sections
    return sections["total"].tokens - sections["history"].tokens


# ---- nothing leaves for good ------------------------------------------------------------------------


@settings(max_examples=examples(30), phases=AS_FOUND)
@given(histories, windows)
def test_every_byte_that_left_comes_back_as_it_was(history: list[Step], window: int) -> None:
    with told([*history, Step("compact", 6, "deploy", window)]) as life:
        hf, s = life.hf, life.s
        assert list(out_of_place(s, window)) == []
        there = {event.event_seq: event for event in life.events()}
        for made, _ in life.compactions:
            for span in (*made.past.lines, *made.past.shorts):
                _shown_again(life, [there[n] for n in _within(span.first, span.last, there)])
            for one in made.decided:
                inside = [there[n] for n in _within(one.first, one.last, there)]
                if one.verdict == "drop" and inside:
                    _recovered(hf, s, one.id, inside)


@settings(max_examples=examples(30), phases=AS_FOUND)
@given(histories, windows)
def test_what_is_not_in_the_window_nor_summarised_is_cold(history: list[Step], window: int) -> None:
    with told([*history, Step("compact", 6, "deploy", window)]) as life:
        hf, s = life.hf, life.s
        held = holding(s, turns_for(hf, "", window), "", window)
        stays = {event.event_seq for event in held.events} | set(summed(held.past))
        cold = hf.cold.list("s", limit=10_000)
        assert len({one.id for one in cold}) == len(cold)
        left = {event.event_seq for event in life.events() if spoken(event)} - stays
        assert left <= {seq for one in cold for seq in range(one.first, one.last + 1)}


def _within(first: int, last: int, there: dict[int, Event]) -> list[int]:
    return [n for n in range(first, last + 1) if n in there and spoken(there[n])]


def _shown_again(life: Told, events: list[Event]) -> None:
    """By the handle of its span, and by its own where it is too long for a line."""
    if not events:
        return
    shown = _expanded(life.s, f"events {events[0].event_seq}-{events[-1].event_seq}")
    for event in events:
        words = quoted(said(event)).strip()
        assert words in shown
        assert quoted(whole(life.hf, event)) == _expanded(life.s, event.event_id)


def _expanded(s: holdfast.Session, ref: str) -> str:
    text = ""
    while ref:
        found = s.expand(ref, PAGE)
        text, ref = text + found.text, found.more
    return text


def _recovered(hf: holdfast.Holdfast, s: holdfast.Session, chunk: str, events: list[Event]) -> None:
    """By the id of its chunk, payloads and all."""
    found = s.recover(events[0].event_id if events[0].event_id == chunk else chunk)
    parts = {part.event_id: part for part in found.parts}
    for event in events:
        part = parts[event.event_id]
        words = found.content[slice(*part.span)]
        full = payload(hf, event).get("text")
        assert words == (full if isinstance(full, str) and event.text else said(event))
        if not part.words and not part.bodies:
            assert part.payload == event.payload


@settings(max_examples=examples(15), phases=AS_FOUND)
@given(
    histories, st.lists(st.builds(Step, st.sampled_from(AGAIN), st.integers(0, 7), texts, windows))
)
def test_no_compaction_takes_back_another_and_each_says_what_the_window_holds(
    history: list[Step], last: list[Step]
) -> None:
    with told([*history, *last]) as life:
        made = [read(life.hf, event) for event in life.hf.events() if event.kind == "compacted"]
        for before, after in pairwise(made):
            assert after.through >= before.through
        there = [event for event in life.hf.events(session_id="s") if spoken(event)]
        window = made[-1].window if made else None
        if window and made[-1].through >= there[-1].event_seq and not any(e.erased for e in there):
            assert held(life.s, window).talk == made[-1].tokens_after


# ---- what is pinned stays ---------------------------------------------------------------------------


@settings(max_examples=examples(30), phases=AS_FOUND)
@given(histories, st.lists(st.tuples(windows, texts), min_size=1, max_size=3))
def test_what_is_pinned_never_leaves(history: list[Step], last: list[tuple[int, str]]) -> None:
    history = [step for step in history if not step.what.startswith("huge")]
    pins = [Step("pinned", 0, "the heron", 0), Step("pinned", 0, "the otter", 0)]
    asks = [Step("context", 0, query, window) for window, query in last]
    with told([*pins, *history, Step("compact", 7, "deploy", 3_000), *asks]) as life:
        pinned = [event for event in life.events() if event.event_id in life.pinned]
        assert len(pinned) == 2
        for made, _ in life.compactions:
            assert {event.event_seq for event in pinned} <= set(made.past.kept)
        for pack, window in life.packs:
            for event in pinned:
                assert window < ROOMY or quoted(event.text) in pack.sections["history"]


# ---- idempotent -------------------------------------------------------------------------------------


@settings(max_examples=examples(30), phases=AS_FOUND)
@given(histories, windows, st.integers(0, 7), texts)
def test_compacting_again_for_the_same_changes_nothing(
    history: list[Step], window: int, which: int, prompt: str
) -> None:
    with told(history) as life:
        to = max(150, window // (2 + which)) if which < 4 else None
        life.s.compact(prompt, to=to, window=window)
        head = life.hf.log.head()
        assert life.s.compact(prompt, to=to, window=window) is None
        assert life.hf.log.head() == head


@settings(max_examples=examples(20), phases=AS_FOUND)
@given(histories, windows, texts)
def test_asking_again_for_the_same_gives_the_same_context(
    history: list[Step], window: int, query: str
) -> None:
    with told(history) as life:
        packs = [life.s.context(query, window=window, budget=150) for _ in range(3)]
        for before, after in pairwise(packs[1:]):
            assert _unnumbered(after.text) == _unnumbered(before.text)
            assert len(after.messages) == len(before.messages)


def _unnumbered(text: str) -> str:
    """Without the numbers of entries, which go on counting where a small window begins anew."""
    return re.sub(r"\[\d+(\+?)\]", r"[n\1]", text)
