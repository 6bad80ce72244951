"""What an event says, all of it: what was too long for its line is read from its body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.compact.cold import Piece
from holdfast.errors import Damaged, HoldfastError
from holdfast.model.events import Event
from holdfast.text.spoken import bodies_of, said

if TYPE_CHECKING:
    from .holdfast import Holdfast


def payload(hf: Holdfast, event: Event) -> Mapping[str, Any]:
    """The payload of an event with its bodies."""
    given = event.payload if isinstance(event.payload, dict) else {}
    bodies = bodies_of(event)
    whole = _whole(hf, given, "", bodies) if bodies else given
    return whole if isinstance(whole, dict) else given


def pieces(hf: Holdfast, event: Event) -> Piece:
    """Every byte of an event: its words, and its bodies as they are kept; Damaged where one is not."""
    bodies = {}
    for path, digest in bodies_of(event).items():
        try:
            bodies[path] = b"".join(hf.blobs.read(digest))
        except HoldfastError as exc:
            raise Damaged(f"a body of {event.event_id} cannot be read: {exc}") from exc
    text = bodies["/text"].decode("utf-8", "replace") if "/text" in bodies else said(event)
    return Piece(event=event, text=text, bodies=bodies)


def _whole(hf: Holdfast, value: Any, path: str, bodies: Mapping[str, str]) -> Any:
    if path in bodies:
        try:
            body = b"".join(hf.blobs.read(bodies[path]))
            return body.decode("utf-8", "surrogatepass") if path else msgspec.json.decode(body)
        except (HoldfastError, ValueError, msgspec.MsgspecError) as exc:
            raise Damaged(f"a body of its record cannot be read: {exc}") from exc
    if isinstance(value, dict):
        return {
            name: _whole(hf, one, f"{path}/{_escaped(name)}", bodies) for name, one in value.items()
        }
    if isinstance(value, list):
        return [_whole(hf, one, f"{path}/{n}", bodies) for n, one in enumerate(value)]
    return value


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
