"""Topics: what can be asked about, the most often named first, and nothing somebody else knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import Invalid
from tests.recall.replays import Ticking

Holdfast = holdfast.Holdfast


@pytest.fixture
def hf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Holdfast]:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as opened:
        yield opened


def named(hf: Holdfast, user: str | None = None, agent: str | None = None) -> dict[str, int]:
    return {topic.name: topic.memories for topic in hf.topics(user=user, agent=agent)}


def test_what_is_named_most_often_comes_first(hf: Holdfast) -> None:
    made = [hf.remember(f"The queue has {n} workers.", tags=["queue"]).id for n in range(3)]
    hf.remember("The cache is Redis.", tags=["cache", "queue"])
    first, second = hf.topics(2)
    assert (first.name, first.memories) == ("queue", 4)
    assert set(made) <= set(first.ids)
    assert (second.name, second.memories) == ("cache", 1)


def test_tags_subjects_keys_places_and_titles_are_topics(hf: Holdfast) -> None:
    hf.remember("x", subject="billing", key="currency", value="EUR", applies_to="src/pay")
    hf.remember(kind="workflow", title="release", steps=["tag", "push"])
    assert named(hf) == {"billing": 1, "currency": 1, "src/pay": 1, "release": 1}


def test_what_has_no_name_is_called_as_the_index_calls_it(hf: Holdfast) -> None:
    one = hf.remember("The staging cluster is rebuilt every night.")
    assert named(hf) == {one.index: 1}
    assert "staging" in one.index


def test_what_is_not_in_use_is_no_topic(hf: Holdfast) -> None:
    gone = hf.remember("The mascot is a crab.", tags=["mascot"])
    hf.remember("The database is MySQL.", key="database", value="MySQL")
    hf.remember("The database is PostgreSQL.", key="database", value="PostgreSQL")
    hf.forget(gone.id, reason="tidy")
    assert named(hf) == {"database": 1}


def test_nobody_sees_what_others_keep_to_themselves(hf: Holdfast) -> None:
    hf.remember("Ana likes tea.", tags=["tea"], scope="user")
    hf.session(agent="coder").start().remember("A guess.", tags=["guess"], scope="session")
    assert named(hf, user="ben") == {}
    assert named(hf, agent="critic") == {"tea": 1}
    assert named(hf, agent="coder") == {"tea": 1, "guess": 1}


@pytest.mark.parametrize("most", [0, -1, True, 2.5, "3"])
def test_a_number_of_topics_is_a_whole_number(hf: Holdfast, most: object) -> None:
    with pytest.raises(Invalid, match="whole number"):
        hf.topics(most)  # type: ignore[arg-type]
