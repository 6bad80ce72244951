"""Who erases a message erases it wherever it was the question: contexts, compactions, copies, logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.app.rebuild import rebuild
from holdfast.errors import Erased
from tests.app.conversations import erased
from tests.app.test_cold import talk
from tests.recall.replays import Ticking

QUESTION = "What does Xylophonia say about the zebra crossing number 3?"


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def hf(
    tmp_path: Path, clock: Ticking, monkeypatch: pytest.MonkeyPatch
) -> Iterator[holdfast.Holdfast]:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=clock) as opened:
        yield opened


def reached(hf: holdfast.Holdfast, event_id: str) -> list[str]:
    """An event and everything that was made from it, through any number of sources."""
    gone = {event_id}
    for event in hf.events():
        if gone & set(event.sources):
            gone.add(event.event_id)
    return sorted(gone)


def holding(hf: holdfast.Holdfast, word: bytes) -> list[Path]:
    return [one for one in Path(hf.folder).rglob("*") if one.is_file() and word in one.read_bytes()]


@pytest.mark.parametrize("more", ["", "It is long. " * 8_000])
def test_nothing_of_an_erased_question_is_left_anywhere(hf: holdfast.Holdfast, more: str) -> None:
    s = hf.session(agent="coder", session_id="long").start()
    talk(s)
    s.compact("database indexes", to=600)
    asked = s.user(QUESTION + more)
    pack = s.context(QUESTION + more, window=60_000)
    s.recover(hf.cold.list("long")[-1].id, prompt=QUESTION + more)
    talk(s)
    later = s.context("which crossing was painted in May?", window=60_000)
    other = s.user("Xyl")
    s.compact("Xyl", to=600)
    hf.activity.up_to_date()
    assert {"context_assembled", "chunk_recovered"} <= {
        event.kind for event in hf.events() if asked.event_id in event.sources
    }
    assert holding(hf, b"Xylophonia")
    erased(hf, *reached(hf, asked.event_id))
    rebuild(hf)
    assert not holding(hf, b"Xylophonia")
    with pytest.raises(Erased):
        hf.replay(pack.id)
    with pytest.raises(Erased):
        hf.replay(later.id)
    assert hf.log.find(other.event_id) is not None
    made = hf.session(agent="coder", session_id="long").context("which?", window=8_000)
    assert hf.replay(made.id).text == made.text


def test_the_question_of_a_compaction_is_its_source_and_in_no_copy_of_it(
    hf: holdfast.Holdfast,
) -> None:
    s = hf.session(agent="coder", session_id="long").start()
    talk(s)
    asked = s.user(QUESTION)
    talk(s, 1)
    asked_again = s.user(QUESTION)
    made = s.compact(QUESTION, to=600)
    assert made is not None
    event = hf.log.find(made.id)
    assert event is not None
    assert {asked.event_id, asked_again.event_id} <= set(event.sources)
    copied = {p.event_id for one in hf.cold.list("long") for p in hf.cold.get(one.id).parts}
    assert asked_again.event_id not in copied
    erased(hf, *reached(hf, asked_again.event_id), *reached(hf, asked.event_id))
    rebuild(hf)
    assert not holding(hf, b"Xylophonia")


@pytest.mark.parametrize("more", ["", "It is long. " * 8_000, "It is longer. " * 16_000])
def test_a_question_that_left_the_window_and_is_asked_again_names_its_message(
    hf: holdfast.Holdfast, more: str
) -> None:
    s = hf.session(agent="coder", session_id="long").start()
    talk(s)
    asked = s.user(QUESTION + more)
    talk(s)
    assert s.compact("database indexes", to=600) is not None
    pack = s.context(QUESTION + more, window=300_000, budget=600)
    talk(s)
    again = s.compact(QUESTION + more, to=500)
    assert again is not None
    s.recover(hf.cold.list("long")[-1].id, prompt=QUESTION + more)
    hf.activity.up_to_date()
    named = [event for event in hf.events() if asked.event_id in event.sources]
    assert {pack.id, again.id} <= {event.event_id for event in named}
    assert "chunk_recovered" in {event.kind for event in named}
    erased(hf, *reached(hf, asked.event_id))
    rebuild(hf)
    assert not holding(hf, b"Xylophonia")


def test_a_question_whose_chunk_ran_out_names_its_message_all_the_same(
    hf: holdfast.Holdfast, clock: Ticking
) -> None:
    s = hf.session(agent="coder", session_id="long").start()
    asked = s.user(QUESTION)
    talk(s)
    s.compact("database indexes", to=600)
    clock.minutes += 60 * 24 * 40
    s.user("And now?")
    clock.minutes += 60 * 24 * 2
    assert hf.cold.expire(dry_run=False).chunks
    pack = s.context(QUESTION, window=8_000, budget=600)
    event = hf.log.find(pack.id)
    assert event is not None
    assert asked.event_id in event.sources


def test_a_question_names_no_message_of_anybody_else(hf: holdfast.Holdfast) -> None:
    hf.session(agent="coder", session_id="other").start().user(QUESTION)
    hf.session(agent="critic", session_id="third").start().user(QUESTION)
    hf.session(agent="coder", user="ben", session_id="fourth").start().user(QUESTION)
    s = hf.session(agent="coder", session_id="long").start()
    s.user(f"{QUESTION} And why?")
    event = hf.log.find(s.context(QUESTION, window=8_000).id)
    assert event is not None
    assert event.sources == ()


def test_numbers_of_entries_go_on_behind_an_erased_context(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="long").start()
    hf.remember("The crossing number 3 is in Ghent.")
    asked = s.user(QUESTION)
    s.context(QUESTION, window=8_000)
    s.assistant("I do not know.")
    hf.remember("The flamingo port is 8080.")
    shown = s.context("on which port does the flamingo listen?", window=8_000)
    last = max(one.shown.number for one in shown.receipt.candidates)
    erased(hf, *reached(hf, asked.event_id))
    made = s.context("on which port does the flamingo listen?", window=8_000)
    numbers = [one.shown.number for one in made.receipt.candidates if one.verdict == "taken"]
    assert numbers
    assert min(numbers) > last
