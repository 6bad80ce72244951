"""A compaction that counts is answered with what it did, whatever somebody does right behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.model.events import Draft, Event
from tests.app.test_compacting import worked
from tests.recall.replays import Ticking


@pytest.fixture
def hf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[holdfast.Holdfast]:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as opened:
        yield opened


def right_behind(
    hf: holdfast.Holdfast, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]
) -> None:
    """Act once, as soon as the next compaction is in the log and before anybody has looked."""
    record = hf.record

    def recorded(drafts: Sequence[Draft]) -> list[Event]:
        events = record(drafts)
        if events[0].kind == "compacted":
            monkeypatch.setattr(hf, "record", record)
            act()
        return events

    monkeypatch.setattr(hf, "record", recorded)


def by_another(hf: holdfast.Holdfast, s: holdfast.Session) -> Callable[[], object]:
    def act() -> None:
        worked(s, 6)
        assert hf.session(agent="coder", session_id="s").compact("item 1", window=2_000) is not None

    return act


def by_its_host(hf: holdfast.Holdfast, s: holdfast.Session) -> Callable[[], object]:
    return lambda: s.record("compacted", {"by": "host"}, origin="system")


@pytest.mark.parametrize("behind", [by_another, by_its_host])
def test_one_that_another_follows_at_once_is_answered(
    hf: holdfast.Holdfast,
    monkeypatch: pytest.MonkeyPatch,
    behind: Callable[[holdfast.Holdfast, holdfast.Session], Callable[[], object]],
) -> None:
    s = hf.session(agent="coder", session_id="s").start()
    worked(s)
    right_behind(hf, monkeypatch, behind(hf, s))
    made = s.compact("item 3", window=4_000)
    assert made is not None
    ours = next(event for event in hf.events() if event.kind == "compacted")
    assert (made.id, made.event_seq) == (ours.event_id, ours.event_seq)
    assert ours.payload["follows"] == ""
    pack = s.context("item 3", window=4_000, budget=0)
    assert hf.replay(pack.id).text == pack.text


def test_one_that_another_was_faster_than_is_made_behind_that_one(
    hf: holdfast.Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = hf.session(agent="coder", session_id="s").start()
    worked(s)
    other = hf.session(agent="coder", session_id="s")
    record, first = hf.record, list[Any]()

    def recorded(drafts: Sequence[Draft]) -> list[Event]:
        if drafts[0].type == "compacted":
            monkeypatch.setattr(hf, "record", record)
            first.append(other.compact("item 1", window=8_000))
        return record(drafts)

    monkeypatch.setattr(hf, "record", recorded)
    made = s.compact("item 3", window=3_000)
    assert made is not None
    assert made.after == first[0].id


def test_going_back_is_done_once_whatever_follows_at_once(
    hf: holdfast.Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = hf.session(agent="coder", session_id="s").start()
    worked(s)
    saved = s.checkpoint()
    worked(s, 2)
    right_behind(hf, monkeypatch, by_another(hf, s))
    made = s.resume_from(saved.id)
    assert [event.payload["strategy"] for event in hf.events() if event.kind == "compacted"] == [
        "restore",
        "adaptive",
    ]
    assert made.trigger == saved.id
