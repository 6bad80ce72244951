"""The copy of a chunk that left: its words in one text, and every byte of its events beside them.

What always holds: the content of one event is its words and nothing else, that of several has each of
them under a line that says who speaks; `verbatim` gives back payloads and bodies as the log has them.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from holdfast.model.cold import ColdChunk, Copy, Part
from holdfast.model.events import Event
from holdfast.text.spoken import speaker

_BETWEEN = "\n\n"


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """One event, its words, and what of it is kept in bodies, by path."""

    event: Event
    text: str
    bodies: dict[str, bytes] = {}


def copy_of(chunk: ColdChunk, pieces: Sequence[Piece]) -> Copy:
    """The copy of a chunk; the same events give the same copy."""
    content, parts = "", []
    for piece in pieces:
        if len(pieces) > 1:
            content += f"{_BETWEEN if content else ''}[{speaker(piece.event)}]\n"
        start, content = len(content), content + piece.text
        parts.append(_part(piece, (start, len(content))))
    return Copy(
        chunk_id=chunk.id,
        session_id=chunk.session_id,
        timestamp=chunk.at,
        content=content,
        tokens=chunk.tokens,
        drop_reason=chunk.reason,
        relevance_score=chunk.score,
        prompt_at_drop=chunk.prompt,
        recoverable_until=chunk.until,
        sha256=digest(content),
        parts=tuple(parts),
    )


def _part(piece: Piece, span: tuple[int, int]) -> Part:
    event, payload = piece.event, piece.event.payload
    same = isinstance(payload, dict) and payload.get("text") == piece.text
    if same:
        payload = {name: value for name, value in payload.items() if name != "text"}
    words = piece.text.encode("utf-8", "surrogatepass")
    return Part(
        event_id=event.event_id,
        event_seq=event.event_seq,
        type=event.type,
        span=span,
        payload=payload,
        words=same,
        bodies={path: {} if body == words else _said(body) for path, body in piece.bodies.items()},
    )


def _said(body: bytes) -> dict[str, str]:
    try:
        return {"text": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": b64encode(body).decode()}


def verbatim(content: str, part: Part) -> tuple[Any, dict[str, bytes]]:
    """The payload and the bodies of one event, as they are in the log."""
    words = content[part.span[0] : part.span[1]]
    payload = {**part.payload, "text": words} if part.words else part.payload
    return payload, {path: _body(said, words) for path, said in part.bodies.items()}


def _body(said: dict[str, str], words: str) -> bytes:
    if "base64" in said:
        return b64decode(said["base64"])
    return said.get("text", words).encode("utf-8", "surrogatepass")


def encoded(copy: Copy) -> bytes:
    """A copy as the one line of its file."""
    return _line(replace(copy, record_sha256=_known_by(copy))) + b"\n"


def _known_by(copy: Copy) -> str:
    return sha256(_line(replace(copy, record_sha256=""))).hexdigest()


def _line(copy: Copy) -> bytes:
    return msgspec.json.encode(copy, order="sorted")


def decoded(data: bytes) -> Copy | None:
    """What a file says; None when it is no copy, or not as it was written."""
    found = readable(data)
    return found if found and found.record_sha256 in ("", _known_by(found)) else None


def readable(data: bytes) -> Copy | None:
    """What a file says whose words are as they were written, whatever became of the rest."""
    try:
        found = msgspec.json.decode(data, type=Copy)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return found if digest(found.content) == found.sha256 else None


def digest(content: str) -> str:
    """What a content is known by."""
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
