"""The whole text of a document, wherever the log keeps it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from holdfast.capture.parse import NOTES
from holdfast.errors import HoldfastError
from holdfast.model.events import Event
from holdfast.ports.log import Blobs, EventLog


@runtime_checkable
class Bodied(Protocol):
    """A log that keeps long texts beside its lines."""

    @property
    def blobs(self) -> Blobs:
        """The long texts."""
        ...


def whole(event: Event, log: EventLog, tell: Callable[[str], None]) -> str:
    """All that a document said; of one whose body is lost, its beginning."""
    note = _long(event)
    if note is None:
        return event.text
    try:
        text = body(event, log)
    except HoldfastError as exc:
        path, text = event.payload.get("path"), None
        tell(f"only the beginning of {path} can be found, the rest cannot be read: {exc}")
    head = note.get("head")
    beginning = event.text[:head] if type(head) is int else event.text
    return beginning if text is None else text


def body(event: Event, log: EventLog) -> str | None:
    """The whole of a text that is kept beside its line; None for one that is not.

    HoldfastError where it cannot be read.
    """
    note = _long(event)
    if note is None or not isinstance(log, Bodied):
        return None
    return b"".join(log.blobs.read(note["blob"])).decode("utf-8", "replace")


def _long(event: Event) -> Mapping[str, Any] | None:
    """The note that says where the rest of a text is."""
    notes = event.payload.get(NOTES) if isinstance(event.payload, dict) else None
    for note in notes if isinstance(notes, list) else ():
        if (
            isinstance(note, dict)
            and note.get("path") == "/text"
            and isinstance(note.get("blob"), str)
        ):
            return note
    return None
