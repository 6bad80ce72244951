"""What recall keeps is a cache: whatever becomes of it, the next question finds the same."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import Limit
from holdfast.model.events import Draft
from tests.recall.replays import Ticking


def _told(home: Path) -> holdfast.Holdfast:
    return holdfast.open(home, project="p", user="ana", now=Ticking())


@pytest.fixture(autouse=True)
def _static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")


def _scores(hf: holdfast.Holdfast) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in hf.recall("automobile", min_relevance=0)]


def test_vectors_that_were_never_made_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Indexed while there was no embedder, then asked with one."""
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    with _told(tmp_path) as hf:
        hf.remember_all([{"text": text} for text in ("the car is red", "we eat at noon", "tea")])
        hf.recall("anything")
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")
    with _told(tmp_path) as hf:
        assert hf.recall("automobile", min_relevance=0)[0].text == "the car is red"


def test_vectors_that_were_deleted_are_made_again(tmp_path: Path) -> None:
    with _told(tmp_path) as hf:
        hf.remember_all([{"text": text} for text in ("the car is red", "we eat at noon", "tea")])
        before = _scores(hf)
        folder = hf.folder
    shutil.rmtree(os.path.join(folder, "vectors"))
    with _told(tmp_path) as hf:
        assert _scores(hf) == before


def test_an_odd_event_about_memories_breaks_nothing(tmp_path: Path) -> None:
    with _told(tmp_path) as hf:
        one = hf.remember("the car is red")
        odd: list[object] = [5, None, "text", {"a": 1}, [5, None], True]
        for said in odd:
            payload = {"memory": one.id, "from": said}
            hf.record([Draft(type="memory_merged", payload=payload, origin="user")])
        assert hf.recall("car", min_relevance=0)[0].id == one.id


def test_too_many_tags_are_refused_and_cost_nothing(tmp_path: Path) -> None:
    with _told(tmp_path) as hf:
        one = hf.remember("the car is red", tags=["t1"])
        before = _scores(hf)
        with pytest.raises(Limit):
            hf.recall("car", tags=[f"t{n}" for n in range(1_200)])
        assert _scores(hf) == before
        assert hf.retrieve_by_tags(["t1"])[0].id == one.id


def test_the_most_important_of_a_tag_comes_first_however_many_are_newer(tmp_path: Path) -> None:
    with _told(tmp_path) as hf:
        one = hf.remember("the rule of rules", tags=["t"], importance=1.0)
        hf.remember_all([{"text": f"note {n}", "tags": ["t"]} for n in range(1_100)])
        assert hf.retrieve_by_tags(["t"], 1)[0].id == one.id


def test_what_one_asked_stays_in_the_project_one_asked_in(tmp_path: Path) -> None:
    with _told(tmp_path) as hf:
        hf.remember("lawyers bill by the hour", scope="system")
        assert hf.recall("my private lawyer", min_relevance=0, track=True)
        (everybody,) = [log for log in hf.logs() if log.project.id == "~system"]
        said = [str(event.payload) for event in everybody.events() if event.kind == "memory_recall"]
        assert said
        assert not any("private" in one for one in said)


def test_a_fork_in_the_middle_of_a_question_can_ask_too(tmp_path: Path) -> None:
    with _told(tmp_path) as hf:
        hf.remember_all([{"text": f"the car number {n} is red"} for n in range(300)])
        hf.recall("car")
        stop = threading.Event()

        def busy() -> None:
            while not stop.is_set():
                hf.recall("car")

        thread = threading.Thread(target=busy)
        thread.start()
        try:
            for _ in range(4):
                child = os.fork()
                if child == 0:
                    os._exit(0 if hf.recall("car") else 1)
                assert os.waitpid(child, 0)[1] == 0
        finally:
            stop.set()
            thread.join()
