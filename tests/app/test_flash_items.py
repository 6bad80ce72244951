"""Going back to a checkpoint takes back what its own session did to items, and nothing of others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from tests.recall.replays import Ticking


@pytest.fixture
def hf(tmp_path: Path) -> Iterator[holdfast.Holdfast]:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as opened:
        yield opened


def test_what_another_session_saved_since_stays_and_that_is_said(hf: holdfast.Holdfast) -> None:
    mine, other = (hf.session(agent="coder", session_id=name).start() for name in ("a", "b"))
    theirs = other.items.save("plan v1", "TASK")
    pinned = mine.items.save("an error", "ERROR")
    own = mine.items.save("notes v1", "CODE")
    by_hand = mine.items.save("a rule", "PRD_SECTION")
    mine.user("what is next?")
    saved = mine.checkpoint()
    other.items.save("plan v2", id=theirs.id)
    other.items.pin(theirs.id)
    other.items.pin(pinned.id)
    hf.items.save("a better rule", id=by_hand.id, agent="coder")
    mine.items.save("plan v3", id=theirs.id)
    mine.items.save("notes v2", id=own.id)
    other.items.load("ALL")
    hf.items.update_tiers(agent="coder")
    mine.resume_from(saved.id)
    found = {one.id: one for one in mine.items.list()}
    assert (found[theirs.id].text, found[theirs.id].pinned) == ("plan v3", True)
    assert (found[pinned.id].pinned, found[pinned.id].tier) == (True, "HOT")
    assert found[by_hand.id].text == "a better rule"
    assert found[own.id].text == "notes v1"
    told = [notice for notice in hf.notices if "by somebody else" in notice]
    assert [notice.split()[0] for notice in told] == sorted([theirs.id, pinned.id, by_hand.id])


def test_what_was_taken_back_once_can_be_taken_back_again(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="a").start()
    item = s.items.save("v1", "TASK")
    saved = s.checkpoint()
    for text in ("v2", "v3"):
        s.items.save(text, id=item.id)
        s.resume_from(saved.id)
        assert s.items.get(item.id).text == "v1"
    assert not hf.notices
