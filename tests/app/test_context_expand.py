"""Expanding: never a token more than asked for, and a chain of handles gives the whole, verbatim."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app.session import Session
from holdfast.compose import render
from holdfast.errors import Invalid, NotFound
from holdfast.model.packs import Expanded
from holdfast.text.quoting import quoted
from tests.app.conversations import Life
from tests.compose.wordings import hostile, long_texts, said
from tests.documents.projects import project, write
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking

budgets = st.integers(1, 400)
#: no sign is more tokens than this
ANY_SIGN = 12


@pytest.fixture(autouse=True)
def _static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    clock = Ticking()
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=clock) as hf:
        yield Life(hf, clock)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    clock = Ticking()
    home = tmp_path_factory.mktemp("shared")
    with holdfast.open(home, project="p", user="ana", now=clock) as hf:
        yield Life(hf, clock)


def chain(s: Session, ref: str | int, tokens: int) -> list[Expanded]:
    """A handle, and everything that is left behind it; none counts more than asked for."""
    found = [s.expand(ref, tokens)]
    while found[-1].more:
        found.append(s.expand(found[-1].more, tokens))
        assert found[-1].text
    for one in found:
        assert one.tokens == s._hf.counter().count(one.text) <= tokens
    return found


def whole(s: Session, ref: str | int, tokens: int) -> str:
    return "".join(one.text for one in chain(s, ref, tokens))


@settings(max_examples=examples(60), phases=AS_FOUND)
@given(said | hostile | long_texts | st.text(min_size=1, max_size=300), budgets)
def test_a_chain_gives_all_of_a_text_and_no_part_is_too_long(
    shared: Life, text: str, tokens: int
) -> None:
    tokens = max(tokens, ANY_SIGN)
    event = shared.s.assistant(text)
    assert whole(shared.s, event.event_id, tokens) == quoted(event.text)


@settings(max_examples=examples(40), phases=AS_FOUND)
@given(st.lists(said, min_size=1, max_size=6), budgets)
def test_a_chain_gives_all_of_a_conversation_and_no_part_is_too_long(
    shared: Life, texts: list[str], tokens: int
) -> None:
    tokens = max(tokens, ANY_SIGN)
    events = [shared.s.user(text) for text in texts]
    ref = f"events {events[0].event_seq}-{events[-1].event_seq}"
    parts = [render.turn(event, event.text, whole=True) for event in events]
    assert whole(shared.s, ref, tokens) == render.text_of(parts)


@settings(max_examples=examples(60), phases=AS_FOUND)
@given(said | hostile, st.integers(1, ANY_SIGN))
def test_the_smallest_budget_is_kept_or_refused(shared: Life, text: str, tokens: int) -> None:
    event = shared.s.user(text)
    count = shared.hf.counter().count
    turn = f"events {event.event_seq}-{event.event_seq}"
    for ref, first in ((event.event_id, quoted(event.text)[:1]), (turn, "<")):
        found = None
        with suppress(Invalid):
            found = shared.s.expand(ref, tokens)
        if found is None:
            assert count(first) > tokens
        else:
            assert found.tokens == count(found.text) <= tokens


def test_a_budget_of_one_token_gives_one_token(life: Life) -> None:
    event = life.s.user("The gateway listens on port 8443 in staging and in production.")
    for ref in (event.event_id, f"events {event.event_seq}-{event.event_seq}"):
        assert len(chain(life.s, ref, 1)) > 5
        assert [life.s.expand(ref, tokens).tokens <= tokens for tokens in (1, 5, 20, 60)] == [
            True
        ] * 4


def test_a_part_ends_with_a_line_or_a_sentence(life: Life) -> None:
    event = life.s.assistant("\n".join(f"- service {n} has port {8000 + n}." for n in range(200)))
    for one in chain(life.s, event.event_id, 137)[:-1]:
        assert one.text.endswith("\n")


@pytest.mark.parametrize(
    "ref", ["evt_x", "99", "0", "", "²", "9" * 5_000, "events 90-99", "@3", "7@x"]
)
def test_what_is_not_there_is_not_found(life: Life, ref: str) -> None:
    life.s.user("hello")
    with pytest.raises(NotFound):
        life.s.expand(ref)


def test_a_handle_behind_the_end_is_not_found(life: Life) -> None:
    event = life.s.user("hello")
    for ref in (f"{event.event_id}@900", f"events 1-{event.event_seq}@9000"):
        with pytest.raises(NotFound, match="ends before"):
            life.s.expand(ref)


def test_a_body_kept_beside_the_log_is_given_whole_by_event_and_by_its_own_name(life: Life) -> None:
    lines = "\n".join(f"line {n} of the output" for n in range(9_000))
    event = life.s.tool_result("Bash", lines)
    name = event.text.partition("kept as blob ")[2].split()[0]
    assert whole(life.s, event.event_id, 20_000) == lines
    assert whole(life.s, name, 20_000) == lines
    other = life.hf.session(agent="critic", session_id="of critic").start()
    with pytest.raises(NotFound):
        other.expand(name)


# ---- documents ----------------------------------------------------------------------------------

PAGE = "".join(
    f"# Chapter {n}\n\nChapter {n} tells how the {word} works.\n\n"
    for n, word in enumerate(("gateway", "cache", "queue"), 1)
)


def test_a_part_of_a_document_goes_on_with_the_rest_of_it(tmp_path: Path) -> None:
    with project(tmp_path, Ticking()) as hf:
        write(hf, "guide.md", PAGE)
        hf.documents.add("guide.md")
        s = hf.session(agent="coder").start()
        pack = s.context("how does the cache work?")
        parts = [one.shown for one in pack.receipt.candidates if one.shown.kind == "document"]
        assert parts
        for one in parts:
            for ref in (one.id, one.number) if one.number else (one.id,):
                found = s.expand(ref)
                assert found.id == one.id
                begin = PAGE.index(found.text.strip())
                assert whole(s, ref, 40).strip() == PAGE[begin:].strip()
        document = parts[0].id.partition(":")[0]
        assert whole(s, document, 25) == PAGE


def test_a_document_that_changed_or_went_says_so(tmp_path: Path) -> None:
    clock = Ticking()
    with project(tmp_path, clock) as hf:
        file = write(hf, "guide.md", PAGE)
        hf.documents.add("guide.md")
        s = hf.session(agent="coder").start()
        event = next(e.event_id for e in hf.events() if e.kind == "document_indexed" and e.text)
        assert s.expand(event).note == ""
        clock.minutes += 1
        write(hf, "guide.md", "# Other\n\nNothing of that.\n")
        hf.documents.add("guide.md")
        assert s.expand(f"{event}:1-3").note == "guide.md was changed since"
        assert s.expand(f"{event}:1-3").text.startswith("# Chapter 1")
        clock.minutes += 1
        file.unlink()
        hf.documents.refresh()
        assert "removed" in s.expand(event).note


# ---- what holds no longer -----------------------------------------------------------------------


def test_what_was_forgotten_says_so_to_a_person_and_to_a_model(life: Life) -> None:
    one = life.hf.remember("The office is in Graz.")
    assert life.s.expand(one.id).note == ""
    assert "note" not in life.s.call_tool("memory_expand", {"ref": one.id})
    life.hf.forget(one.id, reason="moved")
    found = life.s.expand(one.id)
    assert found.text == one.text
    assert found.note.startswith(f"{one.id} was forgotten on ")
    assert found.note.endswith(": moved")
    assert life.s.call_tool("memory_expand", {"ref": one.id})["note"] == found.note


def test_what_was_superseded_gives_what_holds_and_says_so(life: Life) -> None:
    old = life.hf.remember("The database is MySQL.", key="database", value="MySQL")
    new = life.hf.remember("The database is PostgreSQL.", key="database", value="PostgreSQL")
    found = life.s.expand(old.id)
    assert (found.ref, found.id, found.text) == (old.id, new.id, new.text)
    assert found.note == f"{old.id} was superseded by {new.id}"
    life.hf.revise(new.id, expires_at="2026-01-01T00:00:30Z")
    life.clock.minutes += 10
    assert f"{new.id} no longer holds since" in life.s.expand(old.id).note


def test_an_entry_is_given_by_its_number_and_by_its_id_alike(life: Life) -> None:
    long = "Login fails because the token of the cache is stale. " * 40
    life.hf.remember(long)
    earlier = life.hf.session(agent="coder", session_id="earlier").start()
    earlier.assistant("The login page shows a stale token. " + "Nobody knows why. " * 60)
    pack = life.ask("why does the login fail with the stale token?", budget=600)
    shown = [one.shown for one in pack.receipt.candidates if one.verdict == "taken"]
    assert {one.kind for one in shown} >= {"memory", "turn"}
    for one in shown:
        for ref in (one.number, f"[{one.number}+]"):
            assert whole(life.s, ref, 50) == whole(life.s, one.id, 50)
    assert whole(life.s, next(one.number for one in shown if one.kind == "memory"), 50) == long
