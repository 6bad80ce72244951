"""What never leaves: it is shortened where it has no room, and stays in every window after that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.app.compacting import summed
from holdfast.model.events import Event
from tests.app.places import held
from tests.app.test_compacting import LONG, compacted, worked
from tests.recall.replays import Ticking


@pytest.fixture
def hf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[holdfast.Holdfast]:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as opened:
        yield opened


def stands(s: holdfast.Session, window: int, event: Event) -> bool:
    """Does a window show it, as it was said or in a summary?"""
    there = held(s, window)
    return event.event_seq in {*(one.event_seq for one in there.events), *summed(there.past)}


@pytest.mark.parametrize("window", [4_000, 16_000])
def test_pinned_texts_that_are_too_much_together_are_summarised_and_stay(
    hf: holdfast.Holdfast, window: int
) -> None:
    s = hf.session(agent="coder", session_id="s")
    words = [" ".join(f"word{n}x{m}" for m in range(window // 11)) for n in range(5)]
    pins = [
        s.assistant(f"PIN{n}: the database is called otter. {words[n]}", pinned=True)
        for n in range(5)
    ]
    for _ in range(4):
        worked(s, 8)
        shown = s.context("What about item 3?", window=window, budget=0).sections["history"]
        assert [n for n in range(5) if f"PIN{n}" not in shown] == []
        assert [event for event in pins if not stands(s, window, event)] == []


@pytest.mark.parametrize("to", [400, 600])
@pytest.mark.parametrize("rounds", [1, 4])
def test_the_last_question_stays_where_little_may_be_left(
    hf: holdfast.Holdfast, to: int, rounds: int
) -> None:
    s = hf.session(agent="coder", session_id="s")
    for n in range(2):
        s.assistant(f"PIN {n}: the database is called otter {n}.", pinned=True)
    for _ in range(rounds):
        worked(s, 20)
        s.compact("the heron", window=4_000)
    asked = s.user("QUESTION: " + " ".join(f"please look at stripe {n}," for n in range(60)))
    s.assistant("I will look at it.")
    made = compacted(s, to=to, window=4_000)
    assert made.tokens_after <= to
    for window in (4_000, 1_000):
        assert "QUESTION" in s.context("", window=window, budget=0).sections["history"]
        assert stands(s, window, asked)


def test_it_stays_beside_what_the_person_said_before(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    s.user("Always run the linter before you push.")
    asked = s.user("QUESTION: " + " ".join(f"please look at stripe {n}," for n in range(60)))
    for n in range(4):
        for m in range(6):
            s.assistant(f"Step {n} {m}. {LONG}")
        compacted(s, to=600, window=4_000)
        assert stands(s, 4_000, asked)


@pytest.mark.parametrize("to", [300, 400])
def test_where_there_is_hardly_room_all_that_never_leaves_is_shorter(
    hf: holdfast.Holdfast, to: int
) -> None:
    s = hf.session(agent="coder", session_id="s")
    worked(s, 4)
    never = [
        s.assistant("PINNED. " + "White paint dries on the stripe. " * 100, pinned=True),
        s.user("QUESTION. " + "Why does the heron stand on a stripe? " * 80),
    ]
    s.assistant("I will look at it.")
    made = compacted(s, to=to, window=4_000)
    assert made.tokens_after <= to
    assert [event for event in never if not stands(s, 4_000, event)] == []


def test_many_calls_made_together_of_which_one_is_pinned_are_summarised(
    hf: holdfast.Holdfast,
) -> None:
    s = hf.session(agent="coder", session_id="s")
    calls = [
        s.tool_call("Bash", {"command": f"look at stripe {n}"}, call_id=f"c{n}", pinned=n == 7)
        for n in range(60)
    ]
    for n in range(60):
        s.tool_result("Bash", f"stripe {n}: " + "white " * 50, call_id=f"c{n}")
    worked(s, 20)
    compacted(s, "the heron", window=4_000)
    assert stands(s, 4_000, calls[7])


def test_the_summary_of_a_question_may_leave_once_another_is_asked(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    worked(s, 20)
    asked = s.user("QUESTION: " + " ".join(f"please look at stripe {n}," for n in range(60)))
    s.assistant("I will look at it.")
    compacted(s, to=400, window=4_000)
    assert asked.event_seq in summed(held(s, 4_000).past)
    worked(s, 60)
    compacted(s, to=400, window=4_000)
    assert not stands(s, 4_000, asked)


RULE = "Always ask before you touch table 7."


def test_a_rule_stays_though_somebody_repeated_it_who_left(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    worked(s, 3)
    s.user(f"{RULE} " + "The crossing is striped and it is white. " * 420)
    worked(s, 6)
    s.assistant(f"Noted. {RULE}")
    s.assistant("I go on.")
    for _ in range(4):
        s.compact("What about the heron?", window=16_000)
        assert RULE in s.context("", window=16_000, budget=0).sections["history"]
        worked(s, 30)


def test_a_giant_result_at_the_end_takes_the_room_of_no_other_step(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    worked(s, 10)
    s.user("Please fix the parser.")
    for n in range(8):
        s.tool_call("Bash", {"command": f"step {n}"}, call_id=f"s{n}")
        s.tool_result("Bash", f"step {n}: striped and white", call_id=f"s{n}")
    s.tool_call("Read", {"path": "src/parser.py"}, call_id="c")
    s.tool_result("Read", "heron " * 20_000, call_id="c")
    made = compacted(s, "Please fix the parser.", window=4_000)
    *steps, giant = made.decided[-9:]
    assert giant.verdict == "summarize"
    assert {one.verdict for one in steps[-4:]} == {"keep"}


def test_summaries_have_their_room_though_the_last_steps_take_much(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s")
    for n in range(40):
        s.user(f"What about item {n}?")
        s.assistant(f"Item {n}. {LONG * 20}")
    made = compacted(s, "heron", window=32_000, strategy="recursive_summarization")
    older = [one for one in made.decided if one.why == "older"]
    assert sum(one.verdict == "summarize" for one in older) > 4
