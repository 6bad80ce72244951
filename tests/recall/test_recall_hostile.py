"""Questions nobody would ask: whatever the text, recall answers and never raises."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from tests.property.effort import examples
from tests.recall.replays import Ticking, ids

Holdfast = holdfast.Holdfast

STRANGE = {
    "operators": 'deploy AND OR NOT NEAR("a" "b", 2) ^x* a:b {own}: - + ( ) "',
    "unclosed": '"deploy',
    "quotes": '""" \'\' `` "" "deploy" ""',
    "columns": "own:deploy OR context:deploy",
    "sql": "'; DROP TABLE shelves; --",
    "star": "dep*",
    "only stars": "* ** ***",
    "nul": "deploy\x00 \x00",
    "only nul": "\x00",
    "lone surrogates": "deploy \ud800 \udfff\ud800",
    "only surrogates": "\ud83d",
    "tokens": "deploy " * 100_000,
    "many words": " ".join(f"w{n}" for n in range(100_000)),
    "one word": "x" * (1 << 20),
    "a megabyte": "déploy ✓ " * (1 << 17),
    "right to left": "נא לפרוס deploy \u202e\u2066 نشر\u200f",
    "emoji": "🚀👩‍💻 deploy 🏳️‍🌈 ✅",
    "marks": "d" + "\u0301" * 5_000,
    "separators": "\x1e\x1f\u2028\u2029\x85 deploy",
    "numbers": "1e309 -0 NaN 0x7f ١٢٣ 12345678901234567890",
    "dates": "on 31 February 0000 and 99/99/9999 in the year 10000",
    "brackets": "[" * 5_000 + "]" * 5_000,
    "path": "../../../../etc/passwd\\..\\x",
    "private use": "\ue000\uf8ff\U0010ffff",
    "percent": "%s %d {0} {} ${x}",
}
EMPTY = ["", " ", "\n\t \r", "\u00a0\u2003", "\u200b", "?!.,;", "\x00\x00", "\ufeff"]


@pytest.fixture(scope="module", params=["static", "none"])
def hf(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Holdfast]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("HOLDFAST_EMBEDDER", request.param)
        made = holdfast.open(
            tmp_path_factory.mktemp("home"), project="p", user="ana", now=Ticking()
        )
        with made, made.session(agent="coder") as s:
            s.user("we deploy on Friday")
            s.assistant("I deploy at noon")
            made.remember("deploy with care", tags=["deploy"])
            yield made


@pytest.mark.parametrize("name", STRANGE)
def test_strange_questions_are_answered(hf: Holdfast, name: str) -> None:
    found = hf.recall(STRANGE[name], min_relevance=0)
    assert 0 <= found.confidence <= 1
    assert all(0 <= hit.relevance <= 1 for hit in found)
    if "deploy" in STRANGE[name]:
        assert found.hits
    hf.recall(STRANGE[name], track=True, scope="session")


@pytest.mark.parametrize("query", EMPTY)
def test_an_empty_question_is_answered_with_nothing_sure(hf: Holdfast, query: str) -> None:
    found = hf.recall(query, min_relevance=0)
    assert 0 <= found.confidence <= 1
    if not query.strip():
        assert (len(found), found.confidence) == (0, 0.0)


@settings(max_examples=examples(300))
@given(st.text(st.characters(), max_size=60))
def test_any_text_is_a_question(hf: Holdfast, query: str) -> None:
    found = hf.recall(query)
    assert 0 <= found.confidence <= 1
    assert ids(found) == ids(hf.recall(query))


def test_thousands_of_random_questions_raise_nothing(hf: Holdfast) -> None:
    chance = random.Random(18)
    pieces = [
        *STRANGE["operators"].split(),
        *"\"'*():^-+\\/\x00\ud800é漢🚀",
        "deploy",
        "NEAR/2",
        " ",
    ]
    for _ in range(2_000):
        query = "".join(chance.choices(pieces, k=chance.randint(0, 30)))
        found = hf.recall(query)
        assert 0 <= found.confidence <= 1


@pytest.mark.parametrize("name", STRANGE)
def test_strange_texts_are_recorded_and_found_beside_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as hf:
        s = hf.session(agent="coder")
        s.user(STRANGE[name])
        s.tool_call("Bash", {"command": STRANGE[name]})
        plain = s.user("the marmot sleeps").event_id
        assert ids(hf.recall("where is the marmot?", min_relevance=0))[0] == plain
        assert hf.recall(STRANGE[name], min_relevance=0) is not None


def test_words_in_nothing_but_marks_and_signs_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as hf:
        s = hf.session(agent="coder")
        for text in (*EMPTY, "…", "—", "\u0301", "\U000e0001"):
            s.user(text)
            s.decision(text)
        plain = s.user("the marmot sleeps").event_id
        assert ids(hf.recall("marmot", min_relevance=0))[0] == plain
