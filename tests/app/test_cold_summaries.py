"""What was summarised is cold once its summary has left the window, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.app.compacting import summed
from holdfast.compose.history import spoken
from holdfast.model.compactions import Compaction, Decided
from tests.app.test_cold import talk
from tests.recall.replays import Ticking


@pytest.fixture
def hf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[holdfast.Holdfast]:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[compact]\ndrop = 0.0\nrecent = 2\n")
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as opened:
        yield opened


def compacted(s: holdfast.Session, prompt: str = "database indexes") -> Compaction:
    made = s.compact(prompt, window=8_000)
    assert made is not None
    return made


def summarised(made: Compaction) -> dict[str, Decided]:
    return {one.id: one for one in made.decided if one.verdict == "summarize"}


def long_session(hf: holdfast.Holdfast) -> tuple[holdfast.Session, dict[str, Decided]]:
    """A session whose first summaries have left, and what they stood for."""
    s = hf.session(agent="coder", session_id="long").start()
    talk(s, 20)
    first = compacted(s)
    for _ in range(4):
        talk(s, 20)
        last = compacted(s)
    gone = summarised(first)
    there = set(summed(last.past))
    assert gone
    assert not there & {one.first for one in gone.values()}
    return s, gone


def test_what_a_summary_stood_for_is_cold_when_the_summary_leaves(hf: holdfast.Holdfast) -> None:
    s, gone = long_session(hf)
    cold = {one.id: one for one in hf.cold.list("long", limit=10_000)}
    logged = {one["chunk_id"]: one for one in hf.activity.read("drops")}
    for chunk_id, one in gone.items():
        assert (cold[chunk_id].first, cold[chunk_id].last) == (one.first, one.last)
        assert (cold[chunk_id].score, cold[chunk_id].tokens) == (one.score, one.tokens)
        assert cold[chunk_id].reason == logged[chunk_id]["reason"] == "summary_left"
        assert Path(hf.cold.path(cold[chunk_id])).exists()
        event = hf.log.find(chunk_id)
        assert event is not None
        back = s.recover(chunk_id)
        assert (back.note, event.text in back.content) == ("", True)


def test_each_chunk_leaves_once_and_nothing_that_left_is_forgotten(hf: holdfast.Holdfast) -> None:
    s, _ = long_session(hf)
    talk(s, 20)
    last = compacted(s, "which crossing was painted?")
    cold = hf.cold.list("long", limit=10_000)
    assert len({one.id for one in cold}) == len(cold)
    stays = {*last.past.kept, *summed(last.past)}
    places = {seq for one in cold for seq in range(one.first, one.last + 1)}
    said = {one.event_seq for one in hf.events(session_id="long") if spoken(one)}
    assert said - stays == said & places


def test_a_summary_that_comes_back_with_a_checkpoint_takes_its_chunks_out_of_the_cold(
    hf: holdfast.Holdfast,
) -> None:
    s = hf.session(agent="coder", session_id="long").start()
    talk(s, 20)
    first = summarised(compacted(s))
    early = s.checkpoint()
    for _ in range(4):
        talk(s, 20)
        compacted(s)
    late = s.checkpoint()
    assert first.keys() <= {one.id for one in hf.cold.list("long", limit=10_000)}
    s.resume_from(early.id)
    assert not first.keys() & {one.id for one in hf.cold.list("long", limit=10_000)}
    s.resume_from(late.id)
    assert first.keys() <= {one.id for one in hf.cold.list("long", limit=10_000)}
    assert s.recover(next(iter(first))).note == ""


def test_the_compaction_a_summary_leaves_with_names_what_it_stood_for(
    hf: holdfast.Holdfast,
) -> None:
    _, gone = long_session(hf)
    for one in hf.cold.list("long", limit=10_000):
        event = hf.log.find(one.compaction_id)
        assert event is not None
        assert one.id not in gone or one.id in event.sources
