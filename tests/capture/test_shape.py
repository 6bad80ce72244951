"""Anything a caller hands in: kept as it is, or kept readable with its original, or refused by name."""

from __future__ import annotations

import enum
import io
import json
import math
import os
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.capture.blob import blob_path, keep_blob
from holdfast.capture.disk import Disk
from holdfast.capture.redact import Redactor
from holdfast.capture.shape import Limits, Shaper, TooDeep, Unfit
from tests.record.canaries import anthropic, github, leaks, private_key

KEY = b"k" * 32


class Kept:
    """A shaper and the bodies it gave away."""

    def __init__(self, **limits: int) -> None:
        self.bodies: dict[str, bytes] = {}
        self.redactor = Redactor(KEY)
        self.shaper = Shaper(self.redactor, self.keep, Limits(**limits))

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        from hashlib import sha256

        body = b"".join(chunks)
        digest = sha256(body).hexdigest()
        self.bodies[digest] = body
        return digest, len(body)

    def __call__(self, payload: dict[Any, Any], notes: list[Any] | None = None) -> dict[str, Any]:
        data = self.shaper.shape(payload, notes)
        shaped = json.loads(data)
        assert isinstance(shaped, dict)
        return shaped


def shape(value: object) -> tuple[object, list[dict[str, Any]]]:
    made = Kept()({"v": value})
    return made["v"], made.get("_as_given", [])


def unchanged(value: object) -> None:
    assert shape(value) == (value, [])


# ---- as it is -----------------------------------------------------------------------------------


def test_what_json_can_say_is_kept_as_it_is() -> None:
    for value in [
        None, True, False, 0, -1, 2**53, -(2**53), 1.5, -0.0, 1e308, 5e-324, "", "text", [], {},
        [[], {}, [None]], {"a": {"b": [1, "c"]}}, "é \U0001f30d e\u0301",
    ]:  # fmt: skip
        unchanged(value)


def test_marks_that_other_programs_take_for_line_ends_are_kept() -> None:
    for text in ["a\r\nb", "a\rb", "a\u2028b", "a\u2029b", "a\x85b", "a\x0bb\x0cc", "\x1c\x1d\x1e"]:
        unchanged(text)


def test_nul_and_every_control_character_are_kept() -> None:
    unchanged("".join(map(chr, range(32))) + "\x7f\x80\x9f")


def test_a_byte_order_mark_in_a_text_is_kept() -> None:
    unchanged("\ufeffhello")
    assert shape(b"\xef\xbb\xbfhello") == ("\ufeffhello", [])


def test_bytes_that_are_text_become_text() -> None:
    for value in [b"hello", bytearray(b"hello"), memoryview(b"hello")]:
        assert shape(value) == ("hello", [])


def test_tuples_become_lists_and_paths_become_text() -> None:
    assert shape((1, (2,))) == ([1, [2]], [])
    assert shape(Path("/tmp/x")) == ("/tmp/x", [])


def test_equal_payloads_have_equal_bytes_whatever_the_order_of_their_keys() -> None:
    keys = ["b", "a", "é", "\U0001f30d", "Z", "", "10", "9"]
    forwards: dict[str, object] = {k: dict.fromkeys(keys, 1) for k in keys}
    backwards: dict[str, object] = {k: dict.fromkeys(reversed(keys), 1) for k in reversed(keys)}
    assert Kept().shaper.shape(forwards) == Kept().shaper.shape(backwards)


class Colour(enum.StrEnum):
    RED = "red"


class Size(enum.IntEnum):
    BIG = 7


class Name(str):
    def __str__(self) -> str:
        return "shown otherwise"


def test_a_subclass_is_kept_by_its_value_and_not_by_how_it_shows_itself() -> None:
    assert shape(Colour.RED) == ("red", [])
    assert shape(Size.BIG) == (7, [])
    assert shape(Name("given")) == ("given", [])
    assert Kept()({Colour.RED: 1}) == {"red": 1}


# ---- readable, with the original in a note ------------------------------------------------------


def test_large_integers_become_text_that_is_the_same_number() -> None:
    for value in [2**53 + 1, -(2**53) - 1, 2**64, 10**100, -(10**4000)]:
        text, notes = shape(value)
        assert isinstance(text, str)
        assert int(text) == value
        assert notes == [{"path": "/v", "why": "big_integer"}]


def test_an_integer_beyond_the_limit_for_decimal_digits_is_kept_in_hex() -> None:
    value = 10**5000 + 7
    text, notes = shape(value)
    assert isinstance(text, str)
    assert int(text, 16) == value
    assert notes[0]["why"] == "big_integer"


def test_numbers_that_are_not_finite_become_text_that_reads_back() -> None:
    for value in [math.inf, -math.inf, math.nan]:
        text, notes = shape(value)
        assert isinstance(text, str)
        assert repr(float(text)) == repr(value)
        assert notes == [{"path": "/v", "why": "not_finite"}]


def exact(notes: list[dict[str, Any]]) -> bytes:
    (note,) = notes
    return b64decode(note["base64"])


def test_a_lone_surrogate_is_replaced_and_the_exact_text_noted() -> None:
    for value in ["\ud800", "a\udfffb", "\ud83d\ude00", "\udc80", "x" * 100 + "\ud8ff"]:
        text, notes = shape(value)
        assert isinstance(text, str)
        text.encode("utf-8")
        assert notes[0]["why"] == "lone_surrogate"
        assert exact(notes).decode("utf-8", "surrogatepass") == value


def test_bytes_that_are_not_text_are_replaced_and_the_exact_bytes_noted() -> None:
    for value in [
        b"\xff",
        b"a\x80b",
        b"\xed\xa0\x80",
        b"\xc3",
        bytes(range(256)),
        b"\xf5\x80\x80\x80",
    ]:
        text, notes = shape(value)
        assert isinstance(text, str)
        assert "\ufffd" in text
        assert notes[0]["why"] == "invalid_utf8"
        assert exact(notes) == value


def test_a_note_points_to_its_place() -> None:
    made = Kept()({"a/b": [{"~": math.nan}, 2**70], "\ud800": "\ud801"})
    paths = [note["path"] for note in made["_as_given"]]
    assert paths[:2] == ["/a~1b/0/~0", "/a~1b/1"]
    assert all(path.startswith("/\ufffd") for path in paths[2:])


def test_a_key_with_a_lone_surrogate_is_replaced_and_noted() -> None:
    made = Kept()({"a\ud800": 1})
    assert made["a\ufffd"] == 1
    assert exact(made["_as_given"]).decode("utf-8", "surrogatepass") == "a\ud800"


def test_notes_of_the_caller_come_first() -> None:
    made = Kept()({"n": math.inf}, [{"why": "duplicate_key", "key": "n", "dropped": 2**60}])
    assert [note["why"] for note in made["_as_given"]] == [
        "duplicate_key",
        "not_finite",
        "big_integer",
    ]
    assert made["_as_given"][0]["dropped"] == str(2**60)


def test_keys_that_are_not_text_become_text() -> None:
    made = Kept()({1: "a", None: "b", 2.5: "c", "t": "d"})
    assert {note["why"] for note in made.pop("_as_given")} == {"key_not_text"}
    assert made == {"1": "a", "None": "b", "2.5": "c", "t": "d"}


# ---- refused ------------------------------------------------------------------------------------


def refused(payload: dict[Any, Any], place: str, kind: type[Exception] = Unfit) -> None:
    with pytest.raises(kind) as caught:
        Kept()(payload)
    assert place in str(caught.value)


def test_what_json_cannot_say_is_refused_with_its_place() -> None:
    refused({"a": [1, {"b": {1, 2}}]}, "/a/1/b is a set")
    refused({"a": object()}, "/a is a object")
    refused({"a": 1j}, "/a is a complex")
    refused({"a/b": print}, "/a~1b is a builtin")
    refused({"a": {(1, 2): 3}}, "a key must be text, not tuple")
    refused({b"a": 3}, "a key must be text, not bytes")


def test_keys_that_meet_as_text_are_refused() -> None:
    refused({1: "a", "1": "b"}, "/1 is named twice")
    refused({"x": {None: 1, "None": 2}}, "/x/None is named twice")


def test_the_reserved_key_is_refused() -> None:
    refused({"_as_given": []}, "/_as_given is a reserved key")
    assert Kept()({"inner": {"_as_given": 1}}) == {"inner": {"_as_given": 1}}


def test_nesting_is_kept_to_the_limit_and_refused_beyond() -> None:
    def nested(depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for _ in range(depth - 1):
            value = {"a": value}
        return value

    assert Kept()(nested(64)) == nested(64)
    refused(nested(65), "nested deeper than 64", TooDeep)
    refused(nested(100_000), "nested deeper than 64", TooDeep)
    refused({"l": json.loads("[" * 64 + "]" * 64)}, "/l/0/0", TooDeep)


def test_a_cycle_is_refused_and_not_followed_for_ever() -> None:
    cycle: dict[str, Any] = {}
    cycle["again"] = [cycle, cycle]
    refused(cycle, "/again/0/again/0", TooDeep)
    ring: list[Any] = []
    ring += [ring, ring, ring]
    refused({"r": ring}, "/r/0/0", TooDeep)


# ---- too large ----------------------------------------------------------------------------------


def big(value: object, **limits: int) -> tuple[str, dict[str, Any], bytes]:
    kept = Kept(text_chars=1000, edge_chars=50, **limits)
    made = kept({"text": value})
    (note,) = made["_as_given"]
    return made["text"], note, kept.bodies[note["blob"]]


def test_a_long_text_keeps_its_edges_and_its_body_is_the_whole() -> None:
    text = "".join(f"line {n} é\n" for n in range(500))
    for given_as in [text, text.encode(), io.BytesIO(text.encode()), io.StringIO(text)]:
        shown, note, body = big(given_as)
        assert shown.startswith(text[:50])
        assert shown.endswith(text[-50:])
        assert note["blob"] in shown
        assert (note["path"], note["why"], note["bytes"]) == ("/text", "too_large", len(body))
        assert (shown[: note["head"]], shown[-note["tail"] :]) == (text[:50], text[-50:])
        assert body == text.encode()


def test_long_bytes_that_are_not_text_are_kept_exactly() -> None:
    data = bytes(range(256)) * 20
    for given_as in [data, bytearray(data), io.BytesIO(data)]:
        shown, _, body = big(given_as)
        assert body == data
        shown.encode("utf-8")


def test_a_long_text_with_lone_surrogates_is_kept_exactly() -> None:
    text = "a\ud800b\udfff" * 1000
    _, _, body = big(text)
    assert body.decode("utf-8", "surrogatepass") == text
    _, _, streamed = big(io.StringIO(text))
    assert streamed.decode("utf-8", "surrogatepass") == text


def test_a_character_cut_by_the_chunk_of_a_stream_is_whole() -> None:
    class Dribble(io.RawIOBase):
        def __init__(self, data: bytes) -> None:
            self.rest = data

        def read(self, size: int = -1) -> bytes:
            given, self.rest = self.rest[:3], self.rest[3:]
            return given

    text = "aé\U0001f30d" * 700
    _, note, body = big(Dribble(text.encode()))
    assert body == text.encode()
    assert note["why"] == "too_large"


def test_a_short_stream_is_kept_whole_one_way_or_the_other() -> None:
    kept = Kept()
    made = kept({"text": io.BytesIO(b"short")})
    bodies = [kept.bodies[note["blob"]] for note in made.get("_as_given", ())]
    assert made["text"] == "short" or bodies == [b"short"]


def test_a_payload_too_large_as_a_whole_becomes_one_body() -> None:
    kept = Kept(payload_bytes=2_000, edge_chars=100)
    payload = {f"k{n}": "x" * 50 for n in range(100)}
    made = kept(payload)
    (note,) = made["_as_given"]
    assert json.loads(kept.bodies[note["blob"]]) == payload
    assert (note["path"], note["why"]) == ("", "too_large")


def test_no_body_of_a_payload_is_forgotten_when_the_payload_becomes_one() -> None:
    kept = Kept(text_chars=500, payload_bytes=2_000, edge_chars=100)
    made = kept({"long": "y" * 600, **{f"k{n}": "x" * 50 for n in range(100)}})
    named = {note["blob"] for note in made["_as_given"] if "blob" in note}
    assert named == set(kept.bodies)


def test_a_blob_is_named_by_its_hash_and_kept_once(tmp_path: Path) -> None:
    first = keep_blob(Disk(), str(tmp_path), [b"a", b"bc"])
    assert keep_blob(Disk(), str(tmp_path), [b"abc"]) == first
    path = Path(blob_path(str(tmp_path), first[0]))
    assert (path.read_bytes(), first[1]) == (b"abc", 3)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len([name for _, _, names in os.walk(tmp_path) for name in names]) == 1


def test_a_body_that_breaks_off_leaves_nothing_behind(tmp_path: Path) -> None:
    def breaks() -> Iterable[bytes]:
        yield b"some"
        raise RuntimeError("the source broke off")

    with pytest.raises(RuntimeError):
        keep_blob(Disk(), str(tmp_path), breaks())
    assert [name for _, _, names in os.walk(tmp_path) for name in names] == []


# ---- secrets ------------------------------------------------------------------------------------


def test_secrets_are_redacted_wherever_they_stand(tmp_path: Path) -> None:
    secrets = [
        github(),
        anthropic(),
        private_key(),
        github(),
        github(),
        github(),
        github(),
        github(),
    ]
    a, b, pem, in_key, in_bytes, in_bad, in_lone, in_note = secrets
    redactor = Redactor(KEY)
    shaper = Shaper(
        redactor, lambda c: keep_blob(Disk(), str(tmp_path), c), Limits(text_chars=2000)
    )
    data = shaper.shape(
        {
            "text": f"use {a} here",
            "deep": [{"x": [f"key={b}"]}],
            "pem": pem,
            f"key {in_key}": 1,
            "bytes": f"use {in_bytes}".encode(),
            "bad": b"\xff " + in_bad.encode() + b" \xfe",
            "lone": f"\ud800 {in_lone} \udfff",
            "long": "word " * 1000 + a + " word" * 1000,
            "stream": io.BytesIO(b"word " * 1000 + pem.encode() + b" word" * 1000),
        },
        [{"why": "duplicate_key", "key": in_note, "dropped": [f"t {in_note}"]}],
    )
    (tmp_path / "line").write_bytes(data)
    assert leaks(tmp_path, *secrets[:2], *pem.splitlines()[1:-1], *secrets[3:]) == []
    assert data.count(b"[redacted:") >= 8


@pytest.mark.parametrize("chunk", [1, 7, 64, 4096])
def test_a_secret_that_lies_across_the_chunks_of_a_stream_is_redacted(chunk: int) -> None:
    secret = anthropic()
    text = "word " * 300 + secret + "\n" + "word " * 300

    class Chunked(io.RawIOBase):
        def __init__(self) -> None:
            self.rest = text.encode()

        def read(self, size: int = -1) -> bytes:
            given, self.rest = self.rest[:chunk], self.rest[chunk:]
            return given

    shown, _, body = big(Chunked())
    assert secret not in shown
    assert secret.encode() not in body
    assert body.decode() == Redactor(KEY).text(text)


def test_a_blob_equals_the_redacted_text() -> None:
    text = "".join(f"line {n}: token={github()} and {'x' * (n % 90)}\n" for n in range(300))
    _, _, body = big(text)
    assert body.decode() == Redactor(KEY).text(text)


# ---- a hundred megabytes ------------------------------------------------------------------------

_HUNDRED = """
import io, json, resource, sys
from holdfast.capture.blob import keep_blob
from holdfast.capture.disk import Disk
from holdfast.capture.redact import Redactor
from holdfast.capture.shape import Shaper

LINE = "The quick brown fox jumps over the lazy dog, and says so in the log of the day.\\n"
COUNT = (100 << 20) // len(LINE)

class Stream:
    left = COUNT
    rest = b""
    def read(self, size):
        while len(self.rest) < size and self.left:
            n = min(self.left, 20_000)
            self.rest += (LINE * n).encode()
            self.left -= n
        given, self.rest = self.rest[:size], self.rest[size:]
        return given

redactor = Redactor(b"k" * 32)
shaper = Shaper(redactor, lambda chunks: keep_blob(Disk(), sys.argv[1], chunks))
shaper.shape({"text": io.BytesIO(b"warm " * 100_000)})
value = Stream() if sys.argv[2] == "stream" else LINE * COUNT
if sys.argv[2] == "bytes":
    value = value.encode()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = shaper.shape({"text": value})
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"grown": after - before, "line": len(data), "payload": json.loads(data)}))
"""


@pytest.mark.parametrize("how", ["stream", "str", "bytes"])
def test_a_hundred_megabytes_pass_in_little_memory(tmp_path: Path, how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _HUNDRED, str(tmp_path), how], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["grown"] < 64 << 10, "kilobytes"
    assert said["line"] < 20_000
    (note,) = said["payload"]["_as_given"]
    line = b"The quick brown fox jumps over the lazy dog, and says so in the log of the day.\n"
    assert note["bytes"] == (100 << 20) // len(line) * len(line)
    body = Path(blob_path(str(tmp_path), note["blob"]))
    with body.open("rb") as file:
        while chunk := file.read(len(line) * 10_000):
            assert chunk == line * (len(chunk) // len(line))
    body.unlink()


# ---- anything -----------------------------------------------------------------------------------

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(st.text(), anything, max_size=5))
def test_whatever_is_kept_is_json_and_every_note_has_a_reason(payload: dict[str, Any]) -> None:
    try:
        made = Kept()(payload)
    except Unfit:
        return
    for note in made.get("_as_given", ()):
        assert note["why"] in {"lone_surrogate", "invalid_utf8", "big_integer", "not_finite"}


plain_text = st.text(st.characters(codec="utf-8"), max_size=10)


@given(
    st.dictionaries(
        plain_text,
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**53), 2**53) | plain_text
            | st.floats(allow_nan=False, allow_infinity=False),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain_text, inner, max_size=4),
            max_leaves=15,
        ),
        max_size=5,
    ).filter(lambda payload: "_as_given" not in payload)
)  # fmt: skip
def test_what_json_can_say_comes_back_equal(payload: dict[str, Any]) -> None:
    made = Kept()(payload)
    assert json.dumps(made, sort_keys=True) == json.dumps(payload, sort_keys=True)
