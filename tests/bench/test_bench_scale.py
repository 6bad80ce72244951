"""The benchmarks of size and of calibration: their texts, their stores, their sums, and whole runs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import calibration, scale, zipf
from bench.data import Conversation, Question, Turn
from bench.measures import Answer
from bench.scale_store import (
    OURS,
    QUESTIONS,
    VECTORS,
    WORDS,
    Asked,
    Filled,
    Timed,
    in_turn,
    kept,
    spoken,
)
from holdfast.errors import HoldfastError, Invalid
from tests.bench.test_bench_data import BEAM, LOCOMO, QMSUM, written

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
seeds = st.integers(0, 2**32)


def conversation(name: str, turns: int) -> Conversation:
    said = tuple(
        Turn(id=str(n), session=0, role="user", text=f"{name} {n}", at=NOON) for n in range(turns)
    )
    return Conversation(name=name, turns=said, questions=())


# ---- texts ---------------------------------------------------------------------------------------


def test_the_vocabulary_is_words_each_once_the_commonest_first() -> None:
    words = zipf.vocabulary()
    assert len(words) == len(set(words)) > 40_000
    assert words[0] == "the"
    assert all(word.isascii() and word.islower() and word.isalpha() for word in words)


@given(seeds, st.integers(0, 60), st.integers(0, 60), st.integers(0, 6))
def test_texts_are_the_same_however_many_are_asked_for(
    seed: int, few: int, more: int, real: int
) -> None:
    said = [f"Said number {n}." for n in range(real)]
    first, second = (list(islice(zipf.texts(said, seed), n)) for n in (few, few + more))
    assert second[:few] == first
    known = set(zipf.vocabulary())
    for place, text in enumerate(second):
        if place % 10 == 0 and place // 10 < real:
            assert text == said[place // 10]
        else:
            assert zipf.SHORTEST <= len(text.split()) <= zipf.LONGEST
            assert known.issuperset(text.split())


def test_a_word_is_the_rarer_the_further_down_it_stands() -> None:
    words, times = zipf.vocabulary(), dict.fromkeys(zipf.vocabulary(), 0)
    for text in islice(zipf.texts(seed=1), 4_000):
        for word in text.split():
            times[word] += 1
    bands = [sum(times[word] for word in words[a : 2 * a]) / a for a in (1, 8, 64, 512, 4_096)]
    assert bands == sorted(bands, reverse=True)
    assert bands[-1] > 0


@given(seeds, st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=9), max_size=5))
def test_a_question_holds_part_of_its_text_and_two_common_words(
    seed: int, texts: list[list[str]]
) -> None:
    asked = zipf.questions([" ".join(words) for words in texts], seed)
    assert zipf.questions([" ".join(words) for words in texts], seed) == asked
    assert len(asked) == len(texts)
    for question, words in zip(asked, texts, strict=True):
        first, second, *rest = question.split()
        assert {first, second} <= set(zipf.vocabulary()[:100])
        *part, last = rest
        assert last in words
        assert min(3, len(words)) <= len(part) <= 6
        assert " ".join(part) in " ".join(words)


def data_folder(folder: Path) -> Path:
    """A little of every data set, as its authors publish it."""
    for name in ("locomo", "beam", "qmsum", "swe-agent", "tau-bench"):
        (folder / name).mkdir(parents=True)
    written(folder / "locomo", "x.json", [LOCOMO])
    written(folder / "beam", "x.jsonl", [BEAM])
    spoken_there = [{"speaker": "Chair", "content": "This is one item."}]
    written(folder / "qmsum", "x.jsonl", [{**QMSUM, "meeting_transcripts": spoken_there}])
    steps = [("system", "rules"), ("user", "fix it"), ("assistant", "done"), ("user", " ")]
    history = [{"role": who, "content": text, "agent": "x"} for who, text in steps]
    (folder / "swe-agent" / "a.traj").write_text(json.dumps({"history": history, "info": {}}))
    called = [
        *history[1:3],
        {"role": "assistant", "content": None},
        {"role": "tool", "content": "7"},
    ]
    written(folder / "tau-bench", "y.json", [{"task_id": 0, "traj": called}])
    return folder


def test_sentences_are_taken_once_and_single_words_not_at_all(tmp_path: Path) -> None:
    data = data_folder(tmp_path)
    said = "It is a red kite. Nice! A kite is what flies? It is a red kite."
    turn = {"speaker": "Ana", "dia_id": "D2:1", "text": said}
    held = {**LOCOMO["conversation"], "session_2": [turn]}
    written(data / "locomo", "x.json", [{**LOCOMO, "conversation": held}])
    assert spoken(data) == ["It is a red kite.", "A kite is what flies?", "This is one item."]


# ---- sizes ---------------------------------------------------------------------------------------


def test_sizes_are_numbers_from_one_on() -> None:
    assert scale.sizes("300,20,300") == [20, 300]
    for said in ("", "1,x", "0,5", "1.5"):
        with pytest.raises(Invalid):
            scale.sizes(said)


def timed(took: Sequence[float], found: float = 1.0) -> Timed:
    return Timed(took=list(took), worked=[2 * one for one in took], found=found)


def filled(size: int) -> Filled:
    return Filled(
        size=size,
        real=0,
        seed=1,
        record_seconds=2.0,
        index_seconds=4.0,
        plain_seconds=1.0,
        memory=5_000_000,
        disk={"log": 10 * size, "index": 30 * size},
        questions=[(0, "a")],
    )


def asked(factor: float, nearest: float | None = None) -> Asked:
    ways = {OURS: timed([factor, factor]), WORDS: timed([2.0, 2.0], 0.5)}
    return Asked(first=factor, memory=7_000_000, passages=9, ways=ways, nearest=nearest)


def test_figures_are_by_second_by_memory_and_times_the_baseline() -> None:
    found = scale.figures(filled(100), asked(6.0))
    assert found["recorded, memories/s"] == 50
    assert found["indexed, memories/s"] == 25
    assert found[f"{OURS}: p95 ms"] == 6
    assert found[f"{OURS}: worked ms"] == 12
    assert found[f"p95, times that of {WORDS}"] == 3
    assert found[f"{WORDS}: own memory in the first ten, %"] == 50
    assert found["index, bytes a memory"] == 30
    assert found["most memory while asking, MB"] == 7


def test_a_table_has_a_column_for_each_size_and_tells_growth_and_goals() -> None:
    sizes = {100: (6.0, None), 2_000: (9.0, 0.97)}
    found = {size: scale.figures(filled(size), asked(*how)) for size, how in sizes.items()}
    rows = {row["what"]: row for row in scale.table(found)}
    assert list(rows[f"{OURS}: p95 ms"])[1:3] == ["100", "2,000"]
    assert rows[f"{OURS}: p95 ms"]["2,000"] == "9"
    assert rows[f"{OURS}: p95 ms, times the size before"]["100"] == "–"
    assert rows[f"{OURS}: p95 ms, times the size before"]["2,000"] == "1.5"
    assert {row["goal"] for row in rows.values()} == {"", *scale.GOALS.values()}
    nearest = next(row for row in rows.values() if row["goal"] == "≥ 0.95")
    assert (nearest["100"], nearest["2,000"]) == ("–", "0.97")


def test_ways_take_turns_and_are_judged_by_what_they_find() -> None:
    order: list[str] = []

    def way(name: str, answer: list[int]) -> Callable[[str], list[int]]:
        def ask(text: str) -> list[int]:
            order.append(f"{name} {text}")
            return answer

        return ask

    found = in_turn({"x": way("x", [1, 2]), "y": way("y", [])}, [(1, "a"), (3, "b")])
    assert order == ["x a", "y a", "x a", "y a", "x b", "y b"]
    assert (found["x"].found, found["y"].found) == (0.5, 0.0)
    assert len(found["x"].took) == len(found["x"].worked) == 2


def run_scale(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.scale", *words])
    scale.main()


def test_a_whole_run_fills_asks_and_keeps_its_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, home = data_folder(tmp_path / "data"), tmp_path / "stores"
    config = tmp_path / "config" / "holdfast"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[recall]\nexact_passages = 20\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
    words = (str(data), "--sizes", "15,40", "--home", str(home), "--json")
    run_scale(monkeypatch, *words)
    told = json.loads(capsys.readouterr().out)
    assert told["questions"] == QUESTIONS
    few, more = told["sizes"]["15"], told["sizes"]["40"]
    assert few.keys() == more.keys()
    assert few[f"{OURS}: own memory in the first ten, %"] > 90
    assert more[f"{VECTORS}: own memory in the first ten, %"] > 50
    (nearest,) = (name for name, goal in scale.GOALS.items() if goal == "≥ 0.95")
    assert few[nearest] is None
    assert more[nearest] == 1  # of forty rows every one is a candidate
    store = home / "40-static-mixed"
    before = kept(store)
    assert before is not None
    assert before.size == 40
    assert before.real == 1
    run_scale(monkeypatch, *words)
    assert kept(store) == before


def test_a_run_without_vectors_has_no_product_to_compare(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_scale(monkeypatch, "--sizes", "12", "--embedder", "none")
    out = capsys.readouterr().out
    assert f"{WORDS}: p95 ms" in out
    assert VECTORS not in out


# ---- calibration ---------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 12), min_size=1, max_size=8), st.integers(1, 30))
def test_conversations_share_a_store_as_long_as_they_fit(turns: list[int], size: int) -> None:
    every = [conversation(f"c{n}", count) for n, count in enumerate(turns)]
    groups = calibration.together(every, size)
    assert sorted(one.name for group in groups for one in group) == sorted(
        one.name for one in every
    )
    for group in groups:
        assert len(group) == 1 or sum(len(one.turns) for one in group) <= size
    for earlier, later in pairwise(groups):
        assert sum(len(one.turns) for one in [*earlier, later[0]]) > size


@given(
    st.integers(1, 20), st.integers(1, 40), st.lists(st.integers(1, 7), min_size=40, max_size=40)
)
def test_padding_fills_up_to_the_turn_and_leaves_alone_what_is_asked_about(
    own: int, size: int, others: list[int]
) -> None:
    mine = conversation("mine", own)
    rest = iter([conversation(f"o{n}", count) for n, count in enumerate(others)])
    *padding, last = calibration.padded([mine], size, rest)
    assert last == mine
    assert sum(len(one.turns) for one in padding) == max(0, size - own)


def test_padding_is_what_was_said_and_then_made_without_end(tmp_path: Path) -> None:
    found = list(islice(calibration.padding(data_folder(tmp_path)), 5))
    assert [one.name for one in found] == ["meeting-1", "a", "y-1", "made-1", "made-2"]
    assert not any(one.questions for one in found)
    _, traced, talked, made, _ = found
    assert [(turn.role, turn.text) for turn in traced.turns] == [
        ("assistant", "rules"),
        ("user", "fix it"),
        ("assistant", "done"),
    ]
    assert [turn.text for turn in talked.turns] == ["fix it", "done", "7"]
    assert len({turn.at for turn in made.turns}) == len(made.turns) > 1


def test_padding_that_is_something_else_is_said_plainly(tmp_path: Path) -> None:
    data = data_folder(tmp_path)
    (data / "swe-agent" / "a.traj").write_text("[]")
    with pytest.raises(Invalid, match=r"a\.traj"):
        list(islice(calibration.padding(data), 3))


def answer(*hits: tuple[int, float]) -> Answer:
    return Answer(
        question=Question(text="?", category="c", gold=(1,)),
        places=tuple(place for place, _ in hits),
        tokens=(0,) * len(hits),
        relevance=tuple(value for _, value in hits),
        inject=lambda _: (),
    )


def test_precision_its_interval_and_its_spread() -> None:
    sure = {"c": [answer((1, 0.9), (2, 0.2)), answer((1, 0.4), (2, 0.01))]}
    unsure = {"d": [answer((2, 0.4), (1, 0.35))]}
    rows = calibration.report({("beam", "1,000"): unsure, ("locomo", calibration.ALONE): sure})
    assert [(row["set"], row["size"]) for row in rows] == [("locomo", "alone"), ("beam", "1,000")]
    assert rows[0]["precision"]["0.15"] == pytest.approx(2 / 3)
    assert rows[0]["hits"] == {"0.05": 3, "0.15": 3, "0.3": 2}
    low, high = rows[0]["intervals"]["0.15"]
    assert low <= 2 / 3 <= high
    assert calibration.spread(rows, "0.3") == pytest.approx(25)
    *lines, last = calibration.table(rows)
    assert lines[1]["≥ 0.3"].startswith("50.0 ")
    assert last["≥ 0.3"] == "± 25.0"


def test_where_nothing_passes_there_is_no_precision_and_no_spread() -> None:
    rows = calibration.report({("locomo", "alone"): {"c": [answer((1, 0.01))]}})
    assert math.isnan(calibration.spread(rows, "0.3"))
    assert calibration.table(rows)[0]["≥ 0.3"] == "no hit"


def test_every_question_with_gold_is_asked_alone_and_in_every_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = data_folder(tmp_path)
    words = ["bench.calibration", str(data), "--sizes", "5,30", "--embedder", "none"]
    monkeypatch.setattr(sys, "argv", [*words, "--json"])
    calibration.main()
    told = json.loads(capsys.readouterr().out)
    assert [(row["set"], row["size"], row["questions"]) for row in told["rows"]] == [
        (name, size, asked)
        for name, asked in (("locomo", 4), ("beam", 2))
        for size in ("alone", "5", "30")
    ]
    assert told["spread"].keys() == {"0.05", "0.15", "0.3"}
    monkeypatch.setattr(sys, "argv", words[:2])
    (data / "beam" / "x.jsonl").unlink()
    with pytest.raises(SystemExit, match="beam"):
        calibration.main()


def test_trouble_ends_a_run_of_sizes_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert issubclass(Invalid, HoldfastError)
    with pytest.raises(SystemExit, match="whole numbers"):
        run_scale(monkeypatch, "--sizes", "many")
