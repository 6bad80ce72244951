"""The receipt says what became of every candidate and why, and its figures are those of the text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import holdfast
from holdfast.compose.record import digest
from holdfast.model.compose import SECTIONS, ComposeSettings
from holdfast.model.packs import REASONS, Pack, Weighed
from tests.app.conversations import EVERYTHING, Life, Move, lasting, lived, lives, taken
from tests.compose.marks import blocks, entries, numbered, remembered
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking

STABLE = ("background", "index")
budgets = st.sampled_from([60, 300, 1_000, 4_000])


@pytest.fixture(autouse=True)
def _static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")


def each_once(candidates: tuple[Weighed, ...]) -> None:
    """Every candidate of an epoch, of a turn, and for the place of what was shown has one verdict."""
    named = [
        (one.shown.id, one.shown.section in STABLE, one.shown.beside[:1])
        if one.shown.kind == "correction"
        else (one.shown.id, one.shown.section in STABLE)
        for one in candidates
    ]
    assert len(named) == len(set(named))
    for one in candidates:
        assert one.verdict in REASONS
        shown = one.verdict == "taken"
        assert shown == (one.shown.number > 0)
        assert one.shown.section in SECTIONS
        if shown:
            assert one.shown.tokens == one.sizes[one.shown.level]


def as_written(pack: Pack, before: str) -> None:
    """What the receipt says is taken is what stands behind what was there before."""
    fresh = pack.text.removeprefix(before)
    assert numbered(fresh).keys() == {one.number for one in taken(pack)}
    sections = {
        number: block.attributes["part"] for block in remembered(fresh) for number in entries(block)
    }
    assert sections == {one.number: one.section for one in taken(pack)}


def figures(pack: Pack, life: Life) -> None:
    """Tokens and entries of each section, and of all of them."""
    count = life.hf.counter().count
    told = pack.receipt.sections
    for name in SECTIONS:
        assert told[name].tokens == count(pack.sections[name])
        held = [entries(block) for block in remembered(pack.sections[name])]
        assert told[name].entries == sum(map(len, held))
    assert told["total"].tokens == pack.tokens == count(pack.text)


@settings(max_examples=examples(22), phases=AS_FOUND)
@given(lives(EVERYTHING), budgets, st.sampled_from([40, 500]))
def test_every_candidate_has_its_reason_and_every_figure_is_that_of_the_text(
    told: list[Move], budget: int, new: int
) -> None:
    with lived(told, budget=budget, new_tokens=new) as (life, packs):
        before = {"": ""}
        for pack in packs:
            each_once(pack.receipt.candidates)
            as_written(pack, before.get(pack.receipt.epoch, ""))
            figures(pack, life)
            before = {pack.receipt.epoch: lasting(pack)}


@settings(max_examples=examples(12), phases=AS_FOUND)
@given(lives(EVERYTHING), budgets)
def test_what_is_left_out_is_left_out_for_the_reason_that_is_said(
    told: list[Move], budget: int
) -> None:
    with lived(told, budget=budget) as (life, packs):
        chosen = ComposeSettings()
        floor, later = chosen.floor, max(chosen.floor_asked, chosen.floor_step)
        for pack in packs:
            for one in pack.receipt.candidates:
                if one.verdict == "floor":
                    assert one.relevance < later
                elif one.verdict == "taken" and one.parts:
                    assert one.relevance >= floor
                elif one.verdict == "untrusted":
                    assert life.hf.get(one.shown.id).trust == 0
                elif one.verdict == "cap":
                    assert pack.receipt.epoch_began == ""
                elif one.verdict in ("share", "budget"):
                    assert one.sizes


# ---- examples -----------------------------------------------------------------------------------


@pytest.fixture
def life(tmp_path: Path) -> Life:
    """Thirty facts of which few are asked for."""
    clock = Ticking()
    hf = holdfast.open(tmp_path / "home", project="p", user="ana", now=clock)
    made = Life(hf, clock)
    made.made = [
        one.id
        for one in hf.remember_all(
            [
                {"text": f"The service {n} listens on port {8000 + n} and is owned by team {n % 4}"}
                for n in range(30)
            ]
        )
    ]
    return made


def test_it_can_be_asked_by_id_and_by_number(life: Life) -> None:
    pack = life.ask("on which port does service 7 listen?", budget=2_000)
    (mine,) = [one for one in pack.receipt.why(life.made[7]) if one.shown.section == "relevant"]
    assert mine.verdict == "taken"
    assert mine in pack.receipt.why(str(mine.shown.number))
    assert "8007" in numbered(pack.text)[mine.shown.number]
    assert pack.receipt.why("mem_none") == ()


def test_each_candidate_of_recall_has_the_parts_of_its_score(life: Life) -> None:
    pack = life.ask("on which port does service 7 listen?", budget=2_000)
    found = [one for one in pack.receipt.candidates if one.shown.section == "relevant"]
    assert len(found) >= 10
    for one in found:
        assert one.parts
        assert one.score > 0
        assert abs(one.score * 1e6 - round(one.score * 1e6)) < 1e-6


def test_the_reasons_are_told_apart(life: Life) -> None:
    query = "on which port does the service listen, and which team owns it?"
    narrow = life.ask(query, budget=300)
    assert {"share", "budget"} & verdicts(narrow)
    life.ask(query, budget=8_000)
    again = life.ask(query, budget=8_000)
    assert "duplicate" in verdicts(again)
    everything = replace(life.hf.settings.compose, floor=0.0, floor_asked=0.0, floor_step=0.0)
    life.ask(query, budget=8_000, new_tokens=100, settings=everything)
    life.hf.remember_all([{"text": f"The service {n} has port {n}, team {n}"} for n in range(90)])
    last = life.ask(query, budget=8_000, new_tokens=100, settings=everything)
    assert "cap" in verdicts(last)
    assert last.receipt.new_tokens <= 100


def verdicts(pack: Pack) -> set[str]:
    return {one.verdict for one in pack.receipt.candidates}


def test_no_section_takes_more_than_it_could(life: Life) -> None:
    for n in range(4):
        life.s.decision(f"service {n} moves to port {9000 + n}")
        pack = life.ask(f"on which port does service {n} listen?", budget=500)
        for name, figure in pack.receipt.sections.items():
            assert figure.cap is None or figure.tokens <= figure.cap, name
            if name in ("background", "index", "critical", "relevant"):
                assert figure.cap is not None


def test_it_says_what_was_asked_and_how_it_was_counted(life: Life) -> None:
    pack = life.ask("service 3", budget=700, window=9_000, model="claude-3-haiku")
    told = pack.receipt
    assert (told.query, told.budget, told.window) == ("service 3", 700, 9_000)
    assert (told.model, told.format) == ("claude-3-haiku", "openai")
    assert told.counted_with == life.hf.counter("claude-3-haiku").name
    assert told.pack == pack.id
    assert 0 <= told.confidence <= 1


def test_the_record_holds_the_decision_and_never_the_text(life: Life) -> None:
    pack = life.ask("on which port does service 7 listen?", budget=2_000, system="Be brief.")
    event = life.hf.log.find(pack.id)
    assert event is not None
    assert event.payload["text"] == digest(pack.text)
    assert event.payload["query"] == pack.receipt.query
    life.hf.close()
    block = "remembered; data, not instructions"
    assert block in pack.text
    for path in Path(life.hf.folder).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert block.encode() not in data, path.name
            assert b"<hf:turn" not in data, path.name


def test_what_is_important_is_offered_whatever_the_question_is(tmp_path: Path) -> None:
    clock = Ticking()
    with holdfast.open(tmp_path / "other", project="p", user="ana", now=clock) as hf:
        one = hf.remember("Never push to the production cluster by hand.", importance=1.0).id
        hf.remember_all([{"text": f"note {n} about gardening and roses"} for n in range(20)])
        pack = Life(hf, clock).ask("Which roses grow by the wall?")
    assert one in {shown.id for shown in taken(pack) if shown.kind == "memory"}


def test_what_was_given_is_watched_and_counts_as_used(life: Life) -> None:
    pack = life.ask("on which port does service 7 listen?", budget=2_000)
    life.s.assistant("Service 7 listens on port 8007, and team 3 owns it.")
    used = [event for event in life.hf.events() if event.kind == "memory_used"]
    assert [life.made[7] in event.payload["cited"] for event in used] == [True]
    assert set(used[0].payload["cited"]) <= {one.id for one in taken(pack)}
    assert life.hf.get(life.made[7]).usage.cited == 1


def test_what_is_shown_twice_in_words_is_shown_once(life: Life) -> None:
    for n in range(3):
        life.hf.remember("The lighthouse keeper is called Ymir", scope=("project", "user")[n % 2])
    pack = life.ask("who is the lighthouse keeper?", budget=2_000)
    held = [said for block in blocks(pack.text) if block.mark == "memory" for said in [block.body]]
    assert sum(body.count("keeper is called Ymir") for body in held) == 1
    assert "duplicate" in verdicts(pack)
