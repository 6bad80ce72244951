"""Asking again as things stood: the same context from the same log, under its own settings or others."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import holdfast
from holdfast.app.holdfast import Holdfast
from holdfast.errors import Invalid, NotFound
from tests.app.conversations import EVERYTHING, Life, Move, erased, lived, lives, plain
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking

CALLS: tuple[dict[str, Any], ...] = (
    {},
    {"budget": 300, "window": 900, "system": "You are a coder."},
    {"format": "anthropic", "tools": [{"name": "Bash"}], "new_tokens": 120},
    {"model": "gpt-4", "signals": {"activity": "debugging"}},
)


@pytest.fixture(autouse=True)
def _static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")


@contextmanager
def configured(home: Path, config: str, minutes: float = 0) -> Iterator[Holdfast]:
    """The same home, under settings that somebody wrote down."""
    place = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast" / "config.toml"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(config)
    try:
        with holdfast.open(home, project="p", user="ana", now=Ticking(minutes)) as hf:
            yield hf
    finally:
        place.unlink()


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    clock = Ticking()
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=clock) as hf:
        made = Life(hf, clock)
        for n in range(30):
            hf.remember(f"Service {n} listens on port {8_000 + n} of the host alpha.")
        clock.minutes += 1
        yield made


@settings(max_examples=examples(10), phases=AS_FOUND)
@given(lives(EVERYTHING, most=8), st.sampled_from([CALLS, CALLS[:1]]))
def test_the_same_log_gives_the_same_context(
    told: list[Move], calls: tuple[dict[str, Any], ...]
) -> None:
    with lived([]) as (life, packs):
        life.calls = calls
        life.live(told)
        head = life.hf.log.head()
        for pack in packs:
            again = life.hf.replay(pack.id, requery=True)
            assert again.receipt.recomputed
            assert again.id == again.receipt.pack == pack.id
            told_again, handed_out = plain(again), plain(pack)
            del told_again["receipt"]["recomputed"], handed_out["receipt"]["recomputed"]
            assert told_again == handed_out
        assert life.hf.log.head() == head


def test_nothing_is_left_of_the_copy(
    life: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "copies"))
    pack = life.ask("which host?")
    assert life.hf.replay(pack.id, requery=True).text == pack.text
    assert not list((tmp_path / "copies").iterdir())


def test_what_a_person_said_elsewhere_since_the_last_event_is_there(life: Life) -> None:
    life.s.user("which port is mine?")
    life.clock.minutes += 1
    life.hf.remember("My own flamingo port is 9191.", scope="user")
    life.clock.minutes += 1
    pack = life.context("on which port does my flamingo listen?")
    life.clock.minutes += 1
    life.hf.remember("My own flamingo port is 9292.", scope="user")
    assert "9191" in pack.text
    assert life.hf.replay(pack.id, requery=True).text == pack.text
    last = life.hf.log.head().event_seq
    assert "9292" not in life.hf.replay(pack.id, at=last).text


def test_it_is_asked_under_the_settings_it_was_made_with(tmp_path: Path) -> None:
    told = "[recall]\nlexical = 3.0\nvector = 0.0\nperson = 0.0\nanswer_base = 1.0\n"
    with configured(tmp_path / "home", told) as hf:
        life = Life(hf, Ticking())
        for n in range(12):
            hf.remember(f"Flamingo {n} lives at lake {n * 3}, pelican {n % 4} at the port.")
        life.s.user("where?")
        pack = life.context("where does flamingo 7 live?", budget=900)
    later = '[recall]\nlexical = 0.0\n[tokens]\nmodel = "gpt-4"\n[compose]\nbudget = 50\n'
    with configured(tmp_path / "home", later, 10) as hf:
        again = hf.replay(pack.id, requery=True)
        assert again.text == pack.text
        assert again.receipt.candidates == pack.receipt.candidates
        assert again.receipt.counted_with == pack.receipt.counted_with
        assert again.receipt.window is None


def test_something_that_was_erased_before_ends_no_epoch_again(life: Life) -> None:
    gone = life.hf.remember("The old host is omega.")
    made_by = [e.event_id for e in life.hf.events() if e.payload.get("memory") == gone.id]
    erased(life.hf, *made_by)
    life.ask("which service listens on port 8004?")
    life.s.assistant("service 4")
    pack = life.ask("and which on 8005?")
    assert not pack.receipt.epoch_began
    again = life.hf.replay(pack.id, requery=True)
    assert again.text == pack.text
    assert not again.receipt.epoch_began


def test_what_files_say_today_has_no_part_in_it(life: Life, tmp_path: Path) -> None:
    place = tmp_path / "files" / "notes.md"
    place.parent.mkdir()
    place.write_text("# Flamingos\n\nThe flamingo lake is Nakuru.\n")
    life.hf.documents.add(["*.md"], root=place.parent)
    pack = life.ask("which flamingo lake?")
    assert "Nakuru" in pack.text
    life.clock.minutes += 1
    place.write_text("# Flamingos\n\nThe flamingo lake is Bogoria.\n")
    assert life.hf.replay(pack.id, requery=True).text == pack.text
    life.hf.documents.refresh(root=place.parent)
    assert life.hf.replay(pack.id, requery=True).text == pack.text
    assert life.hf.replay(pack.id).text == pack.text


# ---- at an event --------------------------------------------------------------------------------


def test_at_an_event_what_came_later_is_not_there(life: Life) -> None:
    life.hf.remember("The flamingo host is beta.")
    then = life.hf.log.head().event_seq
    life.clock.minutes += 1
    life.hf.remember("The flamingo rack is nine.")
    pack = life.ask("which flamingo host and rack?")
    assert "nine" in pack.text
    before = life.hf.replay(pack.id, at=then)
    assert before.receipt.recomputed
    assert "beta" in before.text
    assert "nine" not in before.text


@pytest.mark.parametrize("at", [0, -1, True, "3", 2.5])
def test_what_is_no_number_of_an_event_is_refused(life: Life, at: Any) -> None:
    pack = life.ask("which host?")
    with pytest.raises(Invalid, match="number of an event"):
        life.hf.replay(pack.id, at=at)


def test_an_event_that_is_not_there_is_named(life: Life) -> None:
    pack = life.ask("which host?")
    last = life.hf.log.head().event_seq
    assert life.hf.replay(pack.id, at=last).receipt.recomputed
    with pytest.raises(NotFound, match=f"no event {last + 1}; the last one is {last}"):
        life.hf.replay(pack.id, at=last + 1)


# ---- under other settings -----------------------------------------------------------------------


def test_settings_count_when_it_is_asked_again(life: Life) -> None:
    pack = life.ask("which service listens on port 8004?")
    then = pack.receipt.position
    small = replace(life.hf.settings.compose, budget=200)
    for again in (
        life.hf.replay(pack.id, requery=True, settings=small),
        life.hf.replay(pack.id, at=then, settings=small),
    ):
        assert again.receipt.budget == 200
        assert again.tokens < pack.tokens
    unlikely = replace(life.hf.settings.recall, answer_base=-20.0, answer_coverage=0.0)
    again = life.hf.replay(pack.id, requery=True, settings=unlikely)
    assert again.receipt.confidence == pytest.approx(0, abs=0.2)
    assert not [one for one in again.receipt.candidates if one.parts and one.verdict == "taken"]


def test_a_later_context_can_be_asked_again_under_other_settings(life: Life) -> None:
    life.ask("which service listens on port 8004?")
    life.s.assistant("service 4")
    pack = life.ask("and on 8005?")
    assert not pack.receipt.epoch_began
    again = life.hf.replay(
        pack.id, requery=True, settings=replace(life.hf.settings.compose, budget=150)
    )
    assert again.receipt.epoch_began == "the first"
    assert again.receipt.budget == 150
