"""An event: one immutable record of the log, and what it is before it has a place.

Everything composes over these: record makes an `Entry`, a log gives it a place and it is an `Event`,
views fold events, and whatever a reader meets that is not an event is a `Damage`, never silence.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

#: The types Holdfast itself writes, and what each says. Others pass through untouched.
EVENT_TYPES = {
    "session_started": "a conversation of one agent begins",
    "session_ended": "it ends, and why",
    "user_message": "what the person said",
    "model_message": "what the model said",
    "tool_call": "what the model asked a tool to do",
    "tool_result": "what the tool answered",
    "validation_gate": "a validation gate was passed or failed",
    "system_event": "something the host reports: a status, a compaction, a file change",
    "decision": "something was decided",
    "error": "something failed",
    "state_updated": "the session's scratchpad changed",
    "task_completed": "a unit of work is done",
    "signal_observed": "something was seen in the environment",
    "item_saved": "an agent saved a piece of its working context",
    "item_accessed": "it was loaded again",
    "tiers_assigned": "items moved between hot, warm and cold",
    "memory_recall": "memories were searched for",
    "context_assembled": "a context was handed out: every candidate and its verdict",
    "epoch_started": "the stable part of a context was packed anew",
    "compacted": "items left the window",
    "checkpoint_saved": "the working context was saved whole",
    "chunk_recovered": "a cold chunk came back",
    "chunk_expired": "a cold chunk's copy was removed",
    "memory_learned": "a memory was made",
    "memory_revised": "a memory was changed",
    "memory_superseded": "a memory was replaced by a newer one",
    "memory_merged": "memories became one",
    "memory_forgotten": "a memory was taken out of use, and why",
    "memory_restored": "a forgotten memory came back",
    "memory_used": "memories were cited, ignored, useful or wrong",
    "trust_changed": "a person raised or lowered trust",
    "contradiction_found": "two memories disagree",
    "contradiction_resolved": "which of them holds",
    "link_found": "two memories belong together",
    "prediction_made": "what will be needed next",
    "prediction_scored": "whether it was",
    "completion_received": "what a model answered Holdfast itself",
    "handoff_offered": "work is handed to another agent",
    "handoff_accepted": "and taken",
    "document_indexed": "a document was read in",
    "embedder_changed": "vectors are made by another model from here on",
    "baseline": "the folded state up to a position, before older segments went",
    "damage_found": "bytes of the log were damaged; where, and where the copy is",
    "subject_erased": "content was erased; which events",
}


@lru_cache(1024)
def kind_of(type_: str) -> str:
    """A type without its version; asked many times for each event, and there are few types."""
    return type_.partition("@")[0]


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
    #: the content was taken out at its subject's request; no payload can claim that
    erased: bool = False

    @property
    def kind(self) -> str:
        """The type without its version."""
        return kind_of(self.type)

    @property
    def text(self) -> str:
        """The words of a message, a result, a decision; empty where there are none."""
        text = self.payload.get("text") if isinstance(self.payload, dict) else None
        return text if isinstance(text, str) else ""

    @property
    def words(self) -> str:
        """All an event says in words: tool, text and input first, then whatever else it names."""
        said = dict(self.payload) if isinstance(self.payload, dict) else {}
        first = [_plain(said.pop(name)) for name in ("tool", "text", "input") if name in said]
        rest = [f"{name}: {_plain(value)}" for name, value in said.items()]
        return " ".join(filter(None, first + rest))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()


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
    #: the checksum of the bytes, and the event before them: what they are known by for good
    crc: str = ""
    after_seq: int = 0
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
    #: of rows derived up to there: which of them are not at hand, as a digest; a log has no such
    lacking: str = ""


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
