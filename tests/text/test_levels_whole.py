"""No level shows half of a word as if it were whole: a word is whole, or the mark stands at its cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.text.levels import Levels, fitted, levels, shown_as

URL = "https://api.internal.example.com/v2/customers/4711/invoices?from=2024-01-01&to=2024-12-31"
PATH = "src/holdfast/engines/embedders/transformer_quantised.py"
_EXACT = f"""
{URL} {URL * 3} {PATH} /usr/lib/python3.11/site-packages/shop/prices.py:12 ~/.config/shop .env --prune
-5 -0.25 1,204,331 3.14159265358979 9{"0123456789" * 4} 2024-01-01T12:30:00Z 12:30 C++ C# v1.2.3 #4711
{"x" * 100} {"abcdef" * 50} a_name_of_more_than_sixty_characters_that_nobody_would_ever_write_down
ana@example.com __init__ Result<T,E> 2aae6c35c94fcfb415dbe95f408b9ce91ee846ed 0x7ffd5e8f 50% $12.50
{"我们今天调试了登录流程" * 9} ENV=staging
"""
_PLAIN = """
the not never we decided because fixed deploy token session Ana Gomez PostgreSQL error: failed (see
below), "quoted words" `make deploy` However; result: TypeError: KeyError class def 。 - | and → Dr. e.g.
今天下雨
"""
_LINES = (
    "```python\ndef load(path):\n    return open(path, encoding='utf-8-sig').read()\n```",
    '```\nTraceback (most recent call last):\n  File "/app/src/shop.py", line 88\nKeyError: 4711\n```',
    f'{{"user": {{"id": 4711, "site": "{URL}"}}, "total": 1204331}}',
    "| name | cost |\n|---|---|\n| svc1 | 1,204 EUR |",
    "def with_tax(basket: Basket, rate: Decimal) -> Decimal:\n    return basket.total * rate",
    f"12:    path = '{PATH}'",
    "# A heading of some words",
    f"{PATH}:88:12: error: 'price_of_a_very_long_name' undeclared",
)
_word = st.sampled_from([*_EXACT.split(), *_PLAIN.split()])
_gap = st.sampled_from([" ", " ", " ", ", ", ". ", "\n", "\n\n"])
_said = st.lists(st.tuples(_word, _gap).map("".join), max_size=40).map("".join)
texts = st.lists(
    _said | st.sampled_from(_LINES).map(lambda line: f"\n{line}\n"), min_size=1, max_size=6
).map("".join)
_field = st.just("") | _word | _said
_fields = st.fixed_dictionaries(
    {},
    optional={
        "key": _field,
        "value": _field,
        "applies_to": _field,
        "title": _field,
        "trigger": _field,
        "steps": st.lists(_field, max_size=9),
    },
)

_PARTED = "\\s\"'`“”‘’«»()\\[\\]{}<>,;|=，。、；：！？「」『』（）…→"
#: how many are left out is said in words of our own
_COUNTED = re.compile(r"(?<=… )\d+ (?:lines|more like it)\b")


def stands(word: str, text: str) -> bool:
    """Whether a word is one of the text, with nothing beside it that makes it a part of a longer one."""
    beside = r"[.:!?*#~+\-@&/\\]*"
    end = rf"(?={beside}(?:[{_PARTED}]|$)|:(?!/))"
    start = rf"(?:^|[{_PARTED}]|:)(?:{beside})"
    return re.search(f"{start}{re.escape(word)}{end}", text) is not None


def half_words(level: str, text: str) -> list[str]:
    """The words of a level that are not whole in a text and have no mark at the place of the cut."""
    found = []
    for token in re.sub("[→。、，]", " ", _COUNTED.sub("", level)).split():
        for piece in re.finditer("[^…]+", token):
            word = piece[0].strip("\"'`“”‘’«»()[]{}<>*,;:.!?|=-#/\\")
            cut = "…" in (token[piece.start() - 1 : piece.start()], token[piece.end() :][:1])
            if word and not cut and not stands(word, text):
                found.append(word)
    return found


def each(found: Levels) -> tuple[str, ...]:
    """The levels below the first."""
    return found.summary, found.compressed, found.index


def test_what_half_a_word_is() -> None:
    assert half_words("https://api.internal", f"see {URL} now") == ["https://api.internal"]
    assert half_words("https://api.internal… see", f"see {URL} now") == []
    assert half_words("prices.py 12,00", "src/prices.py 12,004") == ["prices.py", "12,00"]
    assert half_words(f"see: {URL}", f"see {URL} now") == []


@given(st.sampled_from(["fact", "episode", "pattern", "workflow"]), texts | st.just(""), _fields)
@example("fact", "", {"key": "staging endpoint", "value": "https://api.internal.example.com/v2"})
@example("fact", "", {"key": "embedder path", "value": PATH})
def test_a_memory_shows_whole_words(kind: str, text: str, fields: dict[str, object]) -> None:
    found = levels(kind, text, **fields)  # type: ignore[arg-type]
    said = [text, *fields.get("steps", ())]  # type: ignore[misc]
    said += [one for one in fields.values() if isinstance(one, str)]
    for level in each(found):
        assert half_words(level, "\n".join(said)) == []
        assert "```" not in level


@given(st.sampled_from(["turn", "code", "tool_output", "document"]), texts)
def test_anything_else_shows_whole_words(kind: str, text: str) -> None:
    for level in each(shown_as(kind, text)):
        assert half_words(level, text) == []


@given(
    st.sampled_from(["turn", "code", "tool_output", "document"]),
    st.lists(texts, min_size=1, max_size=4).map("".join),
    st.integers(1, 900),
)
def test_what_is_fitted_shows_whole_words(kind: str, text: str, chars: int) -> None:
    assert half_words(fitted(kind, text, chars), text) == []


def test_a_value_that_fits_is_shown_whole() -> None:
    endpoint = "https://api.internal.example.com/v2/customers"
    assert levels("fact", "", key="staging endpoint", value=endpoint).compressed == (
        f"staging endpoint: {endpoint}"
    )
    assert (
        levels("fact", "", key="embedder path", value=PATH).compressed == f"embedder path: {PATH}"
    )
    said = levels("fact", f"The embedder lives in {PATH} and must not be moved by anybody at all.")
    assert PATH in said.compressed
    assert levels("fact", f"The staging endpoint of the shop is {URL}.").index == (
        "staging endpoint shop"
    )


def test_a_value_that_does_not_fit_is_cut_between_its_parts_and_marked() -> None:
    found = levels("fact", "", key="endpoint", value=URL)
    assert found.summary == f"endpoint: {URL}"
    assert found.compressed == (
        "endpoint: https://api.internal.example.com/v2/customers/4711/invoices?from=…"
    )


@pytest.mark.parametrize(
    "word", [".env", "--prune", "-5", "~/.config/shop", "/etc/hosts", "C++", "C#"]
)
@pytest.mark.parametrize("kind", ["fact", "episode"])
def test_marks_that_belong_to_a_word_stay(kind: str, word: str) -> None:
    text = f"After a while it was said that {word} is what they have used since the beginning of it all."
    assert word in levels(kind, text).compressed.split()
    assert word in shown_as("turn", text).compressed.split()


def test_a_shortened_step_has_a_mark() -> None:
    steps = ["make test", "make build", "make deploy ENV=staging REGION=eu-west-1"]
    found = levels("workflow", "", trigger="deploy", steps=steps)
    assert found.compressed == "deploy: make test→make build→make deploy …"
