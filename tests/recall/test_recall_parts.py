"""A score says how it was made: its parts give it again, and what use and time may move is bounded."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import holdfast
from holdfast.model.memories import Usage
from holdfast.model.recall import Hit, RecallSettings
from holdfast.recall.rank import usefulness
from tests.property.effort import examples
from tests.recall.replays import DAY, MINUTE, Ticking, ids, stamp

Holdfast = holdfast.Holdfast
BONUSES = ("recency", "importance", "usage")


@pytest.fixture(autouse=True)
def _static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")


@pytest.fixture
def hf(tmp_path: Path) -> Holdfast:
    made = holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking(90 * 24 * 60))
    s = made.session(agent="coder", session_id="s")
    for n in range(12):
        s.user(f"the gateway limits requests to {n}", at=stamp(n * 7 * DAY / MINUTE))
        made.remember(f"gateway rule number {n}", importance=n / 11, at=stamp(n * DAY / MINUTE))
    return made


def given_again(hit: Hit) -> float:
    """The score, from its parts alone."""
    made = hit.parts["relevance"] * (1 + sum(hit.parts.get(name, 0) for name in BONUSES))
    return made * math.exp(hit.parts.get("breadth", 0))


@pytest.mark.parametrize("query", ["gateway limits", "an overview of the gateway across sessions"])
def test_the_parts_give_the_score(hf: Holdfast, query: str) -> None:
    hf.used(ids(hf.recall(query))[:2], "useful")
    found = hf.recall(query, 50, min_relevance=0)
    assert len(found) > 10
    for hit in found:
        assert hit.score == pytest.approx(given_again(hit), rel=1e-12)
        assert hit.relevance == hit.parts["relevance"]
        assert all(hit.parts.values())
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_the_seed_s_profile_adds(hf: Holdfast) -> None:
    seed = replace(hf.settings.recall, profile="seed")
    found = hf.recall("gateway limits", 50, min_relevance=0, settings=seed)
    plain = {hit.id: hit for hit in hf.recall("gateway limits", 50, min_relevance=0)}
    assert len(found) > 10
    for hit in found:
        of = plain[hit.id]
        recency = of.parts["recency"] / hf.settings.recall.recency
        importance = of.parts.get("importance", 0) / hf.settings.recall.importance
        wanted = 0.4 * hit.relevance + 0.3 * recency + 0.3 * importance
        assert hit.score == pytest.approx(wanted, rel=1e-9)
        shares = hit.parts.get("recency", 0) + hit.parts.get("importance", 0)
        assert hit.score == pytest.approx(0.4 * hit.parts["relevance"] + shares, rel=1e-12)


def test_recency_falls_to_a_third_in_thirty_days_from_the_event_s_own_time(hf: Holdfast) -> None:
    for hit in hf.recall("gateway limits", 50, min_relevance=0):
        age = 90 - (float(hit.text.split()[-1]) * (7 if hit.event else 1))
        wanted = hf.settings.recall.recency * math.exp(-age / 30)
        assert hit.parts["recency"] == pytest.approx(wanted, rel=1e-6)


def usage_part(hf: Holdfast, one: str) -> float:
    return {hit.id: hit.parts.get("usage", 0.0) for hit in hf.recall("marmot", min_relevance=0)}[
        one
    ]


def test_use_moves_a_hit_by_little_and_says_so(hf: Holdfast) -> None:
    one, two = (hf.remember(f"the marmot {verb} here").id for verb in ("sleeps", "eats"))
    before = hf.recall("marmot", min_relevance=0)
    assert usage_part(hf, one) == 0
    hf.used([one], "ignored")
    assert usage_part(hf, one) == 0
    hf.used([one], "cited")
    cited = usage_part(hf, one)
    assert cited > 0
    hf.used([one], "useful")
    assert usage_part(hf, one) > cited
    hf.used([two], "wrong")
    assert usage_part(hf, two) < 0
    for _ in range(20):
        hf.used([one], "useful")
        hf.used([two], "wrong")
    most = hf.settings.recall.usage
    assert 0 < usage_part(hf, one) <= most
    assert -most <= usage_part(hf, two) < 0
    after = hf.recall("marmot", min_relevance=0)
    assert after[0].id == one
    assert {h.id: h.relevance for h in after} == pytest.approx({h.id: h.relevance for h in before})
    assert after[0].usage.useful == 21


def test_being_ignored_again_and_again_lowers(hf: Holdfast) -> None:
    one = hf.remember("the marmot sleeps here").id
    parts = []
    for _ in range(12):
        hf.used([one], "ignored")
        parts.append(usage_part(hf, one))
    assert parts[0] == 0
    assert parts[-1] < 0
    assert parts == sorted(parts, reverse=True)
    hf.used([one], "useful")
    assert usage_part(hf, one) > parts[-1]


counts = st.integers(0, 50)
SETTINGS = RecallSettings()


@settings(max_examples=examples(200))
@given(counts, counts, counts, counts)
def test_usefulness_is_bounded_and_goes_the_right_way(
    cited: int, ignored: int, useful: int, wrong: int
) -> None:
    now = Usage(cited=cited, ignored=ignored, useful=useful, wrong=wrong)
    worth = usefulness(now, SETTINGS)
    assert -1 <= worth <= 1
    assert usefulness(replace(now, cited=cited + 1), SETTINGS) >= worth
    assert usefulness(replace(now, useful=useful + 1), SETTINGS) >= worth
    assert usefulness(replace(now, wrong=wrong + 1), SETTINGS) <= worth
    assert usefulness(replace(now, ignored=ignored + 1), SETTINGS) <= worth
    assert (
        usefulness(Usage(ignored=1), SETTINGS) == 0 == usefulness(Usage(retrieved=cited), SETTINGS)
    )


def test_no_bonus_ever_brings_the_clearly_less_relevant_first(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking(10_000)) as hf:
        right = hf.remember("the vault key lies under the marmot", importance=0.0, at=stamp(0)).id
        other = hf.remember("the canteen opens at noon", importance=1.0).id
        for _ in range(10):
            hf.used([other], "useful")
            hf.used([right], "wrong")
        found = hf.recall("where is the vault key?", min_relevance=0)
        assert found[0].id == right


# ---- the floor ----------------------------------------------------------------------------------


def test_the_floor_keeps_out_what_lies_below_it_and_nothing_else(hf: Holdfast) -> None:
    every = hf.recall("gateway limits", 1_000, min_relevance=0)
    assert len(every) == 24
    for floor in (0.0, 0.001, 0.01, 0.05, every[0].relevance, 1.0):
        found = hf.recall("gateway limits", 1_000, min_relevance=floor)
        assert ids(found) == [hit.id for hit in every if hit.relevance >= floor]
        assert found.confidence == every.confidence
    usual = hf.recall("gateway limits", 1_000)
    floor = RecallSettings().min_relevance
    assert ids(usual) == [hit.id for hit in every if hit.relevance >= floor]


@pytest.mark.parametrize("k", [1, 5, 24])
def test_without_a_floor_there_are_as_many_hits_as_asked_for(hf: Holdfast, k: int) -> None:
    assert len(hf.recall("gateway", k, min_relevance=0)) == k


def test_an_empty_project_has_no_answer_and_no_confidence(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana") as hf:
        for query in ("anything", "", "why?"):
            found = hf.recall(query, min_relevance=0)
            assert (len(found), found.confidence, found.query) == (0, 0.0, query)
            assert not found
        assert hf.retrieve_recent() == []
        assert hf.retrieve_by_tags(["x"]) == []


def test_a_word_that_was_said_often_is_found_by_a_plain_question(tmp_path: Path) -> None:
    """Question words that nobody ever said must not make everything look irrelevant."""
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as hf:
        s = hf.session(agent="coder", session_id="s")
        for n in range(30):
            s.user(f"we talked about thing {n} and about pears")
        found = hf.recall("which pears?")
        assert len(found) == 10
        assert found.confidence > 0.1
