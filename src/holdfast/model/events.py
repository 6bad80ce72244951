"""An event: one immutable record of the log, and what it is before it has a place.

Everything composes over these: record makes an `Entry`, a log gives it a place and it is an `Event`,
views fold events, and whatever a reader meets that is not an event is a `Damage`, never silence.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

#: The types Holdfast itself writes. Others pass through untouched.
EVENT_TYPES = frozenset(
    [
        "session_started",
        "session_ended",
        "user_message",
        "model_message",
        "tool_call",
        "tool_result",
        "validation_gate",
        "system_event",
        "decision",
        "error",
        "state_updated",
        "task_completed",
        "signal_observed",
        "item_saved",
        "item_accessed",
        "tiers_assigned",
        "memory_recall",
        "context_assembled",
        "epoch_started",
        "compacted",
        "checkpoint_saved",
        "chunk_recovered",
        "chunk_expired",
        "memory_learned",
        "memory_revised",
        "memory_superseded",
        "memory_merged",
        "memory_forgotten",
        "memory_restored",
        "memory_used",
        "trust_changed",
        "contradiction_found",
        "contradiction_resolved",
        "link_found",
        "prediction_made",
        "prediction_scored",
        "completion_received",
        "handoff_offered",
        "handoff_accepted",
        "document_indexed",
        "embedder_changed",
        "baseline",
        "damage_found",
        "subject_erased",
    ]
)

#: Names of an earlier format, accepted on input.
TYPE_ALIASES = {
    "user_turn": "user_message",
    "assistant_turn": "model_message",
    "tool_event": "tool_result",
    "status_event": "system_event",
    "decision_event": "decision",
    "error_event": "error",
}


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An event that lacks only its place: what record hands to a log."""

    event_id: str
    #: None for what concerns the project, not one conversation
    session_id: str | None
    agent: str | None
    user: str | None
    #: name@version, for example user_message@1
    type: str
    #: UTC, YYYY-MM-DDTHH:MM:SS.mmmZ; informative, order is event_seq
    timestamp: str
    #: who it came from; assigned by the door, never by a payload
    origin: str
    #: 3 principal, 2 agent, 1 tool, 0 foreign
    trust: int
    #: ids of the events this one was derived from
    sources: tuple[str, ...]
    #: canonical JSON, redacted
    payload: bytes
    #: the id was made just now, so it cannot be in the log yet and is not looked for
    fresh: bool = False


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One record of the log, as it was written."""

    v: int
    event_seq: int
    event_id: str
    session_id: str | None = None
    agent: str | None = None
    user: str | None = None
    type: str = ""
    timestamp: str = ""
    origin: str = ""
    trust: int = 0
    sources: tuple[str, ...] = ()
    payload: Any = None
    crc: str = ""
    #: present in chained logs
    salt: str | None = None
    pd: str | None = None
    h: str | None = None

    @property
    def kind(self) -> str:
        """The type without its version."""
        return self.type.partition("@")[0]

    @property
    def text(self) -> str:
        """The words of a message, a result, a decision; empty where there are none."""
        text = self.payload.get("text") if isinstance(self.payload, dict) else None
        return text if isinstance(text, str) else ""

    @property
    def erased(self) -> bool:
        """Was the content taken out at its subject's request?"""
        return isinstance(self.payload, dict) and set(self.payload) == {"erased"}


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """Something a reader met that is not an event. Bytes, a missing place, a second copy."""

    #: garbage, torn_tail, unreadable, gap, duplicate, out_of_order
    reason: str
    segment: str
    #: first byte in the segment, and how many; 0 where seqs are missing
    offset: int = 0
    length: int = 0
    #: the seqs concerned, both included; 0 where unknown
    first_seq: int = 0
    last_seq: int = 0
    #: the copy that was kept, if it was bytes
    quarantine: str | None = None

    def __str__(self) -> str:
        place = f"{self.segment} at byte {self.offset}" if self.length else self.segment
        size = f", {self.length} bytes" if self.length else ""
        if not self.first_seq:
            seqs = ""
        elif self.first_seq == self.last_seq:
            seqs = f", event {self.first_seq}"
        else:
            seqs = f", events {self.first_seq} to {self.last_seq}"
        return f"{self.reason.replace('_', ' ')} in {place}{size}{seqs}"


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """How far a log goes: enough to notice later that it is no longer the same log."""

    generation: int
    event_seq: int
    crc: str


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """An event somebody wants recorded: what a room returns and `app` passes to record."""

    type: str
    payload: dict[str, Any]
    #: who it comes from; the door knows
    origin: str
    session_id: str | None = None
    agent: str | None = None
    user: str | None = None
    #: its own time, for history; None is now
    at: str | datetime | None = None
    #: the caller's own id makes a retry harmless; None is a fresh one
    event_id: str | None = None
    sources: tuple[str, ...] = ()
