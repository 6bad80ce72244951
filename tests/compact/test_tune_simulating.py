"""A session lived again: the window is never passed, and what is missed is what left and was needed."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.compact.needing import Places, names, stands_in, used
from holdfast.compact.planning import by_rule
from holdfast.compact.pressure import Bounds
from holdfast.compact.simulating import (
    CACHED,
    NEW,
    Lived,
    Means,
    Recorded,
    everything,
    outcome,
    recorded,
    simulated,
)
from holdfast.compose import render
from holdfast.model.compact import CompactSettings, Strategy
from holdfast.model.compactions import Past
from holdfast.model.events import Event
from holdfast.text.spoken import said
from tests.compact.happenings import conversations, count, event
from tests.property.effort import examples

ROOMY = Bounds(limit=10**9, history=10**9, refill=0.5)
CALM = CompactSettings(triggers=("tokens",))


def shown(past: Past) -> str:
    return render.text_of([part for _, part in render.past(past)])


MEANS = Means(count=count, summarize=by_rule(count), shown=shown)


def ready(events: list[Event], asked: dict[int, list[int]] | None = None) -> Recorded:
    texts = [said(one) for one in events]
    return recorded("s", events, [count(text) + 3 for text in texts], texts, asked or {})


chosen = st.builds(
    CompactSettings,
    strategy=st.sampled_from(get_args(Strategy)),
    compact_at=st.floats(0.1, 0.85),
    compact_to=st.floats(0.05, 0.5),
    recent=st.integers(1, 12),
    lines=st.floats(0, 1),
    keep=st.floats(0, 1),
    drop=st.floats(0, 1),
)
small = st.builds(
    lambda limit, share, refill: Bounds(limit=limit, history=int(limit * share), refill=refill),
    st.integers(1, 800),
    st.floats(0.1, 1),
    st.floats(0, 1),
)


@settings(max_examples=examples(60))
@given(conversations(), small, chosen)
def test_no_prompt_passes_the_room_for_the_conversation(
    events: list[Event], bounds: Bounds, how: CompactSettings
) -> None:
    lived = simulated(ready(events), bounds, how, MEANS)
    assert lived.fullest <= bounds.history
    assert lived.cached <= lived.sent <= lived.steps * bounds.history
    assert 0 <= lived.missed <= lived.needed
    assert (lived.fetched == 0) == (lived.again == lived.brought == 0)


@settings(max_examples=examples(25))
@given(conversations(), small, chosen)
def test_a_session_under_the_same_settings_comes_to_the_same(
    events: list[Event], bounds: Bounds, how: CompactSettings
) -> None:
    of = ready(events)
    first = simulated(of, bounds, how, MEANS)
    assert simulated(of, bounds, how, MEANS) == first
    assert simulated(ready(events), bounds, how, MEANS) == first


@settings(max_examples=examples(60))
@given(conversations(), small, chosen, st.floats(0.1, 0.85), st.floats(0.05, 0.5))
def test_settings_that_are_said_to_decide_the_same_do(
    events: list[Event], bounds: Bounds, how: CompactSettings, at: float, to: float
) -> None:
    other, of = replace(how, compact_at=at, compact_to=to), ready(events)
    if outcome(bounds, other) == outcome(bounds, how):
        assert simulated(of, bounds, other, MEANS) == simulated(of, bounds, how, MEANS)


@settings(max_examples=examples(30))
@given(conversations(), chosen)
def test_where_nothing_leaves_nothing_is_missed_and_nothing_saved(
    events: list[Event], how: CompactSettings
) -> None:
    of = ready(events)
    lived = simulated(of, ROOMY, replace(how, triggers=()), MEANS)
    assert lived == everything(of)
    assert (lived.missed, lived.fetched, lived.compactions, lived.drops) == (0, 0, 0, {})


# ---- what it costs ---------------------------------------------------------------------------------


def talk(*said_: tuple[str, str]) -> list[Event]:
    kinds = {"user": "user_message", "model": "model_message"}
    return [event(n, kinds[who], {"text": text}) for n, (who, text) in enumerate(said_, 1)]


def test_a_prompt_that_goes_on_costs_a_tenth_for_what_was_there() -> None:
    events = talk(("user", "a b c"), ("model", "d"), ("user", "e f"), ("model", "g"))
    first, second = 3 + 3, (3 + 3) + (1 + 3) + (2 + 3)
    lived = everything(ready(events))
    assert (lived.steps, lived.sent, lived.cached) == (2, first + second, first)
    assert lived.price == NEW * first + CACHED * first + NEW * (second - first)


def test_what_a_model_says_and_calls_in_one_go_is_one_step() -> None:
    events = [
        *talk(("user", "look"), ("model", "I look")),
        event(3, "tool_call", {"tool": "Bash", "call_id": "c", "input": {"command": "ls"}}),
        event(4, "tool_result", {"tool": "Bash", "call_id": "c", "text": "a"}),
        event(5, "model_message", {"text": "there is a"}),
    ]
    assert [step.place for step in ready(events).steps] == [1, 4]


# ---- what was needed -------------------------------------------------------------------------------


def long_ago(*then: str, last: str) -> list[Event]:
    """Something is said, much comes after it, and a last step uses names."""
    filler = [(("user", "model")[n % 2], f"turn {n} " + "says little " * 30) for n in range(8)]
    return talk(
        ("user", "please begin"),
        *(("model", text) for text in then),
        *filler,
        ("user", "now go on"),
        ("model", last),
    )


def lived(
    events: list[Event], asked: dict[int, list[int]] | None = None, room: int = 300, **how: Any
) -> Lived:
    bounds = Bounds(limit=room, history=room, refill=0.5)
    plain = replace(CALM, summarize=False, recent=1, **how)
    return simulated(ready(events, asked), bounds, plain, MEANS)


def test_a_name_that_stands_nowhere_is_missed_and_fetched_once() -> None:
    crowd = " ".join(f"src/part{n}.py" for n in range(99))
    events = long_ago(f"{crowd} and src/left.py", last="open src/left.py")
    events += [
        replace(one, event_seq=len(events) + n, event_id=f"evt_more_{n}")
        for n, one in enumerate(events[-2:], 1)
    ]
    found = lived(events)
    assert found.compactions
    assert (found.needed, found.missed, found.fetched) == (2, 1, 1)
    assert found.brought > 99


def test_a_line_that_names_it_is_enough_for_one_name_and_not_for_several() -> None:
    one = long_ago("it lies in src/parts/left.py", last="open src/parts/left.py")
    found = lived(one, room=450, lines=0.8)
    assert found.compactions
    assert (found.needed, found.missed) == (1, 0)
    two = long_ago(
        "src/parts/left.py calls src/parts/right.py",
        last="so src/parts/left.py needs src/parts/right.py",
    )
    found = lived(two, room=450, lines=0.8)
    assert (found.needed, found.missed, found.fetched) == (2, 2, 1)


def test_a_name_that_came_back_in_a_result_is_there() -> None:
    events = long_ago("the id is KX41ZP", last="take KX41ZP")
    events[-2] = replace(events[-2], payload={"text": "KX41ZP is the one"})
    assert lived(events, lines=0.0).missed == 0


def test_a_name_nothing_said_before_is_not_needed() -> None:
    assert lived(long_ago("it begins", last="write src/new_file.py")).needed == 0


def test_what_somebody_asked_back_was_needed() -> None:
    events = long_ago("plain words alone", last="and on")
    last = events[-1].event_seq
    events[-1] = replace(events[-1], event_seq=last + 1)
    found = lived(events, {last: [2]}, lines=0.0)
    assert (found.needed, found.missed, found.fetched) == (1, 1, 1)
    kept = simulated(ready(events, {last: [2]}), ROOMY, CALM, MEANS)
    assert (kept.needed, kept.missed) == (1, 0)


def test_a_question_that_fits_no_window_is_shown_in_fewer_words() -> None:
    events = talk(("user", "begin"), ("model", "go"), ("user", "very " * 400), ("model", "done"))
    found = simulated(ready(events), Bounds(limit=300, history=300, refill=0.5), CALM, MEANS)
    assert found.compactions == 1
    assert 30 < found.fullest <= 300


# ---- names -----------------------------------------------------------------------------------------


def test_names_are_exact_and_neither_words_nor_options() -> None:
    said_ = "Run `pytest -q --lf` on src/a/b.py: KeyError in load_all for order #W2378156 and 48213"
    found = names(said_)
    assert {"src/a/b.py", "load_all", "#W2378156", "48213", "KeyError"} <= set(found)
    assert not {"-q", "--lf", "Run", "pytest", "order"} & set(found)


def test_a_call_uses_the_names_of_its_values() -> None:
    call = event(
        1, "tool_call", {"tool": "Edit", "input": {"path_name": "src/a.py", "n": [1, "b_c"]}}
    )
    assert set(used(call)) == {"src/a.py"}


@given(
    st.lists(st.text("ab/._ -é", max_size=12), max_size=6),
    st.text("ab/._-é", min_size=1, max_size=5),
)
def test_places_are_the_texts_that_say_a_name_as_a_word(texts: list[str], name: str) -> None:
    expected = tuple(n for n, text in enumerate(texts) if stands_in(name, text))
    if any(sign.isalnum() or sign == "_" for sign in name):
        assert Places(texts).of(name) == expected


def test_a_name_within_a_longer_word_is_another() -> None:
    assert stands_in("load_all", "call load_all() now")
    assert not stands_in("load_all", "call reload_all() or load_all_of")
    assert Places(["src/foobar", "see src/foo:3"]).of("src/foo") == (1,)
