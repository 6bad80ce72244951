"""Levels: each is shorter than the one before, none invents a word, and the index is one short line."""

from __future__ import annotations

import re
from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.extract import cut, keywords, summary
from holdfast.text.levels import LONGEST_COMPRESSED, LONGEST_INDEX, LONGEST_SUMMARY, Levels, levels
from tests.text.strange import HOSTILE, texts

KINDS = ("fact", "episode", "pattern", "workflow")


class Fields(TypedDict, total=False):
    """What may be said of a memory beside its text."""

    key: str
    value: str
    applies_to: str
    title: str
    trigger: str
    steps: list[str]


_short = st.just("") | texts
_fields = st.fixed_dictionaries(
    {},
    optional={
        "key": _short,
        "value": _short,
        "applies_to": _short,
        "title": _short,
        "trigger": _short,
        "steps": st.lists(_short, max_size=5),
    },
)
_WORDS = "the auth token was not fixed we saw a test fail"
_story = st.lists(
    st.lists(st.sampled_from(_WORDS.split()), min_size=1)
    .map(" ".join)
    .map(lambda words: words.capitalize() + "."),
    max_size=12,
).map(" ".join)


def _told(fields: Fields) -> list[str]:
    return [value for value in fields.values() if isinstance(value, str)]


def _bare(text: str) -> str:
    """The text without the marks that levels put between words, and without fences."""
    plain = re.sub("(`|~){3,}", r"\1", text)
    return " ".join(re.sub("[→…:()。！？｡」』）]", " ", plain).split())


def _check(found: Levels) -> None:
    sizes = [len(found.full), len(found.summary), len(found.compressed), len(found.index)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(found.summary) <= LONGEST_SUMMARY
    assert len(found.compressed) <= LONGEST_COMPRESSED
    assert len(found.index) <= LONGEST_INDEX
    for line in (found.summary, found.compressed, found.index):
        assert len(line.splitlines()) <= 1
        assert bool(line.strip()) == bool(found.full.strip())


@given(st.sampled_from([*KINDS, "another"]), texts | _story, _fields)
def test_levels_fall(kind: str, text: str, fields: Fields) -> None:
    found = levels(kind, text, **fields)
    _check(found)
    assert found == levels(kind, text, **fields)
    if text.strip():
        assert found.full.startswith(text)


@given(st.sampled_from(KINDS), texts | _story, _fields)
def test_no_word_is_invented(kind: str, text: str, fields: Fields) -> None:
    known = _bare(" ".join([text, *fields.get("steps", []), *_told(fields)]))
    found = levels(kind, text, **fields)
    for level in (found.full, found.summary, found.compressed, found.index):
        for word in _bare(level).split():
            assert word in known


@given(texts | _story, st.integers(0, 60))
def test_a_cut_line_is_no_longer_than_it_may_be(text: str, most: int) -> None:
    line = cut(text, most)
    assert len(line) <= most
    assert bool(line) == bool(text.strip() and most)
    if len(" ".join(text.split())) <= most:
        assert line == " ".join(text.split())


@given(_story | texts, st.integers(1, 240), st.integers(1, 3))
def test_a_summary_is_sentences_of_the_text(text: str, most: int, count: int) -> None:
    short = summary(text, most, count)
    assert len(short) <= most
    assert bool(short) == bool(text.strip())


@given(texts | _story, st.integers(1, 9), st.integers(1, 9))
def test_key_words_stand_in_the_text_in_order(text: str, count: int, longest: int) -> None:
    words = keywords(text, count, longest)
    assert len(words) <= count
    place = 0
    for word in words:
        place = text.index(word, place)


def test_a_fact_is_its_key_and_value() -> None:
    text = (
        "Tim mentioned that he strongly prefers using explicit error handling patterns with Result "
        "types instead of try-catch blocks, especially in TypeScript code."
    )
    found = levels(
        "fact",
        text,
        key="error_handling",
        value="Result<T,E> over try-catch",
        applies_to="typescript",
    )
    assert found == Levels(
        full=text,
        summary="error_handling: Result<T,E> over try-catch (typescript)",
        compressed="error_handling: Result<T,E> over try-catch",
        index="error_handling",
    )


def test_a_fact_keeps_what_denies() -> None:
    text = "The people of this team do really not ever want to deploy anything at all on a Friday."
    found = levels("fact", text)
    assert "not" in found.compressed.split()
    assert "Friday" in found.compressed
    assert levels("fact", "", key="db", value="pg").full == "db: pg"


def test_an_episode_is_told_by_its_central_sentences() -> None:
    text = (
        "We spent the morning on the auth flow. Users were logged out at random. The root cause was "
        "that the token expiry check used the wrong timezone. Fixed by normalizing to UTC. We also "
        "added a test for the token expiry check. Lunch was good."
    )
    found = levels("episode", text, title="Auth timezone fix")
    assert found.summary == (
        "The root cause was that the token expiry check used the wrong timezone. "
        "Fixed by normalizing to UTC."
    )
    assert found.compressed.startswith("Auth timezone fix: ")
    assert "token" in found.compressed
    assert found.index == "Auth timezone fix"
    untitled = levels("episode", text).index.split()
    assert len(untitled) == 3
    assert set(untitled) <= set(re.findall(r"\w+", found.summary))


def test_an_episode_without_spaces_has_levels_too() -> None:
    text = "我们今天调试了登录流程。根本原因是令牌检查使用了错误的时区。统一为协调世界时修复。午饭不错。"
    found = levels("episode", text)
    assert found.summary in text
    assert len(found.index) < len(text)


def test_procedures_are_one_line_of_steps() -> None:
    steps = ["test", "build", "stage", "verify", "prod"]
    found = levels("workflow", "How we deploy", trigger="deploy", steps=steps)
    assert found.full == "How we deploy\ndeploy: test→build→stage→verify→prod"
    assert found.summary == found.compressed == "deploy: test→build→stage→verify→prod"
    assert found.index == "deploy"
    longer = levels(
        "pattern", "", trigger="new endpoint", title="API", steps=["add the route", "b"]
    )
    assert longer.full == longer.summary == "new endpoint: add the route→b"
    assert longer.compressed == "new endpoint: add the …→b"
    assert longer.index == "API"


@pytest.mark.parametrize("name", HOSTILE)
def test_very_much_of_anything(name: str) -> None:
    text = HOSTILE[name][:300_000]
    for kind in KINDS:
        _check(levels(kind, text))
    _check(levels("workflow", "x", steps=[text], trigger=text))
    _check(levels("fact", text, key=text, value=text, applies_to=text, title=text))
