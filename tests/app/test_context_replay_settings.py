"""A context under other settings: its recorded candidates scored and packed anew, within every limit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import holdfast
from holdfast.app.holdfast import Holdfast
from holdfast.app.replaying import recorded
from holdfast.compose.rescoring import unknown
from holdfast.errors import Invalid, Limit
from holdfast.model.compose import SECTIONS, AgentDefaults, ComposeSettings, Shares
from holdfast.model.packs import Pack
from holdfast.model.recall import RecallSettings
from tests.app.conversations import EVERYTHING, Life, Move, lived, lives
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking

#: the ways in which contexts are asked for, by turns
CALLS: tuple[dict[str, Any], ...] = (
    {},
    {"budget": 1_200},
    {"budget": 300, "window": 900, "system": "You are a coder."},
    {"format": "anthropic", "tools": [{"name": "Bash"}], "new_tokens": 120},
    {"model": "gpt-4", "signals": {"activity": "debugging"}},
    {"window": 400, "budget": 100},
)
MEMORY = ("background", "index", "critical", "relevant", "scratchpad")

others = st.builds(
    ComposeSettings,
    budget=st.sampled_from([0, 40, 200, 900, 8_000]),
    shares=st.sampled_from([Shares(), Shares(critical=0, relevant=0.9, background=0.1, index=0)]),
    stretch=st.sampled_from([1.0, 1.5, 4.0]),
    scratchpad=st.sampled_from([0.0, 0.1, 0.5]),
    new_tokens=st.sampled_from([0, 60, 500, 5_000]),
    floor=st.sampled_from([0.0, 0.005, 0.2]),
    value_index=st.sampled_from([0.15, 0.9]),
    history_tokens=st.sampled_from([0, 90, 50_000]),
    history_refill=st.sampled_from([0.1, 0.5]),
    event_tokens=st.sampled_from([10, 4_000]),
    windows=st.sampled_from([{}, {"gpt-4": 700}]),
)


@pytest.fixture(autouse=True)
def _static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")


def own(hf: Holdfast, pack: Pack) -> Any:
    """What a context was asked for, and under which settings."""
    return recorded(hf, pack.id, "ana").wanted


def candidates(pack: Pack) -> list[Any]:
    """Everything that was weighed, by name."""
    every = [one.shown for one in pack.receipt.candidates]
    return sorted((one.section, one.kind, one.id, one.span, one.beside) for one in every)


# ---- the same settings --------------------------------------------------------------------------


@settings(max_examples=examples(20), phases=AS_FOUND)
@given(lives(EVERYTHING, most=12), st.sampled_from([CALLS, CALLS[:1]]))
def test_its_own_settings_make_the_same_context(
    told: list[Move], calls: tuple[dict[str, Any], ...]
) -> None:
    with lived([]) as (life, packs):
        life.calls = calls
        life.live(told)
        head = life.hf.log.head()
        for pack in packs:
            wanted = own(life.hf, pack)
            for same in (wanted.compose, wanted.recall):
                again = life.hf.replay(pack.id, settings=same)
                assert again.receipt.recomputed
                assert again.text == pack.text
                assert again.messages == pack.messages
                assert replace(again.receipt, recomputed=False) == pack.receipt
        assert life.hf.log.head() == head


# ---- other settings -----------------------------------------------------------------------------


def within(hf: Holdfast, pack: Pack) -> None:
    """No limit is passed, and every figure is what the text says."""
    count, receipt = hf.counter_named(pack.receipt.counted_with).count, pack.receipt
    assert receipt.recomputed
    assert receipt.window is None or count(pack.text) <= receipt.window
    remembered = [pack.sections[name] for name in MEMORY if pack.sections[name]]
    assert count("\n\n".join(remembered)) <= receipt.budget
    for name in SECTIONS:
        figures = receipt.sections[name]
        assert figures.tokens == count(pack.sections[name])
        assert figures.cap is None or figures.tokens <= figures.cap
    assert receipt.sections["total"].tokens == pack.tokens == count(pack.text)
    assert receipt.sections["total"].cap == receipt.window
    assert receipt.stable_prefix_tokens <= pack.tokens


@settings(max_examples=examples(20), phases=AS_FOUND)
@given(lives(EVERYTHING, most=12), st.lists(others, min_size=2, max_size=2))
def test_other_settings_pass_no_limit_and_lose_no_candidate(
    told: list[Move], tried: list[ComposeSettings]
) -> None:
    with lived([]) as (life, packs):
        life.calls = CALLS
        life.live(told)
        for pack in packs:
            for other in tried:
                try:
                    again = life.hf.replay(pack.id, settings=other)
                except (Invalid, Limit):
                    continue
                within(life.hf, again)
                assert candidates(again) == candidates(pack)


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """Many rules and services, a long conversation, and the first context of it."""
    clock = Ticking()
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=clock) as hf:
        made = Life(hf, clock)
        for n in range(40):
            hf.remember(
                f"Service {n} listens on port {8_000 + n} of host {n % 7}.", importance=n / 40
            )
            hf.remember(f"Rule {n}: service {n} is restarted by its own team.", category="rules")
        for n in range(60):
            made.s.user(f"and what about host {n}?")
            made.s.assistant(f"Host {n} runs what it ran before, as far as I can see. " * 3)
        made.ask("which service listens on port 8004?", budget=3_000, window=9_000)
        assert made.packs[0].receipt.epoch_began
        yield made


def test_a_first_context_is_packed_anew_as_a_whole(life: Life) -> None:
    pack = life.packs[0]
    asked = own(life.hf, pack)
    assert pack.sections["background"]
    other = replace(
        asked.compose, shares=Shares(critical=0.1, relevant=0.8, background=0.1, index=0)
    )
    again = life.hf.replay(pack.id, settings=other)
    within(life.hf, again)
    assert candidates(again) == candidates(pack)
    was, now = pack.receipt.sections, again.receipt.sections
    assert now["background"].tokens <= 450 < was["background"].tokens
    assert now["index"].tokens == 0 < was["index"].tokens
    assert {one.verdict for one in again.receipt.candidates if one.shown.section == "index"} <= {
        "share",
        "budget",
    }


def test_a_smaller_window_shows_less_of_the_conversation(life: Life) -> None:
    pack = life.context("which service listens on port 8004?", model="gpt-4", budget=500)
    assert pack.receipt.window == 8_192
    small = replace(own(life.hf, pack).compose, windows={"gpt-4": 2_000})
    again = life.hf.replay(pack.id, settings=small)
    within(life.hf, again)
    assert again.receipt.window == 2_000
    assert 0 < again.receipt.sections["history"].tokens <= pack.receipt.sections["history"].tokens
    assert "<hf:earlier" in again.text


def test_what_had_been_asked_for_stays_and_what_was_a_default_changes(life: Life) -> None:
    compose = own(life.hf, life.packs[0]).compose
    told = life.context("which host?", budget=700, system="Be brief.", new_tokens=90)
    plain = life.context("which host?")
    other = replace(
        compose,
        budget=300,
        new_tokens=33,
        agents={"coder": AgentDefaults(system="Be long.", tools=({"name": "Bash"},))},
    )
    again = life.hf.replay(told.id, settings=other)
    assert again.receipt.budget == 700
    assert again.sections["system"].startswith("Be brief.")
    again = life.hf.replay(plain.id, settings=other)
    assert again.receipt.budget == 300
    assert again.sections["system"].startswith("Be long.")
    assert "Bash" in again.sections["system"]


def test_a_later_context_keeps_what_stood_or_says_what_to_do(life: Life) -> None:
    call = {"budget": 3_000, "window": 9_000}
    first, compose = life.packs[0], own(life.hf, life.packs[0]).compose
    life.s.assistant("Service 4.")
    pack = life.ask("and which on port 8005, of which host?", **call)
    assert not pack.receipt.epoch_began
    none = life.hf.replay(pack.id, settings=replace(compose, new_tokens=0))
    within(life.hf, none)
    assert none.receipt.new_tokens == 0
    assert candidates(none) == candidates(pack)
    assert pack.text.startswith(none.text)
    shares = Shares(critical=0.1, relevant=0.8, background=0.05, index=0.05)
    with pytest.raises(
        Invalid, match=f"replay {first.id}, with which its epoch began, or use requ"
    ):
        life.hf.replay(pack.id, settings=replace(compose, shares=shares))
    asked = life.hf.replay(pack.id, settings=replace(compose, shares=shares), requery=True)
    within(life.hf, asked)


# ---- settings of recall -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        {"lexical": 0.9},
        {"vector": 0.0, "static": 1.0},
        {"letters": 1.0, "session": 0.0},
        {"person": 0.5, "length": 3.0},
        {"importance": 0.0, "recency": 0.15},
        {"profile": "seed"},
        {"answer_base": -4.0},
        {"relevance_share": 2.0, "answer_among": 5},
        {"confidence_base": -6.0, "confidence_spread": 0.1},
    ],
)
def test_scores_are_those_that_asking_again_gives(life: Life, changed: dict[str, Any]) -> None:
    pack = life.packs[0]
    other = replace(own(life.hf, pack).recall, **changed)
    told = life.hf.replay(pack.id, settings=other)
    asked = life.hf.replay(pack.id, settings=other, requery=True)
    within(life.hf, told)
    assert candidates(told) == candidates(pack)
    mine, real, was = (
        {c.shown.id: c for c in one.receipt.candidates if c.parts} for one in (told, asked, pack)
    )
    both = mine.keys() & real.keys()
    assert len(both) > 20
    for one in both:
        assert mine[one].relevance == pytest.approx(real[one].relevance, abs=2e-3)
        assert mine[one].score == pytest.approx(real[one].score, abs=2e-3)
    assert told.receipt.confidence == pytest.approx(asked.receipt.confidence, abs=2e-3)
    moved = any(abs(mine[one].score - was[one].score) > 1e-4 for one in mine)
    assert moved or abs(told.receipt.confidence - pack.receipt.confidence) > 1e-2


@pytest.mark.parametrize("changed", [{"min_relevance": 0.9}, {"cited_words": 7}])
def test_what_no_context_depends_on_changes_none(life: Life, changed: dict[str, Any]) -> None:
    pack = life.packs[0]
    again = life.hf.replay(pack.id, settings=replace(life.hf.settings.recall, **changed))
    assert again.text == pack.text


@pytest.mark.parametrize(
    "changed",
    [
        {"pool": 7},
        {"answer_coverage": 1.0},
        {"recency_days": 1.0},
        {"passage_chars": 200},
        {"candidates": 9},
        {"recent_hours": 1.0},
        {"renew": 0.9},
    ],
)
def test_what_cannot_be_told_is_refused_by_name(life: Life, changed: dict[str, Any]) -> None:
    (name,) = changed
    recall = name not in ("candidates", "recent_hours", "renew")
    every = life.hf.settings.recall if recall else life.hf.settings.compose
    with pytest.raises(Invalid, match=f"what {name} would have changed .* requery=True"):
        life.hf.replay(life.packs[0].id, settings=replace(every, **changed))
    asked = life.hf.replay(life.packs[0].id, settings=replace(every, **changed), requery=True)
    assert asked.receipt.recomputed


def test_what_was_never_measured_is_refused_by_name() -> None:
    usual = RecallSettings()
    before = replace(usual, vector=0.0, breadth=0.0)
    assert unknown(usual, before) == []
    assert unknown(before, usual) == ["breadth", "vector"]
    assert unknown(replace(usual, profile="seed"), usual) == ["usage"]
    assert unknown(usual, replace(usual, profile="seed")) == []


@pytest.mark.parametrize("wrong", [7, "small", {"budget": 3}, AgentDefaults()])
def test_what_is_no_settings_is_refused(life: Life, wrong: Any) -> None:
    for requery in (False, True):
        with pytest.raises(Invalid, match="a RecallSettings or a ComposeSettings"):
            life.hf.replay(life.packs[0].id, settings=wrong, requery=requery)
