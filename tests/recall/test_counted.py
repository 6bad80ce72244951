"""Counting the words of a question in passages: the same as cutting every passage into words."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.model.search import Passage
from holdfast.recall.score import _counted
from holdfast.text.stems import stem

ENDINGS = (
    *("", "s", "es", "ies", "ied", "ed", "ing", "y", "e", "er", "ly", "ness", "ment", "ion", "ful"),
    *(
        "ation",
        "ational",
        "ization",
        "ability",
        "ibility",
        "ivity",
        "ality",
        "ency",
        "ancy",
        "logy",
    ),
    *("ousness", "iveness", "fulness", "icate", "ative", "alize", "ical", "ence", "able", "ize"),
)
words = st.one_of(
    st.builds("".join, st.tuples(st.text("abehilnorstyz", max_size=5), st.sampled_from(ENDINGS))),
    st.text("aéß字1", min_size=1, max_size=4),
    st.sampled_from(["s", "i", "is", "ies", "hope", "hoping", "happy", "happiness", "a+b", "x.y"]),
).filter(bool)
texts = st.lists(words, max_size=12).map(" ".join)


@given(words)
@example("hoping")
@example("ays")
@example("s")
def test_a_word_begins_as_its_stem_does(word: str) -> None:
    made = stem(word)
    assert word.startswith(made[:-1] if len(made) > 1 and made[-1] in "eil" else made)


@given(
    st.lists(st.tuples(texts, texts), max_size=6),
    st.lists(words.map(stem), unique=True, max_size=5),
    st.sampled_from([0.0, 0.5, 1.0]),
)
@example([("s", ""), ("", "")], [""], 0.5)
def test_words_are_counted_as_if_every_passage_were_cut(
    said: list[tuple[str, str]], stems: list[str], worth: float
) -> None:
    passages = [Passage(start=0, text="", own=own, context=context) for own, context in said]
    counts, lengths = _counted(passages, stems, worth)
    cut = [([*map(stem, a.split())], [*map(stem, b.split())]) for a, b in said]
    expected = [[own.count(s) + worth * context.count(s) for s in stems] for own, context in cut]
    assert counts.shape == (len(said), len(stems))
    assert np.array_equal(counts, np.reshape(expected, counts.shape))
    assert lengths.tolist() == [len(own) + len(context) for own, context in cut]
