"""What every embedder keeps: unit rows, the same for the same text, for every text."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.engines.embedders import minilm
from holdfast.engines.embedders.minilm import MiniLM
from holdfast.engines.embedders.remote import Remote
from holdfast.engines.embedders.static import Static
from holdfast.model.embed import EmbedSettings
from holdfast.ports.embed import ANY_NUMBER, Embedder
from tests.embedders.server import serving
from tests.property.effort import examples

WORDS = (
    *("the", "cat", "sat", "on", "a", "mat;", "Ana", "bought", "3", "pears", "in", "Łódź"),
    *("漢字", "😀", "def", "f(x):", "return", "x"),
)
SPOKEN = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)
ODD = SPOKEN | st.text(st.characters(codec=None, exclude_categories=()), max_size=60)
SAID = st.tuples(st.sampled_from(("", "user", "Ana", "\ud800")), ODD)

HOSTILE = (
    *(
        "\x00",
        "\ud800",
        "a\udfff b\ud800\udc00",
        "<s></s><unk>",
        "[CLS] [SEP] [MASK] [PAD]",
        "▁▁a▁ ",
    ),
    *(
        "\u202e\u200b\ufeff",
        "x" + "\u0301" * 5_000,
        "😀" * 5_000,
        "\r\n\t ",
        "  a   b  ",
        "{}" * 900,
    ),
    *("a" * 1_000_000, "ab " * 333_333, "\n" * 1_000_000, "漢" * 300_000),
)


@pytest.fixture(scope="module", params=["static", "minilm", "remote"])
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    if request.param == "static":
        yield Static()
    elif request.param == "minilm":
        if not minilm.available():
            pytest.skip("the extra minilm is not installed")
        yield MiniLM()
    else:
        with serving() as server:
            yield Remote(EmbedSettings(url=server.url, model="m", timeout_s=60), None)


def _no_word_is_common(word: str) -> float:
    return 0.0


def _check_rows(embedder: Embedder, said: list[tuple[str, str]]) -> None:
    rows = embedder.passages(said)
    assert rows.shape == (len(said), embedder.dims)
    assert rows.dtype == np.float32
    lengths = np.linalg.norm(rows, axis=1)
    for (_, text), length in zip(said, lengths, strict=True):
        if text.strip():
            assert abs(length - 1) < 1e-5, text[:50]
        else:
            assert length == 0, text[:50]


@given(said=st.lists(SAID, max_size=6))
@settings(max_examples=examples(25))
def test_every_row_is_of_unit_length_or_zero_for_nothing(
    embedder: Embedder, said: list[tuple[str, str]]
) -> None:
    _check_rows(embedder, said)


@given(said=st.lists(SAID, min_size=1, max_size=6))
@settings(max_examples=examples(25))
def test_a_text_has_the_same_vector_alone_and_among_others(
    embedder: Embedder, said: list[tuple[str, str]]
) -> None:
    together = embedder.passages(said)
    for place, one in enumerate(said):
        alone = embedder.passages([one])[0]
        assert np.abs(alone - together[place]).max() < 1e-4
    assert np.array_equal(together, embedder.passages(said)), "and the same again"


@given(text=ODD)
@settings(max_examples=examples(25))
def test_a_question_is_one_unit_vector_or_zeros(embedder: Embedder, text: str) -> None:
    vector = embedder.query(text, _no_word_is_common)
    assert vector.shape == (embedder.dims,)
    assert vector.dtype == np.float32
    length = np.linalg.norm(vector)
    assert abs(length - 1) < 1e-5 or (length == 0 and not any(map(str.isalnum, text)))
    assert np.array_equal(vector, embedder.query(text, _no_word_is_common))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_is_refused(embedder: Embedder, text: str) -> None:
    _check_rows(embedder, [("", text), ("user", text)])
    assert np.isfinite(embedder.query(text, _no_word_is_common)).all()


def test_nothing_gives_no_rows(embedder: Embedder) -> None:
    assert embedder.passages([]).shape == (0, embedder.dims)


def test_what_says_the_same_is_closer_than_what_does_not(embedder: Embedder) -> None:
    passages = [
        ("ana", "My dog is ill and we went to the vet this morning"),
        ("ben", "The build fails because the compiler is too old"),
        ("ana", "For dinner I baked bread with olives and cheese"),
    ]
    rows = embedder.passages(passages)
    questions = [
        "Who went to the vet with an ill dog?",
        "Why is it that the build fails with an old compiler?",
        "Was there bread for dinner, with cheese?",
    ]
    for place, question in enumerate(questions):
        assert (rows @ embedder.query(question, _no_word_is_common)).argmax() == place


def test_who_speaks_counts(embedder: Embedder) -> None:
    ana, ben = embedder.passages([("Ana", "I like pears"), ("Ben", "I like pears")])
    assert not np.array_equal(ana, ben)
    question = embedder.query("What does Ana like?", _no_word_is_common)
    assert ana @ question > ben @ question


def test_threads_get_what_one_gets(embedder: Embedder) -> None:
    said = [("", f"{word} {word} and more") for word in WORDS]
    wanted = embedder.passages(said)
    with ThreadPoolExecutor(4) as threads:
        for rows in threads.map(lambda _: embedder.passages(said), range(8)):
            assert np.array_equal(rows, wanted)


def test_a_name_ends_in_the_width(embedder: Embedder) -> None:
    assert embedder.name.endswith(f"-{embedder.dims}")
    assert embedder.name.isprintable()


def test_only_the_static_one_never_makes_a_reader_wait(embedder: Embedder) -> None:
    assert (embedder.at_once == ANY_NUMBER) == isinstance(embedder, Static)
    assert embedder.at_once == 0 or not isinstance(embedder, Remote)
