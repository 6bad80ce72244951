"""Fifty records of every kind, the same bytes on every run, and a folder to break them in."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.capture import line
from holdfast.engines.files import FileLog
from holdfast.engines.files.pieces import Piece
from holdfast.model.events import Damage
from tests.contract.entries import WHEN, file_log

_SHM = "/dev/shm" if os.path.isdir("/dev/shm") else None
_VARIED: list[object] = [
    {"text": "plain words"},
    {"text": "Grüße, 世界, 🌍, e\u0301, \u2028 and \u0085"},
    {"text": 'quotes " and \\ and \n\r\t and \x00\x1f'},
    {"deep": [[[[{"a": [1, 2.5, -0.0, None, True, {"b": {}}]}]]]]},
    {"crc": "deadbeef", "event_seq": 7, "v": 2},
    {"text": '{"v":2,"event_seq":3,"event_id":"no"'},
    {"nested": {"x": 1, "crc": "00000000"}, "z": {"y": 1, "crc": "ffffffff"}},
    {},
]


def record(seq: int, payload: object, event_id: str | None = None, version: int = 2) -> bytes:
    """One line as the engine writes it, without its newline."""
    fields = line.middle(
        (
            event_id or f"evt-{seq:04d}",
            f"ses-{seq % 3}",
            "cöder",
            f"u{seq % 3}",
            "user_message@1",
            WHEN,
            "user",
            3,
            ("evt-0001",) if seq % 5 == 0 else (),
        )
    )
    body = b'{"v":%d,"event_seq":%d%b,"payload":%b' % (
        version,
        seq,
        fields,
        line.canonical(payload),
    )
    return sealed(body)


def sealed(body: bytes) -> bytes:
    """A record's bytes with the checksum they need."""
    from zlib import crc32

    return b'%b,"crc":"%08x"}' % (body, crc32(body))


def fifty() -> list[bytes]:
    """The golden records, seqs 1 to 50."""
    made = []
    for seq in range(1, 51):
        payload = _VARIED[seq % len(_VARIED)]
        if seq % 17 == 0:
            payload = {"text": f"a longer text, {seq}. " * 25}
        made.append(record(seq, payload))
    return made


def joined(records: list[bytes]) -> bytes:
    """The records as a file."""
    return b"".join(each + b"\n" for each in records)


@contextmanager
def folder_with(data: bytes, name: str = "events.ndjson") -> Iterator[tuple[FileLog, Path]]:
    """A log whose one segment holds these bytes."""
    with tempfile.TemporaryDirectory(prefix="holdfast-corpus-", dir=_SHM) as place:
        log = file_log(Path(place) / "log")
        path = Path(log.folder) / name
        path.write_bytes(data)
        yield log, path
        log.close()


def met(log: FileLog, after: int = 0) -> tuple[list[bytes], list[Damage]]:
    """The records and the damage a reader meets, as bytes."""
    records, damage = [], []
    for piece in log.found(after):
        if isinstance(piece, Piece):
            records.append(piece.record)
        else:
            damage.append(piece)
    return records, damage
