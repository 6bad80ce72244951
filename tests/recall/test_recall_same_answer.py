"""One log, one answer: to the last bit, whoever made the index, when, and in how many steps."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import holdfast
from tests.property.effort import examples
from tests.recall.careers import ALL, Career, Step, careers
from tests.recall.replays import AS_FOUND, Ticking, forgotten_index, ids, plain_answer, told_again

Holdfast = holdfast.Holdfast
QUESTIONS = (ALL, f"which {ALL} fact is number3?", "revised turn window", "an overview of first")
ROOT = Path(__file__).parents[2]
PROJECTS = ("p", "~user/ana")


@pytest.fixture(autouse=True)
def _static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")


def answers(home: Path | str, minutes: float) -> list[dict[str, Any]]:
    """What a home says to every question, as of a time on the clock."""
    with holdfast.open(home, project="p", user="ana", now=Ticking(minutes)) as hf:
        return [plain_answer(hf.recall(one, 1_000, min_relevance=0)) for one in QUESTIONS]


def lived(home: Path, taken: list[Step], every: int) -> float:
    """A history that is indexed after every so many steps; 0 for not at all."""
    clock = Ticking()
    with holdfast.open(home, project="p", user="ana", now=clock) as hf:
        career = Career(hf, clock)
        s = hf.session(agent="coder", session_id="s")
        for n, step in enumerate(taken):
            career.take(step)
            if n % 3 == 0:
                s.remember(career.text("private"), scope="session")
            if every and n % every == 0:
                hf.recall(ALL)
    return clock.minutes


@settings(max_examples=examples(20), phases=AS_FOUND)
@given(careers)
def test_an_index_that_grew_and_one_made_in_one_go_answer_the_same(taken: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as place:
        grown, again = Path(place) / "grown", Path(place) / "again"
        minutes = lived(grown, taken, every=1)
        shutil.copytree(grown, again)
        forgotten_index(again)
        assert answers(grown, minutes) == answers(again, minutes)


@settings(max_examples=examples(10), phases=AS_FOUND)
@given(careers)
def test_opening_again_rebuilding_copying_and_telling_again_change_nothing(
    taken: list[Step],
) -> None:
    with tempfile.TemporaryDirectory() as place:
        home, copy, told = (Path(place) / name for name in ("home", "copy", "told"))
        minutes = lived(home, taken, every=0)
        first = answers(home, minutes)
        assert answers(home, minutes) == first
        shutil.copytree(home, copy)
        assert answers(copy, minutes) == first
        with holdfast.open(home, project="p", user="ana", now=Ticking(minutes)) as hf:
            hf.rebuild()
        assert answers(home, minutes) == first
        told_again(home, told, PROJECTS)
        assert answers(told, minutes) == first


def test_another_process_answers_the_same(tmp_path: Path) -> None:
    home = tmp_path / "home"
    taken = [
        Step(what, n, n + 1)
        for n in range(6)
        for what in ("turn", "learn", "say", "slot", "forget", "turn", "merge")
    ]
    minutes = lived(home, taken, every=0)
    here = answers(home, minutes)
    code = (
        "import json, sys; from tests.recall.test_recall_same_answer import answers; "
        "print(json.dumps(answers(sys.argv[1], float(sys.argv[2]))))"
    )
    for fresh in (False, True):
        if fresh:
            forgotten_index(home)
        for seed in ("0", "1"):
            done = subprocess.run(
                [sys.executable, "-c", code, str(home), str(minutes)],
                cwd=ROOT,
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            )
            assert json.loads(done.stdout) == json.loads(json.dumps(here))


def test_of_equals_the_one_with_the_lower_id_comes_first(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as hf:
        s = hf.session(agent="coder")
        for name in ("evt-c", "evt-a", "evt-b"):
            hf.session(agent="coder", session_id=f"of-{name}").user("same words", event_id=name)
        made = [s.remember("same words").id for _ in range(3)]
        found = ids(hf.recall("same words", min_relevance=0))
    turns = [one for one in found if one.startswith("evt")]
    assert turns == ["evt-a", "evt-b", "evt-c"]
    assert [one for one in found if one.startswith("mem")] == sorted(made)


# ---- ways in which an index may grow ------------------------------------------------------------


def _private(hf: Holdfast, then: Callable[[], None]) -> None:
    s = hf.session(agent="coder", session_id="s")
    s.user("where does the parser live?")
    s.remember("the parser lives in the attic", scope="session")
    then()
    s.assistant("in the attic")
    s.user("thanks")


def _believed(hf: Holdfast, then: Callable[[], None]) -> None:
    one = hf.remember("the parser lives in the attic").id
    hf.remember("the lexer lives in the cellar")
    then()
    hf.clock.minutes += 60 * 24 * 30  # type: ignore[attr-defined]
    hf.trust(one, 2, reason="seen")


def _many_sessions(hf: Holdfast, then: Callable[[], None]) -> None:
    hf.session(agent="coder", session_id="first").user("where does the parser live?")
    for n in range(520):
        hf.session(agent="coder", session_id=f"s{n}").user("hello there")
    then()
    hf.session(agent="coder", session_id="first").assistant("in the attic")


def _used(hf: Holdfast, then: Callable[[], None]) -> None:
    one = hf.remember("the parser lives in the attic").id
    then()
    hf.used([one], "useful")
    then()
    hf.revise(one, text="the parser lives in the cellar, not in the attic")


@pytest.mark.parametrize("way", [_private, _believed, _many_sessions, _used])
def test_when_the_index_was_made_does_not_show(
    tmp_path: Path, way: Callable[[Holdfast, Callable[[], None]], None]
) -> None:
    home, again = tmp_path / "home", tmp_path / "again"
    clock = Ticking()

    def asked() -> None:
        with holdfast.open(home, project="p", user="ana", now=clock) as other:
            other.recall("parser attic")

    with holdfast.open(home, project="p", user="ana", now=clock) as hf:
        way(hf, asked)
    shutil.copytree(home, again)
    forgotten_index(again)
    told = []
    for place in (home, again):
        with holdfast.open(place, project="p", user="ana", now=clock) as hf:
            told.append(plain_answer(hf.recall("the parser in the attic", 50, min_relevance=0)))
    assert told[0] == told[1]
    assert told[0]["hits"]
