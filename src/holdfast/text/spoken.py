"""What an event of a conversation says, and who says it."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.capture.parse import NOTES
from holdfast.model.events import Event

#: kinds of events, and by which rules they are shortened
_SHORTENED = {"tool_result": "tool_output", "tool_call": "tool_output", "error": "tool_output"}
_SPEAKERS = {"user_message": "user", "model_message": "assistant"}
#: the trust of what the person said
PERSON = 3
_FOREIGN = 0


def said(event: Event) -> str:
    """What an event says, without who says it and which call it answers."""
    given = event.payload if isinstance(event.payload, dict) else {}
    if event.text or event.kind in _SPEAKERS:
        return event.text
    if event.kind == "tool_call":
        return _json(given.get("input", {}))
    if event.kind == "validation_gate":
        verdict = "passed" if given.get("passed") is True else "failed"
        return f"gate {given.get('gate')} {verdict}"
    return event.words


def _json(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()


def speaker(event: Event) -> str:
    """Who says it: a person by name, everybody and everything else by what it is."""
    given = event.payload if isinstance(event.payload, dict) else {}
    named = str(given.get("speaker") or given.get("tool") or "")
    if event.kind == "user_message" and event.trust == PERSON:
        return named or "user"
    what = _SPEAKERS.get(event.kind) or event.kind.replace("_", " ")
    if event.trust == _FOREIGN:
        what = f"{event.origin}, {what}"
    elif event.kind == "user_message":
        what = f"second hand, {what}"
    return f"{what} {named or ('' if event.kind in _SPEAKERS else event.agent or '')}".rstrip()


def shortened_as(event: Event) -> str:
    """By which rules an event is shortened."""
    return _SHORTENED.get(event.kind, "turn")


def beyond(event: Event) -> bool:
    """Is there more of it than stands in its line?"""
    return any("blob" in note for note in _notes(event))


def bodies_of(event: Event) -> dict[str, str]:
    """What of it stands elsewhere: by the path of what they hold, the hash each body is kept under."""
    return {
        note["path"]: note["blob"]
        for note in _notes(event)
        if isinstance(note.get("path"), str) and isinstance(note.get("blob"), str)
    }


def _notes(event: Event) -> list[dict[str, Any]]:
    notes = event.payload.get(NOTES) if isinstance(event.payload, dict) else None
    return [note for note in (notes if isinstance(notes, list) else ()) if isinstance(note, dict)]
