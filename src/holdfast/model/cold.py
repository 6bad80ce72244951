"""What left a window and comes back: cold chunks, their copies, what is said when one is asked for."""

from __future__ import annotations

from typing import Any

import msgspec


class ColdChunk(msgspec.Struct, frozen=True, kw_only=True):
    """One chunk that a compaction dropped."""

    #: of its first event
    id: str
    session_id: str
    agent: str | None
    user: str | None
    first: int
    last: int
    tokens: int
    #: what it was worth when it was dropped, and why it was
    score: float
    reason: str
    #: what was asked at that time
    prompt: str
    #: when, and until when it is found by a search
    at: str
    until: str
    #: the place and the id of the compaction
    compaction: int
    compaction_id: str
    #: when it was asked for last, and when its copy was removed
    recovered: str | None = None
    expired: str | None = None
    #: when going back to a checkpoint brought it back into the window: then it is cold no more
    back: str | None = None

    @property
    def living(self) -> bool:
        """Is it cold now, with a copy, and found by a search?"""
        return self.expired is None and self.back is None


class Named(ColdChunk, frozen=True, kw_only=True):
    """One of a list, with the beginning of what it says."""

    says: str = ""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a cold chunk, every byte of it."""

    event_id: str
    event_seq: int
    type: str
    #: where its words stand in the content
    span: tuple[int, int]
    #: what its line says; without `text` where `words`, because that is what the span says
    payload: Any
    words: bool = False
    #: bodies that are not what the span says: as text, or in base64 where they are none
    bodies: dict[str, dict[str, str]] = {}


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of cold-storage/ holds: the record of a chunk, and its events verbatim."""

    chunk_id: str
    session_id: str
    timestamp: str
    content: str
    tokens: int
    drop_reason: str
    relevance_score: float
    prompt_at_drop: str
    recoverable_until: str
    sha256: str
    parts: tuple[Part, ...] = ()
    #: of all the rest as it is written here; copies of earlier versions do not say it
    record_sha256: str = ""


class Cold(msgspec.Struct, frozen=True, kw_only=True):
    """A cold chunk with its content."""

    chunk: ColdChunk
    #: its words, verbatim
    content: str
    sha256: str
    parts: tuple[Part, ...]
    #: what should be known about it: that its copy was damaged, that part of it was erased
    note: str = ""


class Expiry(msgspec.Struct, frozen=True, kw_only=True):
    """What ran out, or would."""

    chunks: tuple[ColdChunk, ...]
    dry_run: bool
    #: why nothing runs out just now; empty when something may
    paused: str = ""
