"""The recall benchmark itself: its baseline, its groups, its table, and one whole run."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import recall
from bench.data import Conversation, Dataset, Question, Turn
from bench.measures import NAMES
from holdfast.errors import Invalid
from holdfast.model.recall import RecallSettings
from tests.bench.test_bench_data import BEAM, LOCOMO, written

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
SAID = ("My kite is red.", "We sailed on a lake.", "The lake was cold", "Kites fly, a kite flew")


def conversation(texts: Sequence[str], *questions: Question) -> Conversation:
    turns = tuple(
        Turn(id=str(n), session=0, role="user", speaker="Ana", text=text, at=NOON)
        for n, text in enumerate(texts)
    )
    return Conversation(name="one", turns=turns, questions=questions)


def asked(text: str, category: str = "single-hop", gold: tuple[int, ...] = (0,)) -> Question:
    return Question(text=text, category=category, gold=gold)


def test_the_baseline_finds_any_word_by_its_stem_and_injects_turns_whole() -> None:
    turns = conversation(SAID).turns
    with recall.full_text(turns, len) as ask:
        assert ask(asked("sailing")).places == (1,)
        assert set(ask(asked("kite or lake?")).places) == {0, 1, 2, 3}
        assert ask(asked("nothing of that kind")).places == ()
        found = ask(asked("a cold lake"))
    assert found.places[0] == 2
    assert found.tokens == tuple(len(turns[place].text) for place in found.places)
    assert found.inject(found.tokens[0]) == found.places[:1]
    assert found.inject(0) == ()
    assert found.confidence is None


@given(st.text(max_size=30), st.text(max_size=30))
def test_the_baseline_takes_any_text(said: str, question: str) -> None:
    with recall.full_text(conversation([said, "x\udc80"]).turns, len) as ask:
        assert set(ask(asked(question + ' "x OR *')).places) <= {0, 1}
        assert ask(asked("")).places == ()


def test_every_ablation_changes_settings_that_are_there() -> None:
    plain = RecallSettings()
    for variant in recall.ABLATION:
        found = recall.changed(plain, variant.changes)
        assert all(getattr(found, name) == value for name, value in variant.changes.items())
    assert len({variant.what for variant in recall.ABLATION} | set(recall.PAIR)) == 2 + len(
        recall.ABLATION
    )
    with pytest.raises(Invalid, match="sparkle"):
        recall.changed(plain, {"sparkle": 1})


def test_headlines_leave_out_what_is_reported_apart() -> None:
    every = ("multi-hop", "adversarial", "temporal")
    one = conversation(SAID, *(asked("?", category) for category in every), asked("?", "x", ()))
    found = recall.groups("locomo", [one])
    assert list(found) == ["categories 1–4", "adversarial", "multi-hop", "temporal"]
    assert found["categories 1–4"] == {"multi-hop", "temporal"}
    beam = conversation(SAID, asked("?", "summarization"), asked("?", "event_ordering"))
    found = recall.groups("beam", [beam])
    assert found["all"] == {"summarization", "event_ordering"}
    assert found["without summarization"] == {"event_ordering"}
    assert set(recall.HEADLINES) == set(get_args(Dataset))


def test_a_project_is_opened_at_the_last_turn_and_the_environment_left_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for before in (None, "static"):
        if before is None:
            monkeypatch.delenv("HOLDFAST_EMBEDDER", raising=False)
        else:
            monkeypatch.setenv("HOLDFAST_EMBEDDER", before)
        with recall.opened(conversation(SAID), "none") as hf:
            assert os.environ["HOLDFAST_EMBEDDER"] == "none"
            assert hf.clock.now_ms() == int(NOON.timestamp() * 1_000)
            folder = Path(hf.folder)
        assert not folder.exists()
        assert os.environ.get("HOLDFAST_EMBEDDER") == before


def run_of(dataset: Dataset, one: Conversation) -> recall.Run:
    """The baseline in both places, so that a report can be looked at without the product."""
    run = recall.Run([one], "none")
    with recall.full_text(one.turns, len) as ask:
        for what in recall.PAIR:
            run.answers[what] = {one.name: [*map(ask, one.questions)]}
    return run


def test_a_report_counts_what_was_asked_and_tells_it_as_json_and_as_a_table() -> None:
    one = conversation(
        SAID,
        asked("red kite?"),
        asked("cold lake?", "multi-hop", (1, 2)),
        asked("who?", "adversarial", (3,)),
        asked("lost?", "temporal", ()),
    )
    found = recall.report("locomo", run_of("locomo", one))
    assert (found["n"], found["questions"], found["turns"]) == (2, 4, 4)
    assert len(found["rows"]) == 2 * 4
    first = found["rows"][0]
    assert (first["what"], first["group"], first["n"]) == ("holdfast", "categories 1–4", 2)
    assert first["R@10"] == 1
    assert set(first["intervals"]) == set(NAMES)
    told = json.loads(json.dumps(recall._finite(found), allow_nan=False))
    assert told["rows"][0]["R@10"] == 1
    assert told["calibration"]["error"] is None
    shown = recall.table(found)
    assert shown[0]["R@10"] == "100.0"
    assert shown[0]["R@10, 95 %"] == "100.0–100.0"
    assert {tuple(row) for row in shown} == {("what", "n", *NAMES, "R@10, 95 %")}
    goals = recall.goals(found)
    assert all(set(row) == {"what", *recall.PAIR, "goal"} for row in goals)
    assert not any("nan" in cell for row in goals for cell in row.values())


def test_a_number_that_is_none_is_null() -> None:
    value = {"a": [math.nan, 1.0, (math.inf,)], "b": {"c": "x"}}
    assert recall._finite(value) == {"a": [None, 1.0, [None]], "b": {"c": "x"}}


def renamed(entry: dict[str, Any], questions: str, words: str) -> dict[str, Any]:
    """The same, every question asking for all that was said."""
    return entry | {questions: [one | {"question": words} for one in entry[questions]]}


@pytest.mark.parametrize(
    ("dataset", "entry"),
    [
        ("locomo", renamed(LOCOMO, "qa", "Back again, look, nice, what flies?")),
        ("beam", renamed(BEAM, "questions", "One, two, three or four?")),
    ],
)
def test_a_whole_run_prints_one_object(
    dataset: str,
    entry: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = written(tmp_path, "x.jsonl" if dataset == "beam" else "x.json", [entry])
    words = ["bench.recall", str(path), "--dataset", dataset, "--embedder", "none", "--json"]
    monkeypatch.setattr(sys, "argv", words)
    recall.main()
    told = json.loads(capsys.readouterr().out)
    assert told["dataset"] == dataset
    assert told["settings"]
    for what in recall.PAIR:
        row = next(row for row in told["rows"] if row["what"] == what)
        assert row["R@20"] == row["R≤2k"] == 1
        assert row["n"] == told["n"] > 0
    assert told["latency"]["holdfast"]["p50"] > 0


def test_a_file_that_is_not_there_is_said_plainly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.recall", str(tmp_path), "--dataset", "qmsum"])
    with pytest.raises(SystemExit, match="qmsum"):
        recall.main()
