"""Checkpoints: the points of a session worth coming back to."""

from __future__ import annotations

import msgspec

from holdfast.model.events import Event
from holdfast.model.sessions import Checkpoint

from .view import NOTHING, PerSession, Rows, brief

#: the latest few; the log has them all
MOST = 20
#: of those that can be gone back to
MOST_SAVED = 200
#: characters of why one was saved
MOST_TRIGGER = 80
#: a number that every index keeps as it is
LARGEST = 1 << 53


class Checkpoints(msgspec.Struct, frozen=True, kw_only=True):
    """A session's latest checkpoints, oldest first."""

    points: tuple[Checkpoint, ...] = ()
    #: those that hold a whole working context
    saved: tuple[Checkpoint, ...] = ()


class CheckpointView(PerSession):
    """One row for each session."""

    name = "checkpoints"
    version = 3
    kinds = frozenset({"validation_gate", "checkpoint_saved", "session_ended"})
    row = Checkpoints

    def apply(self, rows: Rows, event: Event) -> Rows:
        """A passed gate, a saved context, an end."""
        (key,) = self.keys(event)
        why = _reason(event)
        if not why:
            return NOTHING
        known: Checkpoints = rows[key] or Checkpoints()
        point = Checkpoint(
            event_seq=event.event_seq,
            at=event.timestamp,
            why=why,
            event_id=event.event_id,
            whole=_is_whole(event),
            trigger=brief(_text(event, "trigger"), MOST_TRIGGER),
            tokens=_number(event, "tokens"),
        )
        saved = (*known.saved, point)[-MOST_SAVED:] if point.whole else known.saved
        return {key: Checkpoints(points=(*known.points[-(MOST - 1) :], point), saved=saved)}


def _text(event: Event, name: str) -> str:
    said = event.payload.get(name) if isinstance(event.payload, dict) else None
    return said if isinstance(said, str) and _is_whole(event) else ""


def _number(event: Event, name: str) -> int:
    said = event.payload.get(name) if isinstance(event.payload, dict) else None
    return said if type(said) is int and 0 <= said <= LARGEST and _is_whole(event) else 0


def _is_whole(event: Event) -> bool:
    """Does it hold a whole working context, to go back to?"""
    said = event.payload if isinstance(event.payload, dict) else {}
    return event.kind == "checkpoint_saved" and "context" in said


def _reason(event: Event) -> str:
    said = event.payload if isinstance(event.payload, dict) else {}
    if event.kind == "validation_gate":
        return f"gate {said.get('gate')} passed" if said.get("passed") is True else ""
    return "context saved" if event.kind == "checkpoint_saved" else "session ended"
