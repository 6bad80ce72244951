"""From the bytes of a whole record to an Event."""

from __future__ import annotations

import re
from typing import Any
from zlib import crc32

import msgspec

from holdfast.capture.parse import NOTES
from holdfast.model.events import Damage, Event

from .pieces import Piece

_event = msgspec.json.Decoder(Event)
_anything = msgspec.json.Decoder()
_DIGEST = re.compile(r"[0-9a-f]{64}")


def decode(piece: Piece) -> Event | Damage:
    """The event in a record; what has another version passes through with its fields as payload."""
    try:
        return _event.decode(piece.record)
    except msgspec.ValidationError:
        return _of_another_version(piece)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _unreadable(piece)


def _of_another_version(piece: Piece) -> Event | Damage:
    try:
        fields = _anything.decode(piece.record)
        return Event(
            v=int(fields["v"]),
            event_seq=piece.seq,
            event_id=str(fields["event_id"]),
            type=str(fields.get("type", "")),
            payload=fields,
            crc=str(fields["crc"]),
        )
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, RecursionError):
        return _unreadable(piece)


def _unreadable(piece: Piece) -> Damage:
    return Damage(
        reason="unreadable",
        segment=piece.segment,
        offset=piece.offset,
        length=len(piece.record),
        first_seq=piece.seq,
        last_seq=piece.seq,
        crc=f"{crc32(piece.record):08x}",
        after_seq=piece.seq - 1,
    )


def bodies_in(payload: Any) -> set[str]:
    """The bodies a payload's notes refer to; a note that is not one of ours refers to none."""
    notes = payload.get(NOTES) if isinstance(payload, dict) else None
    found = [n.get("blob") for n in notes if isinstance(n, dict)] if isinstance(notes, list) else []
    return {name for name in found if isinstance(name, str) and _DIGEST.fullmatch(name)}
