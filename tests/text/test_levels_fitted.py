"""A long text in the room there is: whole if it fits, else its ends and what tells most between them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.levels import fitted
from tests.text.strange import HOSTILE
from tests.text.test_levels_shown import KINDS, LARGE, any_text, kinds, pages, unclosed

LOG = [f"2024-01-01 12:00:{n % 60:02} worker {n} is done" for n in range(9_000)]


def check(text: str, shown: str, chars: int) -> None:
    """Everything that holds for every text."""
    assert len(shown) <= chars
    assert bool(shown.strip()) == bool(text.strip() and chars > 0)
    assert not unclosed(shown)
    same = shown.startswith(text) or shown.split() == text.split()
    assert not shown or "…" in shown or same


@given(
    kinds, any_text | st.lists(pages, min_size=2, max_size=9).map("\n".join), st.integers(0, 2_000)
)
def test_what_holds_for_every_text(kind: str, text: str, chars: int) -> None:
    shown = fitted(kind, text, chars)
    check(text, shown, chars)
    assert shown == fitted(kind, text, chars)
    if text.strip():
        longest = len(text) + 400  # room for any fence
        assert fitted(kind, text, longest).startswith(text)


_numbered = st.integers(30, 400).map(lambda count: [f"line {n} of many" for n in range(count)])


@given(kinds, _numbered, st.integers(240, 3_000))
def test_whole_lines_and_a_mark_wherever_some_are_left_out(
    kind: str, lines: list[str], chars: int
) -> None:
    text = "\n".join(lines)
    shown = fitted(kind, text, chars)
    told = [line for line in shown.splitlines() if line.strip("… ")]
    assert told[0].startswith(lines[0])
    assert told[-1].endswith(lines[-1])
    for line in told:
        assert line in lines or ("…" in line and line.partition("…")[0].strip() in text)
    for piece in shown.split("…"):
        numbers = [*map(int, re.findall(r"line (\d+) of many", piece))]
        assert numbers == [*range(numbers[0], numbers[0] + len(numbers))] if numbers else True


@given(st.integers(1_000, 8_000), st.integers(600, 6_000))
def test_what_went_wrong_in_the_middle_is_shown_with_both_ends(place: int, chars: int) -> None:
    wrong = "KeyError: 'price' at src/shop/prices.py:88"
    text = "\n".join([*LOG[:place], wrong, *LOG[place:]])
    shown = fitted("tool_output", text, chars)
    check(text, shown, chars)
    lines = shown.splitlines()
    assert any(line.startswith(wrong) for line in lines)
    assert lines[0] == LOG[0]
    assert lines[-1] == LOG[-1]
    assert len(shown) > chars * 2 // 3


def test_code_that_is_too_long_keeps_what_it_defines() -> None:
    bodies = [
        f"def step_{n}(x):\n" + "".join(f"    x += {n * m}\n" for m in range(30)) for n in range(20)
    ]
    shown = fitted("code", "import os\n\n\n" + "\n\n".join(bodies), 2_000)
    assert shown.startswith("import os\n\n\ndef step_0(x):\n    x += 0\n")
    assert shown.endswith("    x += 551\n")
    assert all(f"def step_{n}(x):" in shown for n in range(1, 18))


def test_a_fence_that_is_cut_is_closed_and_opened_again() -> None:
    block = "\n".join(f"value_{n} = {n}" for n in range(200))
    shown = fitted("turn", f"Here it is:\n\n```python\n{block}\n```\n\nThat is all.", 900)
    assert shown.startswith("Here it is:\n\n```python\nvalue_0 = 0\n")
    assert shown.endswith("value_199 = 199\n```\n\nThat is all.")
    assert shown.count("```python") == shown.count("```") / 2
    assert fitted("turn", "```\nopen", 100) == "```\nopen\n```"


def test_one_long_line_has_its_ends() -> None:
    shown = fitted("tool_output", "a" * 5_000 + "b" * 5_000, 1_000)
    assert re.fullmatch("a{300,}…\n…b{300,}", shown)
    words = " ".join(f"word{n}" for n in range(3_000))
    shown = fitted("tool_output", words, 1_000)
    assert shown.startswith("word0 word1 ")
    assert shown.endswith(" word2998 word2999")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*HOSTILE, *LARGE])
def test_very_much_of_anything(kind: str, name: str) -> None:
    text = HOSTILE[name][:200_000] if name in HOSTILE else LARGE[name]
    check(text, fitted(kind, text, 4_000), 4_000)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["letters", "lines", "sentences"])
def test_a_million_characters(kind: str, name: str) -> None:
    check(HOSTILE[name], fitted(kind, HOSTILE[name], 50_000), 50_000)
