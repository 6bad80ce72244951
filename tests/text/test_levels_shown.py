"""What is no memory, shown at four levels: what holds for any text whatever, and for prose alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.levels import MOST_COMPRESSED, MOST_SUMMARY, Levels, shown_as
from holdfast.text.sentences import sentences
from tests.text.strange import HOSTILE, texts

KINDS = ("turn", "code", "tool_output", "document")
_LINES = [
    *("```", "```python", "````", "~~~", "~~~~~~~~", "inline ```code``` here", "a ``` b", "`" * 7),
    *(
        "def area(side):",
        "    return side ** 2",
        "class Circle(Shape):",
        "import os",
        "}",
        "f(a) {",
    ),
    *("# Heading", "- an item. Two sentences.", "1. First", "| a | b |", "|---|---|", "x = '''"),
    *("Error: x failed at src/a.py:12", "3 passed, 1 failed in 0.2s", "$ ls -la", "12: code here"),
    *('{"a": 1, "b": "x y"}', "[{'k': 'v'", "diff --git a/x b/x", "@@ -1 +1 @@", "+ added"),
    *("今天下雨。明天也会下雨吗？我们去吧。", "我" * 400, "a" * 300, "word " * 99, "", " ", "…"),
    *("CREATE TABLE t (a int, b text);", "\ud800 alone", "\x1b[31mred\x1b[0m", "a, b; c: d, " * 40),
    "So we decided to use PostgreSQL, because it was there.",
]
pages = st.builds(
    lambda lines, end: end.join(lines),
    st.lists(st.sampled_from(_LINES), max_size=60),
    st.sampled_from(["\n", "\r\n", "\n\n", " "]),
)
_cut = st.builds(lambda page, size: page[:size], pages, st.integers(0, 400))
any_text = texts | pages | _cut
kinds = st.sampled_from([*KINDS, "another"])


def _bare(text: str) -> str:
    return " ".join(text.split())


def open_fence(level: str) -> str:
    """The fence that is still open at the end of a level, by the rules of Markdown."""
    fence = ""
    for line in level.splitlines():
        found = re.match(r"\s*(`{3,}|~{3,})(.*)", line)
        if not found:
            continue
        if not fence and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
        elif fence and found[1].startswith(fence) and not found[2].strip():
            fence = ""
    return fence


def unclosed(shown: str) -> str:
    """The same of a text that may underline its headings with tildes."""
    return open_fence(re.sub("~{4,}", "", shown))


def check(text: str, found: Levels) -> None:
    """Everything that holds for every text."""
    assert found.full == text
    levels = (found.summary, found.compressed, found.index)
    sizes = [len(text), *map(len, levels)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(found.summary) <= min(MOST_SUMMARY, max(240, len(text) * 3 // 10))
    assert len(found.compressed) <= MOST_COMPRESSED
    assert len(found.index) <= 50
    assert len(found.compressed.splitlines()) <= 1
    assert len(found.index.splitlines()) <= 1
    for level in levels:
        assert bool(level.strip()) == bool(text.strip())
        assert not open_fence(level)
        assert level.count("```") % 2 == 0
        assert "…" in level or _bare(level) == _bare(text)


@given(kinds, any_text)
def test_what_holds_for_every_text(kind: str, text: str) -> None:
    found = shown_as(kind, text)
    check(text, found)
    assert found == shown_as(kind, text)


@given(kinds, st.text(max_size=240))
def test_a_short_text_loses_nothing_in_its_summary(kind: str, text: str) -> None:
    if text.strip() and "```" not in text and "~~~" not in text:
        assert shown_as(kind, text).summary == text


_WORDS = "the token check was not fixed we saw auth fail on Tuesday with PostgreSQL 16"
_sentence = (
    st.lists(st.sampled_from(_WORDS.split()), min_size=3, max_size=12)
    .map(" ".join)
    .map(lambda words: words[0].upper() + words[1:] + ".")
)
_story = st.lists(_sentence, min_size=8, max_size=40).map(" ".join)


@given(st.sampled_from(["turn", "document"]), _story)
def test_prose_is_told_in_whole_sentences(kind: str, story: str) -> None:
    known = set(sentences(story))
    for piece in shown_as(kind, story).summary.split("…"):
        assert set(sentences(piece)) <= known


@given(
    st.lists(_sentence, min_size=1, max_size=9),
    st.lists(
        st.sampled_from(["def area(side):", "    return side", "x = 1", "    y = 2"]), max_size=40
    ),
)
def test_no_line_of_a_block_is_left_out_without_a_mark(said: list[str], code: list[str]) -> None:
    block = "\n".join(code)
    text = f"{' '.join(said)}\n```python\n{block}\n```\n"
    shown = re.findall(r"```python\n(.*?)\n```", shown_as("turn", text).summary, re.DOTALL)
    for inside in shown:
        assert "…" in inside or inside.split() == block.split()
        for line in inside.splitlines():
            assert line.partition(" …")[0].strip() in {*map(str.strip, code), "…"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", HOSTILE)
def test_very_much_of_anything(kind: str, name: str) -> None:
    text = HOSTILE[name][:60_000]
    check(text, shown_as(kind, text))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["letters", "han", "sentences"])
def test_a_million_characters_in_one_line(kind: str, name: str) -> None:
    check(HOSTILE[name], shown_as(kind, HOSTILE[name]))


LARGE = {
    "fences": "```\n" * 60_000,
    "nested fences": "````\n```\n" * 30_000,
    "one string": '{"a": "' + "x" * 250_000,
    "escaped quotes": '{"a": "' + '\\"' * 120_000,
    "open brackets": "def f():\n" + "(" * 190_000,
    "deep brackets": "class A:\n" + "[" * 39 + "1," * 90_000,
    "signs": "def f():\n x = " + "-" * 190_000 + "1",
    "open signatures": "def f(\n" * 40_000,
    "braces": "foo(a) {\n" * 30_000,
    "decorated": "@a\n" * 60_000 + "def f(): pass",
    "indented": "".join(" " * (n % 500) + "x\n" for n in range(1_000)),
    "statements": "CREATE TABLE t (a int,\n" * 10_000,
    "rewritten": "50 %\r" * 50_000,
    "erased": "a\x08" * 100_000,
    "alike": "ok 1 done\n" * 30_000,
    "clauses": "a, " * 80_000,
    "bold": "**" * 120_000,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LARGE)
def test_very_much_of_what_the_rules_look_for(kind: str, name: str) -> None:
    check(LARGE[name], shown_as(kind, LARGE[name]))


@pytest.mark.parametrize("kind", ["turn", "tool_output"])
def test_between_neighbours_that_are_none_stands_a_mark(kind: str) -> None:
    """The middle of a text of very many lines is not read; that is marked as well."""
    lines = [f"Number {n} is said." for n in range(5_000)]
    for piece in shown_as(kind, "\n".join(lines)).summary.split("…"):
        numbers = [*map(int, re.findall(r"Number (\d+) is", piece))]
        assert numbers == [numbers[0] + n for n in range(len(numbers))]
