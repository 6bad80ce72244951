"""Reading what somebody else wrote: whatever the bytes are, something comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.capture.line import canonical
from holdfast.capture.parse import NOTES, nesting, parse
from holdfast.capture.redact import Redactor
from holdfast.capture.shape import Shaper


def shaped(data: bytes) -> dict[str, Any]:
    """What a hook would record of these bytes."""
    payload, notes = parse(data)
    shaper = Shaper(Redactor(b"k" * 32), lambda chunks: ("0" * 64, sum(map(len, chunks))))
    made = json.loads(shaper.shape(payload, notes))
    assert isinstance(made, dict)
    return made


def check(data: bytes, expected: object, *why: str) -> None:
    payload, notes = parse(data)
    assert payload == expected
    assert [note["why"] for note in notes] == list(why)


def test_an_object_is_itself() -> None:
    check(
        b'{"a": [1, 2.5, "\xc3\xa9", null, true, {"b": {}}]}',
        {"a": [1, 2.5, "é", None, True, {"b": {}}]},
    )


def test_what_is_not_json_comes_back_as_it_is() -> None:
    for data in [
        b"",
        b" ",
        b"\0",
        b"hello",
        b'{"a":',
        b"{'a': 1}",
        b'{"a": 1}}',
        b"\xff\xfe",
        b"nul",
    ]:
        check(data, {"raw": data}, "not_json")


def test_what_is_not_an_object_comes_back_as_its_value() -> None:
    for data, value in [(b"1", 1), (b'"x"', "x"), (b"[1]", [1]), (b"null", None), (b"true", True)]:
        check(data, {"raw": value}, "not_an_object")


def test_a_byte_order_mark_is_not_part_of_the_json() -> None:
    check(b'\xef\xbb\xbf{"a": 1}', {"a": 1})


def test_of_two_values_with_one_key_the_last_counts_and_the_first_is_noted() -> None:
    payload, notes = parse(b'{"a": 1, "b": {"c": [1], "c": 2}, "a": 3}')
    assert payload == {"a": 3, "b": {"c": 2}}
    assert notes == [
        {"why": "duplicate_key", "key": "c", "dropped": [1]},
        {"why": "duplicate_key", "key": "a", "dropped": 1},
    ]


@pytest.mark.parametrize("deep", [65, 1_000, 100_000, 1_000_000])
def test_deep_nesting_is_kept_as_bytes(deep: int) -> None:
    for opened, closed in [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")]:
        data = b'{"a":' + opened * deep + b"1" + closed * deep + b"}"
        check(data, {"raw": data}, "too_deep")
    unclosed = b"[" * deep
    assert parse(unclosed)[0] == {"raw": unclosed}


def test_brackets_inside_strings_are_no_nesting() -> None:
    check(b'{"a": "' + b"[{" * 1000 + b'"}', {"a": "[{" * 1000})
    check(b'{"a": "\\"' + b"[" * 1000 + b'\\\\"}', {"a": '"' + "[" * 1000 + "\\"})
    assert nesting(b"[" * 100, 64) == 65


def test_a_number_of_many_digits_is_kept_as_text() -> None:
    digits = "9" * 5_000
    payload, notes = parse(b'{"n": %b, "m": %d}' % (digits.encode(), 2**70))
    assert payload == {"n": digits, "m": 2**70}
    assert [note["why"] for note in notes] == ["big_integer"]


def test_what_json_forbids_and_python_reads_is_noted_when_it_is_recorded() -> None:
    made = shaped(b'{"a": NaN, "b": [Infinity, -Infinity]}')
    assert made["a"] == "nan"
    assert [note["why"] for note in made["_as_given"]] == ["not_finite"] * 3


def test_a_number_too_large_for_a_float_can_be_had_back() -> None:
    assert "1e999" in json.dumps(shaped(b'{"a": 1e999}'))


def test_bytes_that_are_not_utf8_can_be_had_back_exactly() -> None:
    from base64 import b64decode

    made = shaped(b'{"a": "x\x80y"}')
    (note,) = made["_as_given"]
    assert b64decode(note["base64"]) == b"x\x80y"


def test_an_escaped_lone_surrogate_can_be_told_from_a_bad_byte() -> None:
    assert shaped(b'{"a": "\\udc80"}')["_as_given"] != shaped(b'{"a": "\x80"}')["_as_given"]


hostile = st.one_of(
    st.binary(max_size=200),
    st.text('[]{}",:\\u0123456789abcdefNaInty.eE+- \n\t', max_size=80).map(str.encode),
    st.lists(
        st.sampled_from(
            [
                b"{",
                b"}",
                b"[",
                b"]",
                b'"',
                b"\\",
                b":",
                b",",
                b"1",
                b'"a"',
                b"\xff",
                b"e9",
                b"\\ud800",
                b"_as_given",
                b"\xef\xbb\xbf",
                b"NaN",
            ]
        ),
        max_size=40,
    ).map(b"".join),
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(hostile)
@example(b"[" * 64 + b"]" * 64)
def test_no_bytes_make_it_raise(data: bytes) -> None:
    payload, notes = parse(data)
    assert isinstance(payload, dict)
    assert all(isinstance(note["why"], str) for note in notes)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")).filter(NOTES.__ne__), anything))
def test_what_was_json_comes_back_as_it_was(value: dict[str, object]) -> None:
    data = json.dumps(value).encode()
    payload, notes = parse(data)
    assert json.dumps(payload) == json.dumps(value)
    assert notes == []


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 64 + b"]" * 64,
        b'{"a":' + b"[" * 63 + b"]" * 63 + b',"a":1}',
        b'{"\\ud800": 1, "\\ud801": 2}',
        b'{"_as_given": 1}',
        b'{"\\ud800": 1, "\\ufffd": 2}',
    ],
    ids=[
        "a list as deep as allowed",
        "a dropped value as deep as allowed",
        "two keys of lone surrogates",
        "the reserved key",
        "a key that looks like a mended one",
    ],
)
def test_what_parse_gives_the_shaper_takes(data: bytes) -> None:
    assert canonical(shaped(data))


@given(hostile)
def test_whatever_a_hook_reads_can_be_recorded(data: bytes) -> None:
    assert canonical(shaped(data))
