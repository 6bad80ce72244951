"""Decisions: one row each, so that none is ever pushed out by later ones."""

from __future__ import annotations

from holdfast.model.events import Event
from holdfast.model.sessions import Decision

from .view import Rows, brief, place_key

LONGEST = 4_000


class Decisions:
    """One row for each decision, below its session."""

    name = "decisions"
    version = 1
    kinds = frozenset({"decision"})
    row = Decision

    def keys(self, event: Event) -> tuple[str, ...]:
        """A row of its own."""
        return place_key(event)

    def apply(self, rows: Rows, event: Event) -> Rows:  # noqa: ARG002  (nothing was there before)
        """Write it down."""
        (key,) = place_key(event)
        return {
            key: Decision(
                event_id=event.event_id,
                event_seq=event.event_seq,
                at=event.timestamp,
                text=brief(event.text, LONGEST),
                trust=event.trust,
            )
        }
