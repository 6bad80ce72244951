"""From the bytes of a whole record to an Event."""

from __future__ import annotations

import msgspec

from holdfast.model.events import Damage, Event

from .pieces import Piece

_event = msgspec.json.Decoder(Event)
_anything = msgspec.json.Decoder()


def decode(piece: Piece) -> Event | Damage:
    """The event in a record; what has another version passes through with its fields as payload."""
    try:
        return _event.decode(piece.record)
    except msgspec.ValidationError:
        return _of_another_version(piece)
    except (msgspec.DecodeError, RecursionError):
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
    )
