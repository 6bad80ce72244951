"""How full a window is: of its own session, by its own window, right after any event."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.app import managing
from holdfast.compact.pressure import band
from tests.app.hosts import Host, notes
from tests.recall.replays import Ticking

LONG = "words of a long answer " * 60


def test_it_is_measured_by_the_window_of_the_last_context(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="small").start()
    for n in range(5):
        s.user(f"Question {n}? {LONG}")
    s.context("what now?", window=3_000, budget=300)
    full = managing.health(hf, "small", None, None)
    line = hf.activity.read("context-health")[-1]
    assert (full.current_tokens, full.limit) == (line["current_tokens"], 3_000)
    assert full.pct_used == line["pct_used"]
    assert managing.health(hf, "small", None, None, window=50_000).limit == 50_000
    assert hf.status("small").pressure == s.pressure()
    assert s.pressure(model="gpt-4o").limit > 100_000
    before = s.pressure()
    s.assistant(LONG)
    assert s.pressure().tokens > before.tokens


def test_talk_that_no_context_shows_counts_for_nothing(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="s").start()
    for n in range(60):
        s.user(f"Question {n}? {LONG}")
        s.assistant(f"Answer {n}. {LONG}")
    pack = s.context("what now?", window=4_000, budget=300)
    assert s.pressure().tokens == pack.tokens <= 4_000
    s.compact("what now?", to=500, window=4_000)
    assert s.pressure().tokens < 4_000


@pytest.mark.parametrize("window", [200, 215, 230, 500])
def test_what_a_context_names_and_has_no_room_for_was_not_said_since(
    hf: holdfast.Holdfast, window: int
) -> None:
    s = hf.session(agent="coder", session_id="s").start()
    s.decision("the otters use PostgreSQL on port 8080 " * 10)
    s.assistant("There are three otters.", pinned=True)
    s.compact("what now?", window=225)
    for said in (LONG, "And now?", LONG):
        s.user(said)
        pack = s.context("what now?", window=window, budget=0)
        assert s.pressure().tokens == pack.tokens <= window
        assert hf.replay(pack.id).text == pack.text
    before = s.pressure().tokens
    s.assistant(LONG)
    assert s.pressure().tokens > before


def test_two_hosts_of_one_project_do_not_hear_of_each_other(tmp_path: Path) -> None:
    full, calm = Host(notes(40)), Host(notes(2))
    ana = full.manager(tmp_path, user="ana")
    bob = calm.manager(tmp_path, user="bob")
    ana.before_response(10_000)
    bob.before_response(77_777)
    hf = ana._hf
    of_ana = managing.health(hf, ana.session_id, "ana", None)
    of_bob = managing.health(hf, bob.session_id, "bob", None)
    assert (of_ana.current_tokens, of_ana.limit) == (full.tokens(), 10_000)
    assert (of_bob.current_tokens, of_bob.limit) == (calm.tokens(), 77_777)
    ana.compact()
    of_ana = managing.health(hf, ana.session_id, "ana", None)
    assert of_ana.current_tokens == full.tokens()
    assert of_ana.band in ("calm", "curate")
    assert of_ana.last_compaction is not None
    assert managing.health(hf, bob.session_id, "bob", None).last_compaction is None
    session = ana.session_id
    ana.session_end()
    bob.session_end()
    with holdfast.open(tmp_path / "memfas.holdfast", project="context-manager") as again:
        found = managing.health(again, session, "ana", None)
        assert (found.current_tokens, found.limit) == (full.tokens(), 10_000)


@pytest.mark.parametrize("told", [True, False])
def test_an_event_that_moves_a_window_into_another_band_has_a_line(
    tmp_path: Path, told: bool
) -> None:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        s = hf.session(agent="coder", session_id="s").start()
        limit = 4_000 if told else 2 * hf.settings.compose.history_tokens
        if told:
            s.context("what now?", window=limit)
        before = len(hf.activity.read("context-health"))
        while s.pressure(window=limit).pct < 1:
            s.user(LONG * 8)
        lines = hf.activity.read("context-health")[before:]
        bands = [band(one["current_tokens"], one["limit"], hf.settings.compact) for one in lines]
        assert {one["limit"] for one in lines} == {limit}
        assert bands == sorted(set(bands), key=("curate", "compact", "flash", "full").index)
        assert bands[-1] == "full"
        said = Path(hf.activity.path("context-health")).read_bytes()
        for path in Path(hf.activity.folder).iterdir():
            path.unlink()
        hf.activity.up_to_date()
        assert Path(hf.activity.path("context-health")).read_bytes() == said


@pytest.fixture
def hf(tmp_path: Path) -> holdfast.Holdfast:
    return holdfast.open(tmp_path / "home", project="p", user="ana")


def asked(s: holdfast.Session, n: int) -> None:
    s.user(f"Question {n}? " + "It is short. " * 6)
    s.context(f"Question {n}?", window=100_000)
    s.assistant(f"Answer {n}. " + "It is long. " * 60)


def test_a_forecast_waits_for_what_a_compaction_waits_for(tmp_path: Path) -> None:
    """Many short turns in a large window: by turns a compaction is due once it saves something."""
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        s = hf.session(agent="coder", session_id="s").start()
        for n in range(hf.settings.compact.turns + 1):
            asked(s, n)
        away = s.pressure(window=100_000).turns_left
        assert away is not None
        assert away > 10
        for n in range(away * 3 // 4):
            asked(s, 100 + n)
        assert not hf.activity.read("compaction")
        for n in range(away // 2):
            asked(s, 200 + n)
        assert hf.activity.read("compaction")


def talked(hf: holdfast.Holdfast, turns: int) -> holdfast.Session:
    """A session of so many long turns."""
    s = hf.session(agent="coder", session_id="s").start()
    for n in range(turns):
        s.user(f"Question {n}? {LONG}")
        s.assistant(f"Answer {n}. {LONG}")
    return s


def test_another_window_is_measured_by_what_a_context_of_it_would_be_shown(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        s = talked(hf, 12)
        before = s.pressure(window=100_000)
        s.context("a title", window=2_000, budget=0)
        assert s.pressure(window=2_000) == s.pressure()
        assert s.pressure(window=100_000) == before
        pack = s.context("what now?", window=100_000, budget=0)
        assert s.pressure(window=100_000) == s.pressure() == before
        assert before.tokens == pack.tokens
        small = s.pressure(window=2_000)
        assert small.tokens < 2_000
        assert s.context("a title", window=2_000, budget=0).tokens <= small.tokens


def test_a_large_window_is_no_fuller_for_what_a_small_one_left_out(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        s = talked(hf, 6)
        s.compact("what now?", window=100_000, to=500)
        left = s.pressure(window=100_000)
        s.user(f"And now? {LONG}")
        s.context("a title", window=600, budget=0)
        assert left.tokens < s.pressure(window=100_000).tokens < left.tokens + 600
