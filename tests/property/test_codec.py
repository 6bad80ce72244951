"""The codec against anything: what goes in comes out, in one form, and records are found in rubble."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.capture import line
from holdfast.capture.redact import Redactor
from holdfast.capture.shape import Shaper
from tests.contract.entries import entry, events_of, file_log
from tests.corruption.golden import record
from tests.property.effort import examples

text = st.text(st.characters(codec="utf-8"), max_size=30)
tricky = text | st.sampled_from(
    [
        "v",
        "event_seq",
        "crc",
        "payload",
        '{"v":2,"event_seq":',
        ',"crc":"00000000"}',
        "\n",
        "\\",
        '"',
    ]
)
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | tricky,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(tricky, inner, max_size=4),
    max_leaves=12,
)
payloads = st.dictionaries(tricky, values, max_size=5).filter(lambda p: "_as_given" not in p)
fields = st.tuples(tricky, st.none() | tricky, tricky, st.none() | tricky, tricky, tricky, tricky)
START = b'{"v":2,"event_seq":'


def same(a: object, b: object) -> bool:
    """Equal, and of equal types at every depth: 1 is not 1.0 and not True."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def shuffled(value: Any, dice: Any) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        dice.shuffle(keys)
        return {key: shuffled(value[key], dice) for key in keys}
    return [shuffled(item, dice) for item in value] if isinstance(value, list) else value


@given(payloads, fields, st.integers(1, 10**17), st.lists(tricky, max_size=3))
def test_a_line_gives_back_what_went_into_it(
    payload: dict[str, Any], names: tuple[Any, ...], seq: int, sources: list[str]
) -> None:
    plain_id = ("evt-1", *names[1:])
    head = line.head(seq, line.middle((*plain_id, 3, sources)))
    made = line.close(b'%b,"payload":%b' % (head, line.canonical(payload)))
    assert made.count(b"\n") == 1
    assert line.whole(made[:-1])
    assert line.seq_and_id(made) == (seq, "evt-1")
    for said in (json.loads(made), msgspec.json.decode(made)):
        assert same(said["payload"], payload)
        assert [said[name] for name in line.FIELDS] == [*plain_id, 3, sources]
        assert (said["v"], said["event_seq"]) == (2, seq)


@given(payloads, st.randoms(use_true_random=False))
def test_equal_payloads_have_equal_bytes(payload: dict[str, Any], dice: Any) -> None:
    assert line.canonical(shuffled(payload, dice)) == line.canonical(payload)
    assert line.canonical(json.loads(line.canonical(payload))) == line.canonical(payload)
    assert line.canonical(msgspec.json.decode(line.canonical(payload))) == line.canonical(payload)


@given(payloads)
def test_no_payload_holds_what_a_record_starts_with(payload: dict[str, Any]) -> None:
    assert START not in line.canonical(payload)
    assert START not in line.canonical(
        {"v": 2, "event_seq": payload, "a": {"v": 2, "event_seq": 1}}
    )


@given(payloads)
def test_shaping_changes_nothing_that_json_can_say(payload: dict[str, Any]) -> None:
    shaper = Shaper(Redactor(b"k" * 32), lambda chunks: ("0" * 64, sum(map(len, chunks))))
    assert shaper.shape(payload) == line.canonical(payload)


@settings(max_examples=examples(40))
@given(st.lists(payloads, min_size=1, max_size=8))
def test_a_file_gives_back_what_went_into_it(many: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        log = file_log(Path(place) / "log", segment_bytes=1_500)
        recorded = log.append([entry(payload=payload) for payload in many[:3]])
        recorded += [log.append([entry(payload=payload)])[0] for payload in many[3:]]
        log.close()
        again = file_log(Path(place) / "log")
        assert events_of(again) == recorded
        assert all(same(e.payload, p) for e, p in zip(recorded, many, strict=True))


pieces_of_records = st.sampled_from(
    [
        START,
        b'{"v":',
        b',"crc":"00000000"}',
        b'"payload":{',
        b"\n",
        b"\0" * 20,
        b'{"v":2,"event_seq":1,',
    ]
)
garbage = st.lists(st.binary(max_size=30) | pieces_of_records, max_size=5).map(b"".join)
planted = st.integers(1, 10**6).flatmap(
    lambda seq: payloads.map(lambda payload: record(seq, payload))
)


@given(st.lists(st.tuples(garbage, planted), max_size=6), garbage)
def test_exactly_the_planted_records_are_found_among_garbage(
    rows: list[tuple[bytes, bytes]], last: bytes
) -> None:
    data = b"".join(rubble + whole for rubble, whole in rows) + last
    found = list(line.spans(data))
    assert [data[a:b] for a, b, good in found if good] == [whole for _, whole in rows]
    assert b"".join(data[a:b] for a, b, _ in found) == data  # every byte is accounted for, once


@given(st.lists(planted, min_size=2, max_size=5), st.data())
def test_records_survive_the_tearing_of_their_neighbours(many: list[bytes], data: Any) -> None:
    torn = [whole[: data.draw(st.integers(0, len(whole) - 1))] for whole in many]
    rubble = b"".join(part + whole for part, whole in zip(torn, many, strict=True))
    assert [rubble[a:b] for a, b, good in line.spans(rubble) if good] == many
