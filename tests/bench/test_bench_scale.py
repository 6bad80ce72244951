"""The benchmark of size: its texts, its stores, its sums, and whole runs."""

from __future__ import annotations

import json
import math
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import scale, zipf
from bench.measures import SEED
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
from holdfast.errors import Invalid
from tests.bench.test_bench_data import BEAM, LOCOMO, QMSUM, written
from tests.property.effort import examples

seeds = st.integers(0, 2**32)
(NEAREST,) = (name for name, goal in scale.GOALS.items() if goal == "≥ 0.95")


# ---- texts ---------------------------------------------------------------------------------------


def test_the_vocabulary_is_words_each_once_the_commonest_first() -> None:
    words = zipf.vocabulary()
    assert len(words) == len(set(words)) > 40_000
    assert words[0] == "the"
    assert all(word.isascii() and word.islower() and word.isalpha() for word in words)


@settings(max_examples=examples(30))
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
    assert list(islice(zipf.texts(seed=1), 9)) != list(islice(zipf.texts(seed=2), 9))


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
    assert scale.sizes(" 7 ") == [7]
    for said in ("", "1,x", "5,", "1.5"):
        with pytest.raises(Invalid, match="whole numbers"):
            scale.sizes(said)
    for said in ("0,5", "9,-2"):
        with pytest.raises(Invalid, match="at least one memory"):
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


def rows_of(*ways: str) -> set[str]:
    """What there is to know of one size where these ways were taken."""
    measured = ("p50 ms", "p95 ms", "worked ms", "own memory in the first ten, %")
    others = ways[1:]
    return {
        *(f"{way}: {what}" for way in ways for what in measured),
        *(f"{at}, times that of {other}" for other in others for at in ("p50", "p95")),
        *(f"{who}, memories/s" for who in ("recorded", "indexed", "indexed by FTS5 alone")),
        *(f"most memory while {what}, MB" for what in ("filling", "asking")),
        *(f"{part}, bytes a memory" for part in ("log", "index", "vectors")),
        "first answer of a new process, s",
        NEAREST,
    }


def test_a_whole_run_fills_asks_and_keeps_its_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, home = data_folder(tmp_path / "data"), tmp_path / "stores"
    config = tmp_path / "config" / "holdfast"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[recall]\nexact_passages = 20\n")
    run_scale(monkeypatch, str(data), "--sizes", "15,60", "--home", str(home), "--json")
    told = strict(capsys.readouterr().out)
    assert (told["questions"], told["seed"], told["embedder"]) == (QUESTIONS, SEED, "static")
    few, more = told["sizes"]["15"], told["sizes"]["60"]
    assert few.keys() == more.keys() == rows_of(OURS, WORDS, VECTORS)
    assert few[f"{OURS}: own memory in the first ten, %"] > 90
    assert more[f"{VECTORS}: own memory in the first ten, %"] > 50
    assert few.pop(NEAREST) is None
    assert more[NEAREST] == 1  # of sixty rows every one is a candidate
    assert all(math.isfinite(value) and value > 0 for value in (*few.values(), *more.values()))
    rows = {row["what"]: row for row in scale.table({15: few, 60: more})}
    for name in scale.GROWING:
        cell = rows[f"{name}, times the size before"]["60"]
        assert float(cell) == pytest.approx(more[name] / few[name], rel=0.01)
    store = home / "60-static-mixed"
    before = kept(store)
    assert before is not None
    assert (before.size, before.real) == (60, 1)
    assert texts_in(store)[:1] == ["This is one item."]
    assert texts_in(store)[1:] == list(islice(zipf.texts(), 59))
    run_scale(monkeypatch, str(data), "--sizes", "60", "--home", str(home))
    out = capsys.readouterr().out
    assert f"{VECTORS}: p95 ms" in out
    assert "times the size before" in out
    assert kept(store) == before


def strict(out: str) -> Any:
    """What was printed, provided that it is JSON to the letter, which has no NaN."""
    return msgspec.json.decode(out)


def texts_in(store: Path) -> list[str]:
    with closing(sqlite3.connect(store / "plain.db")) as base:
        return [text for (text,) in base.execute("select text from texts order by rowid")]


def test_a_store_that_was_not_filled_to_the_end_is_filled_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "12-none"
    store.mkdir()
    with closing(sqlite3.connect(store / "plain.db")) as base:
        base.execute("create virtual table texts using fts5(text)")
    (store / "filled.json").write_bytes(msgspec.json.encode(filled(12))[:-9])
    assert kept(store) is None
    run_scale(monkeypatch, "--sizes", "12", "--embedder", "none", "--home", str(tmp_path))
    out = capsys.readouterr().out
    assert texts_in(store) == list(islice(zipf.texts(), 12))
    there = kept(store)
    assert there is not None
    assert there.record_seconds != filled(12).record_seconds
    assert f"{WORDS}: p95 ms" in out
    assert VECTORS not in out  # without vectors there is no product to compare


def test_a_store_is_used_again_for_the_same_texts_alone(tmp_path: Path) -> None:
    data, store = data_folder(tmp_path / "data"), tmp_path / "store"
    store.mkdir()
    assert scale.found_again(store, data) is None
    for change, usable in (({}, True), ({"real": 0}, False), ({"seed": 1}, False)):
        one = msgspec.structs.replace(filled(12), **({"real": 1, "seed": SEED} | change))
        (store / "filled.json").write_bytes(msgspec.json.encode(one))
        assert scale.found_again(store, data) == (one if usable else None)
    assert scale.found_again(store, None) is None


def test_trouble_ends_a_run_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="whole numbers"):
        run_scale(monkeypatch, "--sizes", "many")
    with pytest.raises(SystemExit, match="locomo"):
        run_scale(monkeypatch, str(tmp_path), "--sizes", "5")
    config = tmp_path / "config" / "holdfast"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[recall]\nexact_passages = 'many'\n")
    with pytest.raises(SystemExit, match=r"fill .* ended with 1"):
        run_scale(monkeypatch, "--sizes", "5", "--embedder", "none", "--home", str(tmp_path))
    said = capfd.readouterr().err
    assert "exact_passages" in said
    assert "Traceback" not in said
    assert kept(tmp_path / "5-none") is None
