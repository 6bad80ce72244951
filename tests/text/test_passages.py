"""Passages and sentences: nothing is lost, none is too long, and a cut falls where a reader pauses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.passages import split
from holdfast.text.sentences import sentences
from tests.text.strange import HOSTILE, texts


@given(texts, st.integers(1, 40))
def test_joined_the_passages_are_the_text(text: str, most: int) -> None:
    passages = split(text, most)
    if text.strip():
        assert "".join(piece for _, piece in passages) == text
    else:
        assert passages == []
    for start, piece in passages:
        assert 0 < len(piece) <= most
        assert text[start : start + len(piece)] == piece


@given(
    st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=40), st.integers(20, 60)
)
def test_no_word_is_cut_that_fits_into_half_a_passage(words: list[str], most: int) -> None:
    cut = [word for _, piece in split(" ".join(words), most) for word in piece.split()]
    assert cut == words


@pytest.mark.parametrize(
    ("text", "most", "pieces"),
    [
        ("One two.\nThree four five six", 16, ["One two.\n", "Three four five ", "six"]),
        ("Is it so? Yes it is now", 16, ["Is it so? ", "Yes it is now"]),
        ('He said "no." And left her', 20, ['He said "no." ', "And left her"]),
        ("first\nsecond. third fourth", 18, ["first\nsecond. ", "third fourth"]),
        ("今天下雨。明天也会下雨吗", 8, ["今天下雨。", "明天也会下雨吗"]),
        ("aaaaaaaaaa", 4, ["aaaa", "aaaa", "aa"]),
        ("a bbbbbbbbb", 6, ["a bbbb", "bbbbb"]),
        ("short", 400, ["short"]),
        ("ab", 0, ["a", "b"]),
    ],
)
def test_where_the_cuts_fall(text: str, most: int, pieces: list[str]) -> None:
    assert [piece for _, piece in split(text, most)] == pieces


@given(texts)
def test_sentences_hold_every_character_but_white_space(text: str) -> None:
    found = sentences(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    for sentence in found:
        assert sentence
        assert sentence == " ".join(sentence.split())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Smith met J. Doe. They spoke.", ["Dr. Smith met J. Doe.", "They spoke."]),
        ("Use a list, e.g. this. Done.", ["Use a list, e.g. this.", "Done."]),
        ("first line\nsecond line", ["first line", "second line"]),
        ("v1.2.3 is out. go", ["v1.2.3 is out. go"]),
        ("今天下雨。明天呢？好", ["今天下雨。", "明天呢？", "好"]),
        ('She said "no." He left.', ['She said "no."', "He left."]),
        (" \n ", []),
    ],
)
def test_where_sentences_end(text: str, found: list[str]) -> None:
    assert sentences(text) == found


@pytest.mark.parametrize("name", HOSTILE)
def test_a_million_characters_of_anything(name: str) -> None:
    text = HOSTILE[name]
    assert sum(len(piece) for _, piece in split(text)) == (len(text) if text.strip() else 0)
    assert len("".join(sentences(text))) <= len(text)
