"""The benchmark of calibration: what stores are padded with, precision and spread, and whole runs."""

from __future__ import annotations

import math
import sys
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import calibration
from bench.data import Conversation, Question, Turn
from bench.measures import THRESHOLDS, Answer
from holdfast.errors import Invalid
from tests.bench.test_bench_data import BEAM, LOCOMO, written
from tests.bench.test_bench_scale import data_folder, strict

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def conversation(name: str, turns: int) -> Conversation:
    said = tuple(
        Turn(id=str(n), session=0, role="user", text=f"{name} {n}", at=NOON) for n in range(turns)
    )
    return Conversation(name=name, turns=said, questions=())


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


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)), max_size=20).map(
            lambda hits: answer(*hits)
        ),
        min_size=1,
        max_size=6,
    )
)
def test_precision_is_the_share_of_gold_among_hits_that_pass(every: list[Answer]) -> None:
    (row,) = calibration.report({("beam", "alone"): {"c": every}})
    for at in THRESHOLDS:
        hits = [hit for one in every for hit in zip(one.places, one.relevance, strict=True)]
        right = [place == 1 for place, value in hits if value >= at]
        precision, (low, high) = row["precision"][f"{at:g}"], row["intervals"][f"{at:g}"]
        assert row["hits"][f"{at:g}"] == len(right)
        if right:
            assert precision == pytest.approx(sum(right) / len(right))
            assert 0 <= low <= high <= 1
        else:
            assert all(map(math.isnan, (precision, low, high)))


def test_where_nothing_passes_there_is_no_precision_and_no_spread() -> None:
    rows = calibration.report({("locomo", "alone"): {"c": [answer((1, 0.01))]}})
    assert math.isnan(calibration.spread(rows, "0.3"))
    line, last = calibration.table(rows)
    assert (line["≥ 0.3"], last["≥ 0.3"]) == ("no hit", "–")
    one = calibration.report({("beam", "alone"): {"d": [answer((1, 0.5), (2, 0.4))]}})
    assert calibration.spread([*rows, *one], "0.3") == 0  # what is not known spreads nothing
    unasked = calibration.table(calibration.report({("locomo", "alone"): {"c": []}}))
    assert not any("nan" in cell for line in unasked for cell in line.values())


def run_calibration(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.calibration", *words])
    calibration.main()


def test_every_question_with_gold_is_asked_alone_and_in_every_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = data_folder(tmp_path)
    words = (str(data), "--sizes", "5,30", "--embedder", "none")
    run_calibration(monkeypatch, *words, "--json")
    told = strict(capsys.readouterr().out)
    assert [(row["set"], row["size"], row["questions"]) for row in told["rows"]] == [
        (name, size, asked)
        for name, asked in (("locomo", 4), ("beam", 2))
        for size in ("alone", "5", "30")
    ]
    assert told["spread"].keys() == {"0.05", "0.15", "0.3"}
    assert told["rows"][0]["hits"]["0.05"] > 0
    run_calibration(monkeypatch, *words)
    out = capsys.readouterr().out
    assert all(f"{name}, {size}" in out for name in calibration.SETS for size in ("alone", "30"))
    assert "spread (goal ± 5)" in out
    assert "nan" not in out


def test_nothing_above_a_threshold_is_null_and_nothing_asked_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = data_folder(tmp_path)
    for name, questions in ((LOCOMO, "qa"), (BEAM, "questions")):
        asked = [{**one, "question": "zzyzx?"} for one in name[questions]]
        where = ("locomo", "x.json") if name is LOCOMO else ("beam", "x.jsonl")
        written(data / where[0], where[1], [{**name, questions: asked}])
    words = (str(data), "--sizes", "5", "--embedder", "none")
    run_calibration(monkeypatch, *words, "--json")
    told = strict(capsys.readouterr().out)
    assert {row["hits"]["0.3"] for row in told["rows"]} == {0}
    assert {row["precision"]["0.3"] for row in told["rows"]} == {None}
    assert told["spread"]["0.3"] is None
    written(data / "locomo", "x.json", [])
    written(data / "beam", "x.jsonl", [{**BEAM, "questions": []}])
    with pytest.raises(SystemExit, match="nothing is asked"):
        run_calibration(monkeypatch, *words)
    (data / "beam" / "x.jsonl").unlink()
    with pytest.raises(SystemExit, match="beam"):
        run_calibration(monkeypatch, *words)
