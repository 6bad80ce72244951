"""Values with keys on one line, whole or cut off; and Markdown in blocks, whatever the text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.markdown import blocks, is_closed, without_fences
from holdfast.text.values import are_keyed, flat
from tests.text.strange import texts

_words = st.text("abcxyz019", min_size=1, max_size=8)
_records = st.lists(
    st.dictionaries(
        _words, _words | st.integers(0, 999) | st.lists(_words, max_size=3), min_size=1, max_size=4
    ),
    min_size=1,
    max_size=4,
)


def _leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in _leaves(each)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in _leaves(each)]
    return [str(value)]


@given(_records, st.sampled_from([None, 2]))
def test_every_value_is_there_in_order_and_every_key_once(
    records: list[Any], indent: int | None
) -> None:
    text = json.dumps(records, indent=indent)
    assert are_keyed(text)
    line = flat(text, 10_000)
    place = 0
    for leaf in _leaves(records):
        place = line.index(leaf, place)
    for key in {key for record in records for key in record}:
        assert line.count(f" {key}: ") + line.startswith(f"{key}: ") == 1
    values = flat(text, 10_000, keys=False).removesuffix("…").replace(",", " ").replace(";", " ")
    assert values.split() == _leaves(records)


@given(texts, st.integers(2, 60))
def test_any_text_is_no_longer_than_there_is_room(text: str, room: int) -> None:
    line = flat(text, room)
    assert len(line) <= room
    assert line.endswith("…")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"a": {"b": 1, "c": [2, 3]}, "d": "x y"}', "a: b: 1, c: 2, 3; d: x y …"),
        ("{'a': 'it is', 'b': None}", "a: it is, b: None …"),
        ('{"a": "never clo', "a: never, clo …"),
        ('{"a": "say \\"no\\"", "b": 2}', 'a: say \\"no\\, b: 2 …'),
    ],
)
def test_how_values_are_written(text: str, line: str) -> None:
    assert flat(text, 100) == line


@pytest.mark.parametrize(
    "text", ["[x] done: 1", "{ return 1; }", "plain", "", '["a", "b"]', "[1, 2]"]
)
def test_what_has_no_keys(text: str) -> None:
    assert not are_keyed(text)


_lines = st.lists(
    st.sampled_from(
        ["```", "```py", "````", "~~~", "a ```", "# h", "| a |", "text", "", "x = 1", "`"]
    ),
    max_size=20,
).map("\n".join)


@given(_lines | texts)
def test_blocks_hold_every_line_but_fences_in_order(text: str) -> None:
    found = blocks(text)
    inside = [line for block in found for line in block.lines]
    fences = [line for line in text.splitlines() if "```" in line or "~~~" in line]
    assert len(text.splitlines()) - len(fences) <= len(inside) <= len(text.splitlines())
    firsts = [block.first for block in found]
    assert firsts == sorted(firsts)
    for block in found:
        assert block.sort == "code" or block.lines[0] == text.splitlines()[block.first]


@given(_lines | texts)
def test_without_fences_nothing_is_open(text: str) -> None:
    assert is_closed(without_fences(text))
    assert "```" not in without_fences(text)


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("```\na\n```", True),
        ("```py\na\n```\nb\n~~~\nc\n~~~", True),
        ("````\n```\n````", False),
        ("```\na", False),
        ("a ```b``` c", False),
        ("```\n```\n```", False),
        ("no fence", True),
    ],
)
def test_what_is_closed(text: str, closed: bool) -> None:
    assert is_closed(text) is closed
