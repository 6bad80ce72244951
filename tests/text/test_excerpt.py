"""A passage of a text alone: the same words, its fences closed, marks where the text goes on."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.excerpt import closed, excerpt
from tests.text.strange import HOSTILE
from tests.text.test_levels_shown import unclosed

TEXT = """\
It began on Monday. Nobody knew why, and it went on.
The fix is short:
```python
def load(path):
    with open(path) as file:

        return file.read()
```
It works now. We deploy it later.

Nothing more is known.
"""
_LINES = [
    *("one two. three four", "five", "", " ", "    six = seven()", "- eight", "| nine | ten |"),
    *("```", "```PY", "````", "````PY", "~~~", "~~~PY", "~~~~~", "  ```", "a ``` b", "``` `` c"),
    *("我们今天。", "# eleven", "x" * 30, "…"),
]
_texts = st.builds(
    lambda lines, end: end.join(lines),
    st.lists(st.sampled_from(_LINES), max_size=14),
    st.sampled_from(["\n", "\n", "\r\n", "\u2028"]),
)
_places = st.integers(-3, 200)


def _passage(first: str, last: str) -> str:
    start = TEXT.index(first)
    return excerpt(TEXT, start, TEXT.index(last, start) + len(last))


@given(_texts, _places, _places)
def test_its_words_are_those_of_the_passage_and_its_fences_are_closed(
    text: str, start: int, end: int
) -> None:
    shown = excerpt(text, start, end)
    passage = text[max(0, start) : max(0, end)]
    assert re.findall("[a-z我们今天]", shown) == re.findall("[a-z我们今天]", passage)
    assert not unclosed(shown)
    assert shown == shown.strip()
    assert shown == excerpt(text, start, end)


@given(_texts)
def test_all_of_a_text_has_no_mark(text: str) -> None:
    shown = excerpt(text, 0, len(text))
    assert shown.count("…") == text.count("…")
    assert closed(text).startswith(text)
    assert not unclosed(closed(text))


@given(_texts, _places, _places)
def test_what_is_cut_inside_of_a_line_has_a_mark(text: str, start: int, end: int) -> None:
    passage = text[max(0, start) : max(0, end)]
    shown = excerpt(text, start, end)
    first = passage.lstrip()[:1]
    if first.islower() and start > 0 and text[start - 1].islower() and passage[:1] == first:
        assert "…" in re.split("[a-z]", shown, maxsplit=1)[0]
    last = passage[-1:]
    if last.islower() and end < len(text) and text[end].islower() and not _in_fence(text, end):
        assert "…" in re.split("[a-z]", shown)[-1]


def _in_fence(text: str, place: int) -> bool:
    lines = re.split("[\n\u2028]", text[:place])
    return "`" in lines[-1] or "~" in lines[-1]


@pytest.mark.parametrize(
    ("first", "last", "shown"),
    [
        ("It began", "Monday.", "It began on Monday. …"),
        ("Nobody knew", "why", "… Nobody knew why…"),
        ("body knew", "it wen", "…body knew why, and it wen…"),
        ("The fix", "short:", "…\nThe fix is short:"),
        ("Nothing", "known.", "Nothing more is known."),
        ("It works", "later.", "It works now. We deploy it later."),
        ("It works", "known.", "It works now. We deploy it later.\n\nNothing more is known."),
    ],
)
def test_a_mark_stands_where_the_paragraph_goes_on(first: str, last: str, shown: str) -> None:
    assert _passage(first, last) == shown


@pytest.mark.parametrize(
    ("first", "last", "shown"),
    [
        (
            "    with",
            "now.",
            "```python\n…\n    with open(path) as file:\n\n        return file.read()\n```\n"
            "It works now. …",
        ),
        ("def load", "path)", "```python\ndef load(path)…\n```"),
        ("ython", "file:", "```python\ndef load(path):\n    with open(path) as file:\n…\n```"),
        ("return", "file.read()", "```python\n…\n        return file.read()\n```"),
        ("short:", "def", "… short:\n```python\ndef …\n```"),
        ("short:", "pyth", "… short:"),
        ("```\nIt", "works", "It works …"),
    ],
)
def test_code_is_fenced_again(first: str, last: str, shown: str) -> None:
    assert _passage(first, last) == shown


@pytest.mark.parametrize("name", HOSTILE)
def test_very_much_of_anything(name: str) -> None:
    text = HOSTILE[name]
    assert not unclosed(excerpt(text, 400_000, 400_900))
    fenced = f"```\n{text}\n```\n" + "```py\nx\n```\n" * 2_000
    assert not unclosed(excerpt(fenced, 400_000, len(fenced) - 9))
