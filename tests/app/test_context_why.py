"""Why: what became of one memory, event or number in a context, and never a reason that is not true."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

import holdfast
from holdfast.app.session import Session
from holdfast.app.wanting import Wanted
from holdfast.errors import NotFound
from holdfast.model.packs import Pack
from tests.app.conversations import EVERYTHING, Life, Move, lived, lives
from tests.documents.projects import project, write
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking

NOBODY = "was no candidate"


@pytest.fixture(autouse=True)
def _static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    clock = Ticking()
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=clock) as hf:
        yield Life(hf, clock)


def told(life: Life, pack: Pack, one: object) -> str:
    return "\n".join(life.hf.why(pack.id, str(one)).steps)


@settings(max_examples=examples(12), phases=AS_FOUND)
@given(lives(EVERYTHING))
def test_every_candidate_is_followed_under_its_own_name(moves: list[Move]) -> None:
    with lived(moves, budget=600, new_tokens=200) as (life, packs):
        for pack in packs:
            for one in pack.receipt.candidates:
                followed = life.hf.why(pack.id, one.shown.id)
                assert followed.of == one.shown.id
                assert one in followed.found
                assert NOBODY not in "\n".join(followed.steps)
                assert bool(one.shown.number) == (
                    f"[{one.shown.number}]" in told(life, pack, one.shown.id)
                )
            first = packs.index(pack) == 0 or bool(pack.receipt.epoch_began)
            if first:
                assert not any(" since pck" in told(life, pack, i) for i in life.made)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        ("evt_x", "there is nothing called 'evt_x' here"),
        ("", "there is nothing called '' here"),
        ("99", "no entry 99 is shown"),
        ("0", "no entry 0 is shown"),
        ("mem_01ARZ3NDEKTSV4RRFFQ69G5FAV", "there is no memory"),
    ],
)
def test_what_does_not_exist_has_no_reason(life: Life, one: str, said: str) -> None:
    life.hf.remember("The database is PostgreSQL.")
    pack = life.ask("which database?")
    assert said in told(life, pack, one)
    assert NOBODY not in told(life, pack, one)


def test_in_the_first_context_nothing_was_shown_before_and_the_level_is_named(life: Life) -> None:
    rule = life.hf.remember("Amounts are integers in cents.", category="rules").id
    pack = life.ask("how are amounts kept?")
    assert "since" not in told(life, pack, rule)
    assert "shown as [1], in full, " in told(life, pack, rule)
    later = life.ask("what else is there?")
    assert f"shown as [1] in background, in full, since {pack.id}" in told(life, later, rule)
    assert f"since {pack.id}" in told(life, later, 1)
    assert life.hf.why(later.id, "1").of == rule


def test_what_was_left_out_when_the_epoch_began_is_not_called_unknown(life: Life) -> None:
    rules = [
        life.hf.remember(
            f"Rule {n}: " + f"always check the {n} valves twice. " * 12, category="rules"
        ).id
        for n in range(12)
    ]
    pack = life.ask("what is the weather?", budget=500)
    shown = {one.shown.id for one in pack.receipt.candidates if one.verdict == "taken"}
    later = life.ask("and tomorrow?", budget=500)
    assert later.receipt.epoch_began == ""
    left = [one for one in rules if one not in shown]
    assert left
    for one in left:
        assert "when the epoch began: offered for background as memory, left out" in told(
            life, later, one
        )


def test_a_superseded_memory_is_followed_under_its_own_name(life: Life) -> None:
    old = life.hf.remember("The database is MySQL.", key="database", value="MySQL")
    first = life.ask("which database do we use?")
    number = next(c.shown.number for c in first.receipt.candidates if c.shown.kind == "memory")
    life.clock.minutes += 1
    new = life.hf.remember("The database is PostgreSQL.", key="database", value="PostgreSQL")
    pack = life.ask("which database is it now?")
    followed = life.hf.why(pack.id, old.id)
    assert followed.of == old.id
    steps = "\n".join(followed.steps)
    assert f"shown as [{number}] in relevant, in full, since {first.id}" in steps
    assert f"{new.id} holds in its place" in steps
    assert life.hf.why(pack.id, new.id).of == new.id
    assert "offered for critical as correction" in told(life, pack, new.id)


def test_what_was_not_in_use_says_how_it_ended(life: Life) -> None:
    old = life.hf.remember("The database is MySQL.", key="database", value="MySQL")
    new = life.hf.remember("The database is PostgreSQL.", key="database", value="PostgreSQL")
    gone = life.hf.remember("The mascot is a crab.")
    life.hf.forget(gone.id, reason="tidy")
    life.clock.minutes += 1
    pack = life.ask("which database do we use?")
    life.clock.minutes += 1
    late = life.hf.remember("The database is on fire.")
    assert f"was superseded by {new.id}" in told(life, pack, old.id)
    assert "was forgotten on 2026-" in told(life, pack, gone.id)
    assert "tidy" in told(life, pack, gone.id)
    assert "was learned later" in told(life, pack, late.id)


def test_events_are_told_apart(life: Life) -> None:
    said = life.s.user("The gateway port is 8443.")
    critic = life.hf.session(agent="critic", session_id="of critic")
    critics = critic.assistant("Nobody reads the gateway manual.")
    of_ben = life.hf.session(agent="coder", user="ben", session_id="of ben").user(
        "A secret of Ben."
    )
    pack = life.ask("which port has the gateway?")
    later = life.s.assistant("8443.")
    start = next(event.event_id for event in life.hf.events() if event.kind == "session_started")
    assert "is shown where it was said" in told(life, pack, said.event_id)
    assert "belongs to critic" in told(life, pack, critics.event_id)
    assert "there is nothing called" in told(life, pack, of_ben.event_id)
    assert "was recorded later" in told(life, pack, later.event_id)
    assert "is a session started, which no context shows" in told(life, pack, start)


def test_where_nothing_was_asked_recall_is_not_blamed(life: Life) -> None:
    earlier = life.hf.session(agent="coder", session_id="earlier")
    one = earlier.assistant("The lighthouse keeper is called Ymir.")
    silent, asked = life.s.context(""), life.ask("who keeps the lighthouse?")
    assert "nothing was asked" in told(life, silent, one.event_id)
    assert "offered for relevant as turn" in told(life, asked, one.event_id)


def test_a_file_that_went_is_not_called_newer(tmp_path: Path) -> None:
    clock = Ticking()
    with project(tmp_path, clock) as hf:
        file = write(hf, "guide.md", "# Cache\n\nThe cache keeps ten entries.\n")
        hf.documents.add("guide.md")
        life = Life(hf, clock)
        first = life.ask("how many entries does the cache keep?")
        part = next(c.shown.id for c in first.receipt.candidates if c.shown.kind == "document")
        clock.minutes += 1
        file.unlink()
        hf.documents.refresh()
        pack = life.ask("and the cache?")
        steps = told(life, pack, part)
        assert "guide.md was removed since" in steps
        assert "something newer" not in steps
        assert told(life, pack, part.partition(":")[0]) == steps


def test_the_last_context_is_that_of_a_session_that_has_one(life: Life) -> None:
    with pytest.raises(NotFound, match="no context in this project yet"):
        life.hf.last_pack()
    pack = life.ask("hello?")
    life.hf.session(agent="other", session_id="silent").user("I ask for nothing.")
    assert life.hf.last_pack() == pack.id
    with pytest.raises(NotFound, match="session silent was given no context"):
        life.hf.last_pack("silent")


def test_everything_that_decides_a_context_is_in_its_signature(life: Life) -> None:
    taken = set(inspect.signature(Session.context).parameters) - {"self"}
    found = {"recall", "counted_with", "generation", "most"}  # of the project, not of the call
    assert taken == set(Wanted.__struct_fields__) - found - {"compose"} | {"settings"}
    with pytest.raises(TypeError):
        life.s.context("x", bugdet=3)  # type: ignore[call-arg]
