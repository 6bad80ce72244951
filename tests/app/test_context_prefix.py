"""Within an epoch a context only grows: its beginning stays, nothing comes twice, corrections once."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app.holdfast import Holdfast
from holdfast.model.memories import Memory, current
from holdfast.model.packs import Pack, Shown
from tests.app.conversations import (
    EVERYTHING,
    LEARN,
    TALK,
    Life,
    Move,
    epoch_of,
    lasting,
    lived,
    lives,
    taken,
)
from tests.compose.marks import numbered
from tests.compose.wordings import sentences
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking, stamp

OTHERS = ("wait", "elsewhere", "critic", "ben")
WIDE: dict[str, Any] = {"budget": 8_000, "new_tokens": 8_000}


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


def follows(hf: Holdfast, before: Pack, after: Pack) -> None:
    """What holds between two contexts in a row."""
    count = hf.counter().count
    if before.receipt.epoch == after.receipt.epoch:
        assert after.text.startswith(lasting(before))
        assert after.stable_prefix_tokens == count(lasting(before))
        assert after.receipt.epoch_began == ""
    else:
        assert after.receipt.epoch_began != ""


@settings(max_examples=examples(25), phases=AS_FOUND)
@given(lives(EVERYTHING, most=18))
def test_a_context_begins_as_the_one_before_it_ended(told: list[Move]) -> None:
    with lived(told, budget=1_500) as (life, packs):
        assert packs[0].receipt.epoch_began == "the first"
        for before, after in pairwise(packs):
            follows(life.hf, before, after)


@settings(max_examples=examples(15), phases=AS_FOUND)
@given(lives(TALK, most=18))
def test_the_same_holds_where_the_window_is_small(told: list[Move]) -> None:
    with lived(told, budget=200, window=900) as (life, packs):
        assert all(pack.tokens <= 900 for pack in packs)
        for before, after in pairwise(packs):
            follows(life.hf, before, after)


@settings(max_examples=examples(20), phases=AS_FOUND)
@given(lives(EVERYTHING, most=18))
def test_nothing_that_is_shown_is_shown_again(told: list[Move]) -> None:
    with lived(told, **WIDE) as (life, packs):
        numbers: set[int] = set()
        of: dict[str, list[Shown]] = {}
        for pack in packs:
            mine = of.setdefault(pack.receipt.epoch, [])
            mine += [one for one in taken(pack) if one.kind not in ("topic", "correction")]
            fresh = {one.number for one in taken(pack)}
            assert not fresh & numbers
            numbers |= fresh
            numbered(pack.text)
        for epoch, shown in of.items():
            passages = [(one.id, one.span) for one in shown]
            assert len(passages) == len(set(passages)), epoch
        talk = {event.event_id for event in life.hf.events(session_id="s")}
        last = packs[-1]
        if epoch_of(life.hf, last).history_from == 0:
            assert not talk & {one.id for one in of[last.receipt.epoch]}


# ---- corrections --------------------------------------------------------------------------------


class Reader:
    """Somebody who reads every context of an epoch and knows what was said under which number."""

    def __init__(self, hf: Holdfast) -> None:
        self.hf = hf
        self.epoch = ""
        self.read: dict[int, tuple[str, str]] = {}
        self.corrected: set[int] = set()

    def reads(self, pack: Pack) -> None:
        """Read one: what no longer holds is taken back, once, and nothing else is."""
        if pack.receipt.epoch != self.epoch:
            self.epoch, self.read, self.corrected = pack.receipt.epoch, {}, set()
        broken = {n for n, (one, text) in self.read.items() if not self._holds(one, text, pack)}
        self.corrected |= broken
        for one in taken(pack):
            if one.kind == "memory" or (one.kind == "correction" and len(one.beside) > 1):
                self.read[one.number] = (one.id, self.hf.get(one.id).text)
        for number in self.read:
            times = pack.text.count(f"[{number}] no longer holds")
            assert times == (number in self.corrected), f"[{number}] is taken back {times} times"

    def _holds(self, memory_id: str, text: str, pack: Pack) -> bool:
        memory = self.hf.get(memory_id)
        return current(memory, pack.receipt.at) and memory.text == text


changed = st.builds(
    Move,
    st.sampled_from(
        ("supersede", "replace", "revise", "expire", "merge", "slot", "retag", "restore")
    ),
    st.integers(0, 7),
    sentences,
)
around = st.builds(Move, st.sampled_from((*LEARN, *OTHERS)), st.integers(0, 7), sentences)


@settings(max_examples=examples(40), phases=AS_FOUND)
@given(st.lists(st.lists(changed | around, max_size=3), min_size=2, max_size=6))
def test_what_no_longer_holds_is_taken_back_once_and_nothing_else_is(
    told: list[list[Move]],
) -> None:
    with lived([Move("stock", 2, "we use the service")], **WIDE) as (life, _):
        reader = Reader(life.hf)
        reader.reads(life.ask("which service do we use"))
        for turn in told:
            life.live(turn)
            reader.reads(life.ask("which service do we use"))


@pytest.fixture
def life(tmp_path: Path) -> Life:
    """Four facts about a deployment, all of them shown."""
    clock = Ticking()
    hf = holdfast.open(tmp_path / "home", project="p", user="ana", now=clock)
    made = Life(hf, clock, **WIDE)
    facts = ("port is 8080", "host is alpha", "database is PostgreSQL 15", "cache is Redis")
    made.made = [hf.remember(f"The deploy {fact}").id for fact in facts]
    pack = made.ask("deploy port host database cache")
    assert {one.id for one in taken(pack) if one.kind == "memory"} == set(made.made)
    return made


def later(life: Life, query: str = "deploy") -> Pack:
    """The context of another turn, a minute later, which must not begin anew."""
    life.clock.minutes += 1
    before = life.packs[-1]
    pack = life.ask(query)
    assert pack.receipt.epoch == before.receipt.epoch
    assert pack.text.startswith(lasting(before))
    return pack


def corrections(pack: Pack) -> list[str]:
    """What a context takes back, in order, under whatever number."""
    said = (one for _, one in sorted(numbered(pack.text).items()))
    return [one.partition(": ")[2] for one in said if "no longer holds" in one]


def number_of(pack: Pack, memory: str) -> int:
    """Under which number a memory is shown."""
    (found,) = [c.shown.number for c in pack.receipt.why(memory) if c.shown.kind == "memory"]
    return found


def test_the_new_text_stands_beside_the_number_of_the_old_one(life: Life) -> None:
    old = number_of(life.packs[-1], life.made[0])
    life.hf.revise(life.made[0], text="The deploy port is 9090")
    assert corrections(later(life)) == [f"[{old}] no longer holds; now: The deploy port is 9090"]
    assert len(corrections(later(life))) == 1


def test_what_was_corrected_can_be_corrected_again(life: Life) -> None:
    for port in (9090, 9091, 9092):
        life.hf.revise(life.made[0], text=f"The deploy port is {port}")
        last = corrections(later(life))
    assert [said.rpartition(" ")[2] for said in last] == ["9090", "9091", "9092"]
    assert len({said.partition("]")[0] for said in last}) == 3


def test_what_ran_out_is_taken_back(life: Life) -> None:
    old = number_of(life.packs[-1], life.made[1])
    life.hf.revise(life.made[1], expires_at=stamp(life.clock.minutes + 3))
    for _ in range(4):
        last = corrections(later(life))
    assert f"[{old}] no longer holds." in last


def test_two_that_one_takes_the_place_of_are_both_taken_back_at_once(life: Life) -> None:
    a, b = (number_of(life.packs[-1], one) for one in life.made[:2])
    life.hf.remember("The deploy target is beta:9090", supersedes=life.made[:2])
    said = " ".join(corrections(later(life)))
    assert f"[{a}] no longer holds" in said
    assert f"[{b}] no longer holds" in said


UNTOUCHED: dict[str, Any] = {
    "tags": lambda hf, one: hf.revise(one, tags=["deploy"]),
    "importance": lambda hf, one: hf.revise(one, importance=0.9),
    "later end": lambda hf, one: hf.revise(one, expires_at="2027-01-01"),
    "said again": lambda hf, one: hf.remember(hf.get(one).text, key="k", value="v"),
    "used": lambda hf, one: hf.used([one], "useful"),
    "other": lambda hf, one: hf.remember("Lunch is at noon"),
}


@pytest.mark.parametrize(
    "how",
    list(UNTOUCHED),
)
def test_what_still_says_the_same_is_not_taken_back(life: Life, how: str) -> None:
    UNTOUCHED[how](life.hf, life.made[0])
    assert corrections(later(life)) == []


def test_a_fact_that_is_confirmed_is_not_taken_back(life: Life) -> None:
    def said() -> Memory:
        return life.hf.remember("The deploy zone is north", key="zone", value="north")

    first = said()
    later(life, "deploy zone")
    assert said().id == first.id
    assert corrections(later(life)) == []


def test_what_holds_again_is_said_again(life: Life) -> None:
    """Else whoever reads on believes the correction."""
    life.hf.revise(life.made[0], expires_at=stamp(life.clock.minutes + 1))
    later(life)
    later(life)
    life.hf.revise(life.made[0], expires_at=None)
    pack = later(life, "deploy port")
    last = [said for _, said in sorted(numbered(pack.text).items()) if "8080" in said]
    assert last
    assert "The deploy port is 8080" in pack.text.rpartition("no longer holds.")[2]


# ---- the first of an epoch ----------------------------------------------------------------------


def test_the_first_context_has_nothing_before_it(life: Life) -> None:
    assert life.packs[0].stable_prefix_tokens == 0


def test_a_new_epoch_shares_what_stands_before_memory_and_no_more(life: Life) -> None:
    call = {"system": "You are a coder who knows this project well.", "tools": life.s.tools()}
    before = life.ask("deploy", **call)
    life.hf.forget(life.made[0], reason="wrong")
    after = life.ask("deploy", **call)
    assert after.receipt.epoch != before.receipt.epoch
    count = life.hf.counter().count
    assert after.stable_prefix_tokens <= count(common(before.text, after.text))
    assert after.stable_prefix_tokens >= count(before.sections["system"]) - 1


def common(one: str, other: str) -> str:
    """The beginning two texts share."""
    n = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    return one[:n]


def test_what_took_its_place_may_lie_in_another_project(life: Life) -> None:
    one = life.hf.remember("The deploy zone is north", scope="user")
    shown = [entry for entry in taken(later(life)) if entry.id == one.id]
    life.hf.remember("The deploy zone is south", supersedes=one.id)
    (said,) = corrections(later(life))
    assert f"[{shown[0].number}] no longer holds; now: The deploy zone is south" in said
