"""The compose bench: what it counts stands in the text, its baselines are fair, its optimum is one."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bench import compose, compose_packing, compose_seen, scale_store
from bench.compose import OURS, PASSAGES, TURNS, Setting
from bench.compose_seen import Extent, Seen, extent_of
from bench.data import Conversation, Question, Turn, find, read
from holdfast.compose import render
from holdfast.compose.items import Item
from holdfast.compose.packing import Choice, Offer
from holdfast.errors import Invalid
from tests.bench.test_bench_scale import data_folder, strict

LONG = " ".join(f"The {n}th step of the harvest begins at dawn in field {n}." for n in range(60))
SETTING = Setting(2_000)


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> Conversation:
    folder: Path = data_folder(tmp_path_factory.mktemp("data"))
    return read(find(folder, "locomo"), "locomo")[0]


@pytest.fixture(scope="module")
def talk() -> Conversation:
    """A short turn with lines that try to look like entries, and a long one; gold is either."""
    texts = (
        "Nice weather today.",
        "My bicycle is green:\n[7] and <hf:memory> it\u200b squeaks\n</hf:memory>",
        LONG,
        "See you.",
    )
    turns = tuple(
        Turn(id=str(n), session=0, role="user", speaker="Ana", text=text, at=moment(n))
        for n, text in enumerate(texts)
    )
    asked = (
        ("What colour is the bicycle?", 1),
        ("When does the 41th step of the harvest begin?", 2),
    )
    questions = tuple(
        Question(text=text, category="x", gold=(place,), near=(place - 1,)) for text, place in asked
    )
    return Conversation(name="talk", turns=turns, questions=questions)


def moment(minute: int) -> datetime:
    return datetime(2026, 3, 1, 9, minute, tzinfo=UTC)


def turn(text: str) -> Turn:
    return Turn(id="1", session=0, role="user", speaker="Ana", text=text, at=moment(0))


# ---- evidence ------------------------------------------------------------------------------------


def test_evidence_is_what_stands_in_the_text(talk: Conversation) -> None:
    short, long = compose.measured(talk, "none", [SETTING])[SETTING][OURS]
    assert (short["whole"], short["passage"], short["named"]) == (1, 1, 1)
    assert (long["whole"], long["passage"], long["named"]) == (0, 1, 1)
    assert 0 < short["precision"] <= 1


@pytest.mark.parametrize("written", ["gone", "Ana 2026-03-01: gone", ""])
def test_an_entry_that_was_not_written_is_no_evidence(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    def entry(item: Item, number: int, level: int) -> str:
        return f"[{number}] {written}"

    monkeypatch.setattr(render, "entry", entry)
    for one in compose.measured(talk, "none", [SETTING])[SETTING][OURS]:
        assert one["entries"] > 0
        assert not any(one[name] for name in compose_seen.SHARES)


def test_an_entry_written_in_part_is_no_whole_turn(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = render.entry
    monkeypatch.setattr(render, "entry", lambda *of: written(*of).rsplit(" ", 1)[0])
    for one in compose.measured(talk, "none", [SETTING])[SETTING][OURS]:
        assert one["whole"] == 0
        assert one["named"] == 1


@given(st.lists(st.text("ab\n…<hf:>[1]é ", max_size=12), min_size=1, max_size=20))
def test_a_turn_as_it_is_rendered_is_whole_and_without_a_word_is_not(words: list[str]) -> None:
    said = turn(" ".join(words) + " and the end of it")
    item = Item(kind="turn", id="e", seq=1, head="Ana 2026-03-01", levels=(said.text,) * 4, trust=1)
    for full in (True, False):
        text = render.block("memory", "relevant", [render.entry(item, 3, 0), "[4] more"])
        (number, entry), (after, _) = compose_seen.entries(f"{text}\n\n[5] outside")
        assert (number, after) == (3, 4)
        assert extent_of(said, entry, full=full) is Extent.WHOLE
        assert extent_of(said, entry.removesuffix(" it"), full=full) is not Extent.WHOLE
        assert extent_of(said, f"{entry} zebra", full=full) is Extent.NOTHING


@pytest.mark.parametrize(
    ("entry", "full", "expected"),
    [
        ("Ana 2026-03-01: one two three four five six seven eight", True, Extent.PASSAGE),
        ("Ana 2026-03-01: … two three four five six seven eight nine …", True, Extent.PASSAGE),
        ("Ana 2026-03-01: one two three four five six seven eight", False, Extent.NAMED),
        ("Ana 2026-03-01: one two three four", True, Extent.NAMED),
        ("Ana 2026-03-01: three … NINE.", False, Extent.NAMED),
        ("Ana 2026-03-01: one two three four five six seven zebra", True, Extent.NOTHING),
        ("Ana 2026-03-01: ", True, Extent.NOTHING),
    ],
)
def test_a_passage_is_so_many_words_in_a_row(entry: str, full: bool, expected: Extent) -> None:
    said = turn("one two three\nfour five six seven eight nine ten")
    assert extent_of(said, entry, full=full) is expected


def test_figures_are_shares_and_a_larger_budget_holds_no_less(conversation: Conversation) -> None:
    settings = [Setting(100), Setting(2_000)]
    found = compose.measured(conversation, "none", settings)
    assert list(found) == settings
    for ways in found.values():
        assert set(ways) == set(compose.WAYS)
        for one in (one for figures in ways.values() for one in figures):
            assert 0 <= one["whole"] <= one["passage"] <= one["named"] <= 1
            assert 0 <= one["precision"] <= 1
        assert {len(one) for one in ways.values()} == {
            sum(1 for q in conversation.questions if q.gold)
        }
    small, large = ([one["named"] for one in found[size][OURS]] for size in settings)
    assert sum(small) <= sum(large)


@pytest.mark.parametrize(
    ("shown", "gold", "near", "expected"),
    [
        ([3, 4, 9], (4,), (3, 5), 2 / 3),
        ([3, -1], (3,), (), 0.5),
        ([], (4,), (), 0.0),
        ([1], (2, 4), (1,), 1.0),
    ],
)
def test_precision_counts_what_is_beside_gold(
    shown: Sequence[int], gold: tuple[int, ...], near: tuple[int, ...], expected: float
) -> None:
    question = Question(text="?", category="", gold=gold, near=near)
    assert compose_seen.precision(shown, question) == pytest.approx(expected)


# ---- baselines -----------------------------------------------------------------------------------


def test_a_baseline_has_the_same_passages_and_takes_no_more(talk: Conversation) -> None:
    found = compose.measured(talk, "none", [Setting(200), SETTING])
    for setting, ways in found.items():
        for ours, passages, turns in zip(*(ways[way] for way in compose.WAYS), strict=True):
            assert max(passages["tokens"], turns["tokens"]) <= ours["tokens"] <= setting.budget
    (short, long), (_, whole) = found[SETTING][PASSAGES], found[SETTING][TURNS]
    assert (short["whole"], long["whole"], long["passage"]) == (1, 0, 1)
    assert whole["passage"] == whole["whole"]


def test_in_order_stops_at_the_first_that_does_not_fit() -> None:
    turns = [turn("one two"), turn("three four five"), turn("six")]
    found = [(place, one.text) for place, one in enumerate(turns)]
    count = len
    sizes = [count(f"[{n}] Ana 2026-03-01: {one.text}\n") for n, one in enumerate(turns, 1)]
    for room in range(sum(sizes) + 2):
        kept, used = compose_seen.in_order(found, turns, room, count)
        number = next(n for n in range(3, -1, -1) if sum(sizes[:n]) <= room)
        assert (len(kept), used) == (number, sum(sizes[:number]))
        assert kept == [Seen(n, Extent.WHOLE) for n in range(number)]


# ---- settings ------------------------------------------------------------------------------------


def asked(**changed: object) -> list[str]:
    given = {"budgets": [1_000, 2_000], "stretch": [], "floor": []} | changed
    return [str(one) for one in compose.settings_of(argparse.Namespace(**given))]


def test_rows_with_other_settings_stand_beside_their_own() -> None:
    assert asked() == ["1,000 tokens", "2,000 tokens", "2,000 tokens, stretch 2.667"]
    assert asked(budgets=[500], stretch=[1.0, 3.0], floor=[0.1]) == [
        "500 tokens",
        "500 tokens, stretch 1",
        "500 tokens, stretch 3",
        "500 tokens, floor 0.1",
    ]


def test_a_setting_decides_what_is_shown(talk: Conversation) -> None:
    wide, nothing = Setting(200, (("stretch", 2.667),)), Setting(2_000, (("floor", 1.0),))
    found = compose.measured(talk, "none", [Setting(200), wide, SETTING, nothing])
    tokens = {one: sum(figures["tokens"] for figures in found[one][OURS]) for one in found}
    assert tokens[Setting(200)] < tokens[wide]
    assert tokens[nothing] == 0 < tokens[SETTING]
    assert all(one["entries"] == 0 for way in found[nothing].values() for one in way)
    with pytest.raises(Invalid, match="stretch"):
        compose.measured(talk, "none", [Setting(200, (("stretch", 0.5),))])


# ---- latency -------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a small store is kept that is asked two questions."""
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    store = tmp_path / "stores" / "50-none"
    store.mkdir(parents=True)
    filled = scale_store.fill(store, 50, [])
    told = msgspec.json.encode(replace(filled, questions=filled.questions[:2]))
    (store / "filled.json").write_bytes(told)
    return store.parent


def test_a_store_that_is_kept_stays_as_it_was_filled(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(home)
    assert any(name.endswith(".db") for name in before)
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")
    row = compose.latency(home, 50, "none")
    assert row["n"] == 2
    assert {f"{what} p95 ms" for what in ("recall", "context", "next turn")} <= row.keys()
    assert files(home) == before
    assert os.environ["HOLDFAST_EMBEDDER"] == "static"


def files(folder: Path) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}


# ---- packing -------------------------------------------------------------------------------------


@st.composite
def instances(draw: st.DrawFn) -> tuple[list[Offer], dict[str, int], int]:
    choice = st.builds(Choice, st.integers(1, 9), st.integers(0, 20).map(float))
    several = st.lists(choice, max_size=3).map(tuple)
    offers = draw(st.lists(st.builds(Offer, st.sampled_from("abc"), several), max_size=5))
    caps = {name: draw(st.integers(0, 20)) for name in "abc"}
    return offers, caps, draw(st.integers(0, 30))


def every(offers: Sequence[Offer], caps: dict[str, int], total: int) -> Iterator[float]:
    """What each choice that fits is worth."""
    ways = product(*([None, *range(len(offer.choices))] for offer in offers))
    for chosen in ways:
        used = dict.fromkeys(caps, 0)
        for offer, n in zip(offers, chosen, strict=True):
            used[offer.section] += 0 if n is None else offer.choices[n].tokens
        if sum(used.values()) <= total and all(used[name] <= caps[name] for name in caps):
            yield compose_packing.worth(offers, chosen)


@given(instances())
def test_the_optimum_is_the_best_of_all_and_greedy_one_of_them(
    given_one: tuple[list[Offer], dict[str, int], int],
) -> None:
    offers, caps, total = given_one
    possible = set(every(offers, caps, total))
    assert compose_packing.optimum(offers, caps, total) == max(possible)
    assert compose_packing.greedy(offers, caps, total) in possible


def test_greedy_takes_the_densest_step_that_fits() -> None:
    offers = [Offer("a", (Choice(10, 1.0),)), Offer("a", (Choice(2, 0.5),)), Offer("b", ())]
    assert compose_packing.greedy(offers, {"a": 10, "b": 1}, 10) == 0.5
    assert compose_packing.greedy(offers, {"a": 12, "b": 1}, 12) == 1.5
    levels = [Offer("a", (Choice(8, 1.0), Choice(2, 0.6)))]
    assert [compose_packing.greedy(levels, {"a": 9}, room) for room in (1, 7, 8)] == [0, 0.6, 1.0]


def test_what_is_chosen_is_held_against_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = compose_packing.packing(12)
    assert figures["chosen / optimum, worst"] >= 0.99
    assert 0 < figures["greedy / optimum, worst"] <= figures["greedy / optimum, mean"] <= 1
    monkeypatch.setattr(compose_packing, "packed", lambda offers, caps, total: [None] * len(offers))
    assert compose_packing.packing(2)["chosen / optimum, mean"] == 0


# ---- all of it -----------------------------------------------------------------------------------


def test_everything_is_printed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, few = data_folder(tmp_path), compose_packing.packing(1)
    monkeypatch.setattr(compose, "packing", lambda: few)
    words = ["--dataset", "locomo", "--embedder", "none", "--budgets", "300", "--sizes", "50"]
    words += ["--floor", "0.1", "--home", str(home)]
    monkeypatch.setattr(sys, "argv", ["bench.compose", str(folder), *words])
    compose.main()
    said = capsys.readouterr().out
    assert all(one in said for one in (*compose.WAYS, "floor", "recall", "greedy", "whole %"))
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--json"])
    compose.main()
    _, told, _ = capsys.readouterr().out.split("\n{")  # times, evidence, packing
    rows = strict("{" + told)["rows"]
    assert [row["way"] for row in rows] == [*compose.WAYS, *compose.WAYS]
