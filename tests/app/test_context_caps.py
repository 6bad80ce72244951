"""The budget and the window are hard limits: no part of a context passes its own by one token."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app.holdfast import Holdfast
from holdfast.compose import render
from holdfast.engines.tokenizers.vocabulary import counter
from holdfast.errors import Limit
from holdfast.model.compact import CompactSettings
from holdfast.model.packs import Pack
from holdfast.model.tokens import TokenSettings, resolve
from tests.app.conversations import EVERYTHING, Life, Move, lived, lives
from tests.compose.marks import blocks, entries, remembered
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking

#: what memory adds, and the share of the budget each part may take by itself
SHARES = {"background": 0.25, "index": 0.125, "critical": 0.25, "relevant": 0.375}
DEBUGGING = {"background": 0.1875, "index": 0.125, "critical": 0.375, "relevant": 0.3125}
MEMORY = (*SHARES, "scratchpad")
TOOLS = [{"name": "memory_search", "description": "find", "input_schema": {"type": "object"}}]


budgets = st.one_of(st.integers(0, 3_000), st.integers(0, 400))
windows = st.one_of(st.integers(50, 5_000), st.integers(50, 900))
calls = st.fixed_dictionaries(
    {
        "budget": budgets,
        "window": windows,
        "new_tokens": st.sampled_from([0, 60, 500, 3_000]),
        "model": st.sampled_from(["", "gpt-4", "claude-3-haiku", "llama-2-7b"]),
        "system": st.sampled_from(["", "You are a coder.", "Be brief. " * 15]),
        "tools": st.sampled_from([[], TOOLS]),
        "format": st.sampled_from(["openai", "anthropic"]),
        "signals": st.sampled_from([{}, {"activity": "debugging"}]),
    }
)


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


def counted(model: str, text: str) -> int:
    """Tokens, without a project around them."""
    return counter(resolve(model, TokenSettings())).count(text)


def of_memory(pack: Pack) -> str:
    """All that memory adds to a context."""
    return "\n\n".join(pack.sections[name] for name in MEMORY if pack.sections[name])


def within(hf: Holdfast, pack: Pack, call: dict[str, Any]) -> None:
    """What holds for every context."""
    count, budget = hf.counter(call["model"]).count, call["budget"]
    assert pack.tokens == count(pack.text) <= call["window"]
    shares = DEBUGGING if call["signals"] else SHARES
    for name, share in shares.items():
        assert count(pack.sections[name]) <= min(budget, 1.5 * share * budget), name
    assert count(pack.sections["scratchpad"]) <= 0.1 * budget
    assert count(of_memory(pack)) <= budget


def added(pack: Pack) -> int:
    """How many entries of memory a context holds."""
    return sum(len(entries(block)) for block in remembered(pack.text))


#: with enough to show that every part is filled
stocked = lives().map(
    lambda told: [Move("stock", 7, "we use the service on the port of the database"), *told]
)


@settings(max_examples=examples(45), phases=AS_FOUND)
@given(lives() | stocked, calls)
def test_no_part_of_any_context_passes_its_own(told: list[Move], call: dict[str, Any]) -> None:
    fixed = render.text_of(render.system(call["system"], call["tools"]))
    try:
        with lived(told, **call) as (life, packs):
            for pack in packs:
                within(life.hf, pack, call)
    except Limit:
        assert counted(call["model"], fixed) >= call["window"]


@settings(max_examples=examples(25), phases=AS_FOUND)
@given(stocked, st.sampled_from([0, 30, 120, 500]), st.integers(200, 3_000))
def test_a_later_turn_adds_no_more_than_it_may(told: list[Move], new: int, budget: int) -> None:
    with lived(told, budget=budget, new_tokens=new) as (life, packs):
        count = life.hf.counter().count
        began: dict[str, int] = {}
        in_turn: dict[tuple[str, int], int] = defaultdict(int)
        before = ""
        for pack, turn in zip(packs, life.turns, strict=True):
            epoch = pack.receipt.epoch
            fresh = pack.text.removeprefix(before) if epoch in began else pack.text
            if turn > began.setdefault(epoch, turn):
                told_now = [fresh[one.start : one.end] for one in remembered(fresh)]
                in_turn[epoch, turn] += count("\n\n".join(told_now))
            before = pack.text.removesuffix(pack.sections["scratchpad"]).rstrip("\n")
        assert all(tokens <= new for tokens in in_turn.values())


@settings(max_examples=examples(25), phases=AS_FOUND)
@given(st.integers(1, 60), st.integers(-9, 90), st.integers(0, 6))
def test_it_is_refused_only_where_system_and_tools_do_not_fit(
    words: int, left: int, said: int
) -> None:
    fits_beside("word " * words, left, said)


@pytest.mark.parametrize("left", [1, 5, 9, 13])
def test_the_least_that_is_left_beside_the_system_is_enough(left: int) -> None:
    fits_beside("word " * 40, left, said=6)


def fits_beside(system: str, left: int, said: int) -> None:
    """A context of a window that may be filled with so many tokens more than the system takes."""
    with lived([]) as (life, _):
        for _ in range(said):
            life.user("deploy the cache " * 5)
        fixed = life.hf.counter().count(system.strip())
        most = CompactSettings().most
        window = max(0, math.ceil((fixed + left) / most))
        if int(most * window) > fixed:
            pack = life.context("deploy", system=system, window=window)
            assert fixed <= pack.tokens <= most * window
        else:
            with pytest.raises(Limit, match=str(window)):
                life.context("deploy", system=system, window=window)


# ---- examples -----------------------------------------------------------------------------------


@pytest.fixture
def life(tmp_path: Path) -> Life:
    """A project with far more to show than fits."""
    clock = Ticking()
    hf = holdfast.open(tmp_path / "home", project="p", user="ana", now=clock)
    kinds: tuple[dict[str, Any], ...] = ({}, {}, {"category": "rules"}, {"kind": "episode"})
    hf.remember_all(
        [
            {"text": f"the service {n} listens on port {8000 + n} of the host", **kinds[n % 4]}
            for n in range(80)
        ]
    )
    for n in range(20):
        s = hf.session(agent="coder", session_id=f"earlier {n}")
        s.decision(f"service {n} moves to port {9000 + n} of the database host")
    return Life(hf, clock)


@pytest.mark.parametrize("budget", [600, 900, 1_200])
def test_notes_that_come_later_take_their_place_within_the_budget(life: Life, budget: int) -> None:
    call = {"budget": budget, "new_tokens": budget}
    for n in range(6):
        life.ask(f"service {n} port database host", **call)
        life.s.update_state({"task": "port the service to another host " * (n + 1)})
        pack = life.context("service", **call)
        assert life.hf.counter().count(of_memory(pack)) <= budget


def test_without_a_budget_there_is_the_conversation_and_nothing_else(life: Life) -> None:
    life.s.update_state({"task": "port"})
    pack = life.ask("service port", budget=0)
    assert {block.mark for block in blocks(pack.text)} == {"turn"}
    assert of_memory(pack) == ""


def test_the_budget_is_used_where_there_is_something_to_show(life: Life) -> None:
    for budget in (500, 2_000):
        pack = life.ask("service port database host", budget=budget)
        assert life.hf.counter().count(of_memory(pack)) >= budget / 2
        assert added(pack) >= 5


def test_errors_come_first_when_something_is_broken(life: Life) -> None:
    plain, broken = (
        life.ask("service port", budget=1_000, signals={"activity": activity}, system=activity)
        for activity in ("", "debugging")
    )
    caps = [pack.receipt.sections["critical"].cap for pack in (plain, broken)]
    assert caps == [375, 562]


def test_no_more_than_half_of_a_window_goes_to_memory(life: Life) -> None:
    pack = life.ask("service port", budget=3_000, window=1_000)
    assert life.hf.counter().count(of_memory(pack)) <= 500


def test_what_does_not_fit_the_window_is_named_and_the_rest_is_there(life: Life) -> None:
    for n in range(30):
        life.user(f"question {n} about the port of a service")
    pack = life.context("service", window=600, budget=100)
    assert pack.tokens <= 600
    assert "question 29 about" in pack.text
    assert "question 0 about the port" not in pack.text
    assert blocks(pack.sections["history"])[0].mark == "earlier"


def test_every_kind_of_move_can_be_taken() -> None:
    """Else the properties above would hold for lives in which little happens."""
    first = [Move("stock", 4, "the service"), Move("merge", 9, "service")]
    told = [Move(what, n, f"{what} of the service") for what in EVERYTHING for n in range(3)]
    with lived([*first, *told, Move("ask", 0, "service")]) as (life, packs):
        kinds = {event.kind for log in life.hf.logs() for event in log.events()}
    assert {"memory_revised", "memory_superseded", "memory_merged", "memory_forgotten"} <= kinds
    assert {"trust_changed", "memory_restored", "state_updated", "validation_gate"} <= kinds
    assert added(packs[-1]) >= 5
