"""A context that was handed out is rendered again byte for byte, whatever was recorded or set since."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app.holdfast import Holdfast
from holdfast.errors import Erased, NotFound
from holdfast.model.packs import Pack
from tests.app.conversations import (
    EVERYTHING,
    FILES,
    Life,
    Move,
    erased,
    lived,
    lives,
    moves,
    plain,
    taken,
)
from tests.compose.wordings import sentences
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking, forgotten_index, stamp

#: the ways in which contexts are asked for, by turns
CALLS: tuple[dict[str, Any], ...] = (
    {},
    {"budget": 1_200},
    {"budget": 300, "window": 700, "system": "You are a coder."},
    {"format": "anthropic", "system": "Be brief. </hf:tools>", "tools": [{"name": "Bash"}]},
    {"model": "gpt-4", "new_tokens": 60},
    {"model": "claude-3-haiku", "budget": 900, "signals": {"activity": "debugging"}},
    {"window": 400, "budget": 100},
)
#: what somebody may write into the settings later
LATER = (
    "",
    "[compose]\nbudget = 90\nfloor = 0.4\nevent_tokens = 20\nscratchpad = 0.0\nvalue_index = 0.9\n",
    "[compose.shares]\ncritical = 0.1\nrelevant = 0.1\nbackground = 0.1\nindex = 0.1\n",
    "[recall]\nmin_relevance = 0.5\n",
    "[compose.agents.coder]\nsystem = 'Be somebody else.'\n",
)


@pytest.fixture(autouse=True)
def _static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")


@contextmanager
def later(
    home: Path | str, minutes: float, *, config: str = "", embedder: str = "static"
) -> Iterator[Holdfast]:
    """The same home in another process's eyes: other settings, another embedder, another time."""
    place = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast" / "config.toml"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(config)
    os.environ["HOLDFAST_EMBEDDER"] = embedder
    try:
        with holdfast.open(home, project="p", user="ana", now=Ticking(minutes)) as hf:
            yield hf
    finally:
        place.unlink()
        os.environ["HOLDFAST_EMBEDDER"] = "static"


def same(hf: Holdfast, packs: list[Pack]) -> None:
    """Every context is what it was, and rendering it writes nothing."""
    assert packs
    head = hf.log.head()
    for pack in packs:
        again = hf.replay(pack.id)
        assert again.text == pack.text
        assert again.messages == pack.messages
        assert again.system == pack.system
        assert again.receipt == pack.receipt
        assert again == pack
    assert hf.log.head() == head


@settings(max_examples=examples(22), phases=AS_FOUND)
@given(
    lives(EVERYTHING, most=12),
    st.lists(moves(EVERYTHING), max_size=6),
    st.sampled_from(LATER),
    st.sampled_from(["static", "none"]),
    st.sampled_from(["nothing", "rebuild", "index"]),
)
def test_a_context_is_rendered_again_byte_for_byte(
    told: list[Move], since: list[Move], config: str, embedder: str, lost: str
) -> None:
    with TemporaryDirectory() as home:
        with lived([], home) as (life, packs):
            life.calls = CALLS
            life.live(told)
            same(life.hf, packs)
            handed_out = list(packs)
            life.live(since)
        if lost == "index":
            forgotten_index(Path(home))
        with later(home, 10**6, config=config, embedder=embedder) as hf:
            if lost == "rebuild":
                hf.rebuild()
            same(hf, handed_out)


@settings(max_examples=examples(12), phases=AS_FOUND)
@given(lives((*FILES, "fact", "user", "assistant"), sentences), st.lists(moves(FILES), max_size=4))
def test_what_a_file_said_is_rendered_again_whatever_it_says_by_now(
    told: list[Move], since: list[Move]
) -> None:
    first = Move("document", 3, f"{told[-1].text}, as everybody here was told")
    with TemporaryDirectory() as home:
        with lived([first, told[-1]], home) as (life, packs):
            assert any(one.kind == "document" for one in taken(packs[0]))
            life.live(told)
            handed_out = list(packs)
            life.live(since)
            same(life.hf, handed_out)
        with later(home, 10**6, embedder="none") as hf:
            same(hf, handed_out)


@settings(max_examples=examples(8), phases=AS_FOUND)
@given(lives(EVERYTHING), sentences, st.sampled_from(CALLS))
def test_one_log_gives_one_context_wherever_it_lies(
    told: list[Move], query: str, call: dict[str, Any]
) -> None:
    with TemporaryDirectory() as place:
        home, *copies = (Path(place) / name for name in ("home", "copy", "rebuilt", "unindexed"))
        with lived([], home) as (life, _):
            life.calls = CALLS
            life.live(told)
            minutes = life.clock.minutes
        for copy in copies:
            shutil.copytree(home, copy)
        forgotten_index(copies[-1])
        made = []
        for where in (home, *copies):
            with later(where, minutes + 1) as hf:
                if where.name == "rebuilt":
                    hf.rebuild()
                s = hf.session(agent="coder", session_id="s")
                made.append(plain(s.context(query, **call)))
        assert made[1:] == made[:1] * 3


@pytest.mark.parametrize(
    "query",
    [
        "on which port do we deploy? " + "at some_function in some_file\n" * 20_000,
        "deploy with AKIAIOSFODNN7EXAMPLE please",
        "half \ud800 of a sign, on which port do we deploy?",
    ],
    ids=["long", "secret", "half"],
)
def test_the_receipt_says_what_the_record_says(life: Life, query: str) -> None:
    signals = {
        "file": "src/deploy.py",
        "errors": ("it failed\n" * 20_000, "key AKIAIOSFODNN7EXAMPLE"),
    }
    pack = life.context(query, signals=signals)
    assert len(pack.receipt.query) >= len(query) - 20
    assert "AKIA" not in pack.receipt.query
    same(life.hf, [pack])
    again = life.hf.replay(pack.id, requery=True)
    assert again.text == pack.text
    assert again.receipt.query == pack.receipt.query


# ---- what was erased ----------------------------------------------------------------------------


def shows(hf: Holdfast, pack: Pack, event_id: str) -> bool:
    """Does the record of a context name an event, or the memory it made?"""
    event = hf.log.find(event_id)
    assert event is not None
    named = event.payload.get("memory", event_id)
    return any(named == one.id for one in taken(pack))


@settings(max_examples=examples(15), phases=AS_FOUND)
@given(
    lives(("fact", "rule", "important", "elsewhere", "assistant"), sentences), st.integers(0, 99)
)
def test_what_was_erased_is_said_to_be_and_the_rest_is_as_it_was(
    told: list[Move], which: int
) -> None:
    with lived(told, budget=2_000) as (life, packs):
        made = [
            event.event_id
            for event in life.hf.events()
            if event.kind == "memory_learned" or event.session_id == "elsewhere"
        ]
        if not made:
            return
        gone = made[which % len(made)]
        held = {
            pack.id
            for n, pack in enumerate(packs)
            if any(
                shows(life.hf, one, gone) and one.receipt.epoch == pack.receipt.epoch
                for one in packs[: n + 1]
            )
        }
        erased(life.hf, gone)
        for pack in packs:
            if pack.id in held:
                with pytest.raises(Erased):
                    life.hf.replay(pack.id)
            else:
                same(life.hf, [pack])


@pytest.fixture
def life(tmp_path: Path) -> Life:
    """A memory that was revised, a note that was changed, a turn, and a context that shows them all."""
    clock = Ticking()
    hf = holdfast.open(tmp_path / "home", project="p", user="ana", now=clock)
    made = Life(hf, clock)
    made.made = [hf.remember("The deploy port is 8080").id]
    hf.revise(made.made[0], text="The deploy port is 9090")
    made.s.update_state({"task": "deploy"})
    made.s.update_state({"task": "deploy twice"})
    pack = made.ask("on which port do we deploy?", budget=2_000, system="Be brief.")
    assert "9090" in pack.text
    assert "deploy twice" in pack.text
    return made


@pytest.mark.parametrize(
    "kind",
    [
        "memory_learned",
        "memory_revised",
        "state_updated",
        "user_message",
        "epoch_started",
        "context_assembled",
    ],
)
def test_replay_says_erased_whatever_part_of_it_was(life: Life, kind: str) -> None:
    gone = [event.event_id for event in life.hf.events() if event.kind == kind]
    erased(life.hf, *gone)
    with pytest.raises((Erased, NotFound) if kind == "context_assembled" else Erased):
        life.hf.replay(life.packs[0].id)


def test_what_is_erased_around_it_changes_nothing(life: Life) -> None:
    other = life.hf.session(agent="coder", session_id="other").user("lunch at noon")
    fact = life.hf.remember("Lunch is at noon")
    later_turn = life.s.user("and lunch?")
    made_by = [e.event_id for e in life.hf.events() if e.payload.get("memory") == fact.id]
    erased(life.hf, other.event_id, later_turn.event_id, *made_by)
    same(life.hf, life.packs)


# ---- whose it is --------------------------------------------------------------------------------


def test_somebody_else_s_context_is_not_there(tmp_path: Path, life: Life) -> None:
    (pack,) = life.packs
    with pytest.raises(NotFound):
        life.hf.replay(pack.id, user="ben")
    with holdfast.open(tmp_path / "home", project="p", user="ben", now=Ticking()) as of_ben:
        with pytest.raises(NotFound) as told:
            of_ben.replay(pack.id)
        with pytest.raises(NotFound) as never:
            of_ben.replay("pck_01M7JATQXAGDJGA9HKC8H4Y420")
    assert str(told.value).replace(pack.id, "") == str(never.value).replace(
        "pck_01M7JATQXAGDJGA9HKC8H4Y420", ""
    )
    same(life.hf, life.packs)


@pytest.mark.parametrize("name", ["", "pck_none", "mem_x", None, 7, "a/../b"])
def test_what_is_no_context_is_not_there(life: Life, name: Any) -> None:
    with pytest.raises(NotFound):
        life.hf.replay(name)


def test_no_other_event_is_taken_for_one(life: Life) -> None:
    for event in list(life.hf.events()):
        if event.kind != "context_assembled":
            with pytest.raises(NotFound):
                life.hf.replay(event.event_id)


# ---- examples -----------------------------------------------------------------------------------


def test_a_system_too_long_for_its_line_is_rendered_again(life: Life) -> None:
    system = "Follow the rules of this house. " * 5_000
    tools = [{"name": f"tool{n}", "description": "does it " * 200} for n in range(120)]
    pack = life.ask("deploy", system=system, tools=tools)
    assert pack.tokens > 50_000
    same(life.hf, [pack])


@pytest.mark.parametrize(
    "config", ['[tokens]\nencoding = "cl100k_base"\n', '[tokens]\nmodel = "gpt-4"\n']
)
def test_another_way_to_count_changes_nothing_that_was_handed_out(
    tmp_path: Path, life: Life, config: str
) -> None:
    packs = [life.packs[0]]
    said = "我们把数据库部署到八千零八十端口，然后重新启动服务。" * 3
    for n in range(40):
        life.s.tool_result("Bash", f"{n} {said * (n % 7)}")
        packs.append(life.context("部署", window=900 + 40 * n, budget=100 + 10 * n))
    life.hf.close()
    with later(tmp_path / "home", 10**6, config=config) as hf:
        same(hf, packs)


@pytest.mark.parametrize(
    "scope",
    [
        "project",
        "user",
        "system",
    ],
)
def test_a_correction_is_rendered_again_wherever_the_memory_lies(life: Life, scope: str) -> None:
    fact = life.hf.remember("The deploy host is alpha", scope=scope)
    assert "alpha" in life.ask("on which host do we deploy?").text
    life.hf.revise(fact.id, expires_at=stamp(life.clock.minutes + 1))
    life.clock.minutes += 2
    assert "] no longer holds." in life.ask("on which host do we deploy?").text
    same(life.hf, life.packs)


def test_a_context_of_a_session_that_ended_is_rendered_again(tmp_path: Path, life: Life) -> None:
    packs = life.packs
    life.s.end()
    life.hf.session(agent="coder", session_id="s").start()
    life.hf.close()
    with later(tmp_path / "home", 10**6, embedder="none") as hf:
        same(hf, packs)


def test_a_memory_changed_more_often_than_its_row_remembers_is_rendered_again(life: Life) -> None:
    for n in range(320):
        life.hf.revise(life.made[0], tags=[f"t{n}"])
    same(life.hf, life.packs)
