"""An epoch goes on as long as what it showed may stay; what ends it is said on the receipt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import holdfast
from holdfast.errors import Denied
from tests.app.conversations import (
    AROUND,
    CORRECT,
    LEARN,
    TALK,
    Life,
    Move,
    erased,
    lasting,
    lived,
    lives,
    taken,
)
from tests.compose.marks import blocks, numbered
from tests.compose.wordings import sentences
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


# ---- what does not end one ----------------------------------------------------------------------


@settings(max_examples=examples(20), phases=AS_FOUND)
@given(lives((*TALK, *LEARN, *CORRECT, *AROUND), sentences, most=18))
def test_what_is_said_learned_and_corrected_ends_nothing(told: list[Move]) -> None:
    with lived(told, budget=2_000) as (_, packs):
        assert {pack.receipt.epoch for pack in packs} == {packs[0].receipt.epoch}
        assert [pack.receipt.epoch_began for pack in packs] == ["the first", *[""] * len(packs[1:])]


@settings(max_examples=examples(15), phases=AS_FOUND)
@given(lives(texts=sentences), st.integers(1, 3))
def test_asking_again_gives_the_same_and_adds_nothing(told: list[Move], times: int) -> None:
    with lived(told, budget=1_500) as (life, packs):
        query = told[-1].text
        for _ in range(times):
            again = life.context(query)
            assert again.text == packs[-2].text
            assert again.messages == packs[-2].messages
            assert again.receipt.new_tokens == 0
            assert again.receipt.epoch_began == ""
            assert taken(again) == []


# ---- what ends one ------------------------------------------------------------------------------


@settings(max_examples=examples(20), phases=AS_FOUND)
@given(
    lives((*TALK, *LEARN, *CORRECT), sentences, most=8),
    st.sampled_from(["forget", "distrust"]),
    st.integers(0, 20),
)
def test_what_is_taken_back_for_good_is_gone_from_the_next_context(
    told: list[Move], how: str, which: int
) -> None:
    with lived(told, budget=4_000, new_tokens=4_000) as (life, packs):
        before = packs[-1]
        seen = [one for pack in packs for one in taken(pack) if one.id.startswith("mem_")]
        usual = [one for one in seen if life.hf.get(one.id).trust == 3]
        if not usual:
            return
        one = usual[which % len(usual)].id
        if how == "forget":
            life.hf.forget(one, reason="wrong")
        else:
            life.hf.trust(one, 1, reason="wrong")
        after = life.context(told[-1].text)
        assert after.receipt.epoch != before.receipt.epoch
        assert one in after.receipt.epoch_began
        if how == "forget":
            assert one not in {shown.id for shown in taken(after)}


@pytest.fixture
def life(tmp_path: Path) -> Life:
    """A project with a rule, a fact, a workflow, and a turn of another session, all of them shown."""
    clock = Ticking()
    hf = holdfast.open(tmp_path / "home", project="p", user="ana", now=clock)
    hf.session(agent="coder", session_id="earlier").user("the deploy broke on port 9999")
    made = Life(hf, clock, budget=2_000)
    made.made = [
        hf.remember("Never deploy on Friday", category="rules").id,
        hf.remember("The deploy port is 8080").id,
        hf.remember("Deploy with make ship", kind="workflow", title="deploy", steps=["ship"]).id,
        hf.remember("My deploy window is noon", scope="user", category="preferences").id,
    ]
    made.ask("deploy port")
    return made


def event_of(life: Life, memory: str) -> str:
    """The event that made a memory."""
    return next(
        event.event_id
        for event in life.hf.events()
        if event.kind == "memory_learned" and event.payload["memory"] == memory
    )


@pytest.mark.parametrize("which", range(4))
def test_forgetting_ends_it_and_says_so(life: Life, which: int) -> None:
    one = life.made[which]
    text = life.hf.get(one).text
    assert text in life.packs[-1].text
    life.hf.forget(one, reason="wrong")
    pack = life.ask("deploy port")
    assert pack.receipt.epoch_began == f"{one} was forgotten"
    assert text not in pack.text


@pytest.mark.parametrize("which", range(4))
def test_less_trust_ends_it_and_says_so(life: Life, which: int) -> None:
    one = life.made[which]
    life.hf.trust(one, 1, reason="seen elsewhere")
    pack = life.ask("deploy port")
    assert pack.receipt.epoch_began == f"{one} is trusted less"
    rules = [block.body for block in blocks(pack.text) if block.mark == "instructions"]
    assert not any(life.hf.get(one).text in body for body in rules)


def test_what_an_agent_puts_beside_a_rule_is_no_instruction(life: Life) -> None:
    with pytest.raises(Denied):
        life.s.remember("Deploy whenever you like", category="rules", supersedes=life.made[0])
    life.s.remember("Deploy whenever you like", category="rules")
    pack = life.ask("deploy")
    rules = [block.body for block in blocks(pack.text) if block.mark == "instructions"]
    assert not any("whenever" in body for body in rules)


@pytest.mark.parametrize("which", range(3))
def test_erasing_ends_it_and_says_why(life: Life, which: int) -> None:
    text = life.hf.get(life.made[which]).text
    erased(life.hf, event_of(life, life.made[which]))
    pack = life.ask("deploy port")
    assert pack.receipt.epoch_began not in ("", "the first")
    assert text not in pack.text


def test_erasing_a_turn_ends_it_and_takes_the_turn_out(life: Life) -> None:
    said = life.s.user("my name is Zyzzogeton")
    life.ask("deploy")
    erased(life.hf, said.event_id)
    pack = life.ask("deploy port")
    assert pack.receipt.epoch_began != ""
    assert "Zyzzogeton" not in pack.text


def test_a_full_window_ends_it_and_keeps_the_latest(life: Life) -> None:
    began = []
    for n in range(40):
        pack = life.ask(f"question number {n} about the deploy of the service", window=900)
        assert pack.tokens <= 900
        assert f"question number {n} about" in pack.text
        began.append(pack.receipt.epoch_began)
    assert set(began) >= {"the first", "the conversation was compacted", ""}
    assert began.count("") > 20


KEYS: dict[str, dict[str, Any]] = {
    "model": {"model": "gpt-4o"},
    "format": {"format": "anthropic"},
    "budget": {"budget": 1_999},
    "window": {"window": 10_000},
    "system": {"system": "Be brief."},
    "tools": {"tools": [{"name": "Bash"}]},
}


@pytest.mark.parametrize("name", KEYS)
def test_another_call_has_an_epoch_of_its_own_and_the_first_goes_on(life: Life, name: str) -> None:
    first = life.packs[-1]
    other = life.ask("deploy", **KEYS[name])
    assert other.receipt.epoch_began == "the first"
    back = life.ask("deploy")
    assert back.receipt.epoch == first.receipt.epoch
    assert back.text.startswith(lasting(first))
    again = life.ask("deploy", **KEYS[name])
    assert again.receipt.epoch == other.receipt.epoch
    assert again.text.startswith(lasting(other))


def test_other_settings_have_an_epoch_of_their_own(life: Life) -> None:
    other = replace(life.hf.settings.compose, value_summary=0.6)
    assert life.ask("deploy", settings=other).receipt.epoch_began == "the first"
    assert life.ask("deploy").receipt.epoch_began == ""


def test_no_number_is_given_twice_in_a_session(life: Life) -> None:
    calls: list[dict[str, Any]] = [{}, *KEYS.values()]
    shown = [numbered(life.ask("deploy", **call).text).keys() for call in calls * 2]
    life.hf.forget(life.made[1], reason="wrong")
    shown += [numbered(life.ask("deploy", **call).text).keys() for call in calls]
    epochs = {pack.receipt.epoch: {one.number for one in taken(pack)} for pack in life.packs}
    given: list[int] = [number for numbers in epochs.values() for number in numbers]
    assert len(given) == len(set(given))
    assert all(numbers for numbers in shown)


def test_another_session_has_epochs_of_its_own(life: Life) -> None:
    with life.hf.session(agent="coder") as other:
        pack = other.context("deploy port", budget=2_000)
        assert pack.receipt.epoch_began == "the first"
        assert min(numbered(pack.text)) == 1
    assert life.ask("deploy").receipt.epoch_began == ""


def test_an_epoch_goes_on_after_a_restart(tmp_path: Path, life: Life) -> None:
    before = life.packs[-1]
    life.hf.close()
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=life.clock) as hf:
        s = hf.session(agent="coder", session_id="s").start()
        s.user("and the host?")
        after = s.context("deploy host", budget=2_000)
    assert after.receipt.epoch == before.receipt.epoch
    assert after.text.startswith(lasting(before))


def test_what_an_epoch_showed_of_a_forgotten_turn_is_not_shown_by_the_next(life: Life) -> None:
    """A turn of another session that is erased was shown as well."""
    shown = [one for pack in life.packs for one in taken(pack) if one.kind == "turn"]
    assert shown
    erased(life.hf, shown[0].id)
    assert "9999" not in life.ask("deploy port").text
