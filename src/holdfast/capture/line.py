r"""One line, one event: how a record is written and how its wholeness is checked.

    {"v":2,"event_seq":17,"event_id":"…",…,"sources":[…],"payload":{…},"crc":"…"}

The header has a fixed order, the payload has its keys sorted at every depth, `crc` comes last and
covers every byte before it. Sorting does more than make equal payloads equal: no payload can hold
the bytes `{"v":2,"event_seq":`, because "event_seq" sorts before "v" and quotes inside strings are
escaped. So that sequence starts a record and nothing else, and `spans` can find the records in any
stretch of damaged bytes: behind a torn write, across a lost newline, after a run of NULs.

Proven in tests/capture/test_line.py: round trip for arbitrary payloads, and every bit flip and every
truncation of a record is noticed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.encoder import encode_basestring as _quote
from zlib import crc32

#: The header between `event_seq` and `payload`, in its order.
FIELDS = (
    "event_id",
    "session_id",
    "agent",
    "user",
    "type",
    "timestamp",
    "origin",
    "trust",
    "sources",
)
_MIDDLE = "".join(f',"{name}":%s' for name in FIELDS)
_CRC_LENGTH = len(b',"crc":"00000000"}')

_START = re.compile(rb'\{"v":[0-9]{1,9},"event_seq":')
_END = re.compile(rb',"crc":"([0-9a-f]{8})"\}')
_SEQ = re.compile(rb'\{"v":[0-9]{1,9},"event_seq":([0-9]{1,18}),"event_id":"([^"\\]*)"')
_USER = re.compile(rb',"user":(null|"(?:[^"\\]|\\.)*")')
_LINK = re.compile(rb',"pd":"([0-9a-f]{64})","h":"([0-9a-f]{64})"')

_dumps = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode


def canonical(value: object) -> bytes:
    """The one JSON form of a value: sorted keys, no spaces, UTF-8."""
    return _dumps(value).encode("utf-8")


def middle(values: tuple[object, ...]) -> bytes:
    """The header fields of one event, in the order of FIELDS."""
    return (_MIDDLE % tuple(map(_field, values))).encode("utf-8")


def _field(value: object) -> str:
    if isinstance(value, str):
        return _quote(value)
    if value is None:
        return "null"
    return str(value) if isinstance(value, int) else _dumps(value) if value else "[]"


def head(seq: int, fields: bytes) -> bytes:
    """The start of a record up to, and without, its chain and payload."""
    return b'{"v":2,"event_seq":%d%b' % (seq, fields)


def close(body: bytes) -> bytes:
    """A record's bytes up to its crc, made a whole line."""
    return body + b',"crc":"%08x"}\n' % crc32(body)


def record(seq: int, fields: bytes, payload: bytes) -> bytes:
    """A whole line: `fields` is the header from event_id on, with its chain where there is one."""
    body = b'{"v":2,"event_seq":%d%b,"payload":%b' % (seq, fields, payload)
    return body + b',"crc":"%08x"}\n' % crc32(body)


def whole(record: bytes) -> bool:
    """Is this exactly one record (without its newline), every byte as it was written?"""
    return placed(record) is not None


def placed(record: bytes) -> tuple[int, str] | None:
    """Place and name of a record, if every byte of it is as it was written."""
    cut = len(record) - _CRC_LENGTH
    if cut <= 0 or record[cut:] != b',"crc":"%08x"}' % crc32(memoryview(record)[:cut]):
        return None
    found = _SEQ.match(record)
    return (int(found[1]), found[2].decode("utf-8", "replace")) if found else None


def seq_and_id(record: bytes) -> tuple[int, str]:
    """Place and name of a whole record."""
    found = _SEQ.match(record)
    if found is None:
        raise ValueError("not a record")
    return int(found[1]), found[2].decode("utf-8", "replace")


def parts(record: bytes) -> tuple[bytes, bytes]:
    """A whole record's header and payload, as they were written."""
    head, _, rest = record.partition(b',"payload":')
    return head, rest[:-_CRC_LENGTH]


def is_of(record: bytes, kind: str) -> bool:
    """Is a whole record of this type? Asks its header only, whatever its payload says."""
    return b',"type":"%b@' % kind.encode() in parts(record)[0]


def crc_of(record: bytes) -> str:
    """The checksum a whole record carries."""
    return record[-10:-2].decode("ascii")


def spans(data: bytes) -> Iterator[tuple[int, int, bool]]:
    """Cut any bytes into whole records and what lies between: (start, end, is a record).

    One pass: the checksum is carried from one possible end of a record to the next, so bytes made
    to look like many ends cost no more than bytes that do not. Lazy: whoever wants the first record
    does not pay for the rest.
    """
    done = 0
    starts = _START.finditer(data)
    following = next(starts, None)
    while following is not None:
        start, following = following.start(), next(starts, None)
        end = _end_of_record(data, start, following.start() if following else len(data))
        if end:
            if start > done:
                yield done, start, False
            yield start, end, True
            done = end
    if done < len(data):
        yield done, len(data), False


def _end_of_record(data: bytes, start: int, bound: int) -> int:
    crc, done, end = 0, start, 0
    view = memoryview(data)
    for match in _END.finditer(data, start, bound):
        crc = crc32(view[done : match.start()], crc)
        done = match.start()
        if match[1] == b"%08x" % crc and _SEQ.match(data, start, match.end()):
            end = match.end()  # the last that fits: a payload may hold one that fits, too
    return end


def part_user(fields: bytes) -> tuple[bytes, bytes]:
    """The header without its user, and the user as JSON: a chain covers the two apart."""
    found = _USER.search(fields)
    if found is None:
        return fields, b"null"
    return fields[: found.start(1)] + fields[found.end(1) :], found[1]


def chain_of(record: bytes) -> tuple[str, str] | None:
    """A chained record's payload digest and link, or None."""
    found = _LINK.search(record)
    return (found[1].decode(), found[2].decode()) if found else None
