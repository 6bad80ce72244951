"""The codec of a record: one form, checked to the last bit, findable in any rubble."""

from __future__ import annotations

import json

import pytest

from holdfast.capture import line
from tests.corruption.golden import record, sealed

FIELDS = ("evt_1", "ses_1", "coder", "ana", "user_message@1", "2026-01-31T09:30:00.000Z", "user")


def written(payload: object = None, seq: int = 7) -> bytes:
    body = line.head(seq, line.middle((*FIELDS, 3, ["evt_0"])))
    return line.close(b'%b,"payload":%b' % (body, line.canonical(payload or {"text": "é"})))


def test_a_record_is_one_line_with_a_fixed_header_and_its_checksum_last() -> None:
    assert (
        written()
        == sealed(
            '{"v":2,"event_seq":7,"event_id":"evt_1","session_id":"ses_1","agent":"coder","user":"ana",'
            '"type":"user_message@1","timestamp":"2026-01-31T09:30:00.000Z","origin":"user","trust":3,'
            '"sources":["evt_0"],"payload":{"text":"é"}'.encode()
        )
        + b"\n"
    )


def test_a_record_is_json() -> None:
    said = json.loads(written({"b": 1, "a": {"d": None, "c": "\u2028\u0085\x7f"}}))
    assert said["payload"] == {"b": 1, "a": {"d": None, "c": "\u2028\u0085\x7f"}}
    assert list(said)[:2] == ["v", "event_seq"]
    assert list(said)[-1] == "crc"


def test_a_record_is_its_head_and_payload_closed() -> None:
    fields, payload = line.middle((*FIELDS, 3, ["evt_0"])), line.canonical({"text": "é"})
    closed = line.close(b'%b,"payload":%b' % (line.head(7, fields), payload))
    assert line.record(7, fields, payload) == closed


def test_no_text_ever_puts_a_newline_into_a_line() -> None:
    every = "".join(map(chr, [*range(0x300), 0x2028, 0x2029, 0xFEFF, 0x1F30D]))
    made = line.close(b'%b,"payload":%b' % (
        line.head(1, line.middle((every, every, every, every, every, every, every, 1, [every]))),
        line.canonical({every: [every]}),
    ))  # fmt: skip
    assert made.count(b"\n") == 1
    said = json.loads(made)
    assert said["agent"] == every
    assert said["payload"] == {every: [every]}


def test_every_flipped_bit_of_a_record_is_noticed() -> None:
    good = written({"text": "Grüße", "n": [1, {"crc": "00000000"}]})[:-1]
    assert line.whole(good)
    for at in range(len(good)):
        for bit in range(8):
            bad = bytearray(good)
            bad[at] ^= 1 << bit
            assert not line.whole(bytes(bad))
            assert not any(found for _, _, found in line.spans(bytes(bad)))


def test_every_shortened_or_lengthened_record_is_noticed() -> None:
    good = written({"text": "Grüße", "n": [1, {"crc": "00000000"}]})[:-1]
    for length in range(len(good)):
        assert not line.whole(good[:length])
        assert not line.whole(good[length + 1 :])
    for extra in (b" ", b"\n", b"\0", b"}", b","):
        assert not line.whole(good + extra)
        assert not line.whole(extra + good)
    assert not line.whole(b"")


def test_place_and_name_of_a_record_are_read_from_its_start() -> None:
    assert line.seq_and_id(written(seq=123456)) == (123456, "evt_1")
    with pytest.raises(ValueError, match="not a record"):
        line.seq_and_id(b'{"v":2}')


def test_the_checksum_of_a_record_is_read_from_its_end() -> None:
    record_bytes = written()[:-1]
    assert line.crc_of(record_bytes) == json.loads(record_bytes)["crc"]


def test_the_user_is_parted_from_the_header_and_from_nothing_else() -> None:
    for user in ["ana", None, 'a"b', "\\", 'x,"user":"y"', "ü"]:
        fields = line.middle(("e", 'x,"user":null', ',"user":"agent"', user, "t", "w", "o", 1, []))
        rest, said = line.part_user(fields)
        assert json.loads(said) == user
        assert rest == fields.replace(b',"user":' + said + b',"type"', b',"user":,"type"')


def test_a_link_is_read_from_a_chained_record_only() -> None:
    assert line.chain_of(written()) is None
    assert line.chain_of(written({"pd": "a" * 64, "h": "b" * 64})) is None
    chained = b',"salt":"00","pd":"%b","h":"%b","payload":{}' % (b"a" * 64, b"b" * 64)
    assert line.chain_of(b'{"v":2,"event_seq":1' + chained) == ("a" * 64, "b" * 64)


# ---- finding records ----------------------------------------------------------------------------


def test_spans_of_nothing_are_nothing() -> None:
    assert list(line.spans(b"")) == []
    assert list(line.spans(b"no record here")) == [(0, 14, False)]


def test_spans_find_a_record_behind_its_own_torn_copies() -> None:
    good = record(3, {"text": "x"})
    for cut in range(len(good)):
        found = list(line.spans(good[:cut] + good))
        assert found[-1] == (cut, cut + len(good), True)
        assert [good for _, _, good in found] == ([False] if cut else []) + [True]


def test_bytes_made_to_look_like_many_ends_cost_no_more_than_others() -> None:
    start = b'{"v":2,"event_seq":1,"event_id":"x"'
    rubble = (start + b',"crc":"00000000"}' * 20) * 5_000  # two megabytes of ends
    assert list(line.spans(rubble)) == [(0, len(rubble), False)]
    long = start + b',"crc":"00000000"}' * 100_000
    assert list(line.spans(long)) == [(0, len(long), False)]


def test_a_record_whose_payload_holds_a_checksum_that_fits_is_read_to_its_end() -> None:
    """A payload may be made so that the bytes before it have the checksum it names."""
    from zlib import crc32

    body = line.head(1, line.middle((*FIELDS, 3, []))) + b',"payload":{"a":"x"'
    whole = sealed(b'%b,"crc":"%08x"}' % (body, crc32(body)))
    assert json.loads(whole)["payload"] == {"a": "x", "crc": f"{crc32(body):08x}"}
    assert line.whole(whole)
    assert list(line.spans(whole)) == [(0, len(whole), True)]
