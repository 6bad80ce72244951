"""Cold chunks: what each compaction that counts dropped, and what became of it since.

What always holds: a compaction that another was faster than dropped nothing; what others brought along
drops, recovers and expires nothing; only going back to a checkpoint brings a chunk back into the window,
and the compaction that did so names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from holdfast.capture.parse import NOTES
from holdfast.model.compactions import RESTORE, Decided
from holdfast.model.events import Event

from .following import counts, missed, seen_too
from .view import NOTHING, Rows, brief, place_key, session_key, session_keys

#: chunks of one compaction that are kept in its row; of more, its event is read
MOST = 2_000
#: notes about the chunks of one compaction
_MOST_MARKS = 20_000
#: of what was asked when something was dropped, so much is kept
LONGEST = 2_000
_LARGEST = 1 << 53
#: days, where the compaction does not say
_DAYS, _MOST_DAYS = 30.0, 36_500


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """One chunk as its compaction names it."""

    id: str
    first: int
    last: int
    tokens: int
    score: float
    reason: str


class ColdRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of a session: its last compaction. Of a compaction: what it dropped."""

    past: str = ""
    id: str = ""
    event_seq: int = 0
    at: str = ""
    until: str = ""
    prompt: str = ""
    #: whose it is
    user: str | None = None
    agent: str | None = None
    session_id: str = ""
    chunks: tuple[Dropped, ...] = ()
    #: chunks of earlier compactions that are in the window again
    back: tuple[str, ...] = ()
    #: the chunks are too many for a row; the event names them
    elsewhere: bool = False
    #: the place of the compaction before it, 0 for the first
    before: int = 0
    #: the one it follows, where the log cannot show that any more
    lost: str = ""
    #: of a session: the names of its latest compactions, whether they count or not
    seen: tuple[str, ...] = ()
    #: when a chunk was recovered last, and when it expired
    recovered: dict[str, str] = {}
    expired: dict[str, str] = {}


class ColdView:
    """A row for each session that was compacted, and below it one for each compaction that counts."""

    name = "cold"
    version = 3
    kinds = frozenset({"compacted", "chunk_recovered", "chunk_expired"})
    row = ColdRow

    def keys(self, event: Event) -> tuple[str, ...]:
        """Of a compaction both rows; of a chunk the row of the compaction that dropped it."""
        if event.session_id is None or event.origin != "system":
            return ()
        if event.kind == "compacted":
            whose = session_keys(event.user, event.agent, event.session_id)
            return whose + place_key(event)
        said = event.payload if isinstance(event.payload, dict) else {}
        place = said.get("compaction")
        if type(place) is not int or not 0 < place < event.event_seq:
            return ()
        return (compaction_key(event.user, event.agent, event.session_id, place),)

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Take in a compaction, or what became of a chunk."""
        if event.kind == "compacted":
            return _compacted(rows, event)
        (key,) = self.keys(event)
        known: ColdRow | None = rows[key]
        said = event.payload if isinstance(event.payload, dict) else {}
        chunk = said.get("chunk")
        if known is None or not isinstance(chunk, str) or not _names(known, chunk):
            return NOTHING
        if event.kind == "chunk_recovered":
            return {key: replace(known, recovered={**known.recovered, chunk: event.timestamp})}
        if chunk in known.expired:
            return NOTHING
        return {key: replace(known, expired={**known.expired, chunk: event.timestamp})}


def compaction_key(user: str | None, agent: str | None, session_id: str, seq: int) -> str:
    """The key of the row of one compaction."""
    return msgspec.json.encode([user, agent, session_id, f"{seq:012d}"]).decode()


def _names(known: ColdRow, chunk: str) -> bool:
    if known.elsewhere:
        return len(chunk) <= 200 and len(known.recovered) + len(known.expired) < _MOST_MARKS
    return any(one.id == chunk for one in known.chunks)


def _compacted(rows: Rows, event: Event) -> Rows:
    """By the same rule as epochs: see `following`."""
    whose = session_key(event.user, event.agent, event.session_id or "")
    (place,) = place_key(event)
    known: ColdRow = rows[whose] or ColdRow()
    said = event.payload if isinstance(event.payload, dict) else {}
    follows, seen = said.get("follows"), seen_too(known.seen, event.event_id)
    if said.get("by") == "host":
        return {whose: ColdRow(event_seq=known.event_seq, seen=seen)}
    if said.get("by") != "holdfast" or not counts(follows, known.past, known.seen):
        return {whose: replace(known, seen=seen)}
    decided = _decided(said)
    chunks, again = dropped(decided or ()), back(_text(said.get("strategy")), decided or ())
    elsewhere = decided is None or len(chunks) + len(again) > MOST
    return {
        whose: ColdRow(
            past=event.event_id,
            event_seq=event.event_seq,
            seen=seen_too(known.seen, event.event_id, follows),
        ),
        place: ColdRow(
            id=event.event_id,
            event_seq=event.event_seq,
            at=event.timestamp,
            until=later(event.timestamp, _days(said.get("settings"))),
            prompt=brief(_text(said.get("prompt")), LONGEST),
            user=event.user,
            agent=event.agent,
            session_id=event.session_id or "",
            chunks=() if elsewhere else chunks,
            back=() if elsewhere else again,
            elsewhere=elsewhere,
            before=known.event_seq,
            lost=_text(follows) if missed(follows, known.past, known.seen) else "",
        ),
    }


def _decided(said: dict[str, Any]) -> list[Decided] | None:
    """The verdicts of a compaction; None when its event has to be asked."""
    notes = said.get(NOTES)
    for note in notes if isinstance(notes, list) else ():
        if isinstance(note, dict) and note.get("path") == "/decided" and "blob" in note:
            return None
    try:
        return msgspec.json.decode(_text(said.get("decided")) or "[]", type=list[Decided])
    except msgspec.MsgspecError:
        return []


def back(strategy: str, decided: Sequence[Decided]) -> tuple[str, ...]:
    """The chunks that going back to a checkpoint brought back into the window."""
    if strategy != RESTORE:
        return ()
    return tuple(one.id for one in decided if one.verdict == "keep" and 0 < len(one.id) <= 200)


def dropped(decided: Sequence[Decided]) -> tuple[Dropped, ...]:
    """The chunks that left; what cannot be one is left out."""
    return tuple(
        Dropped(
            id=one.id,
            first=one.first,
            last=one.last,
            tokens=one.tokens,
            score=one.score,
            reason=brief(one.why, 100),
        )
        for one in decided
        if one.verdict == "drop"
        and 0 < one.first <= one.last <= _LARGEST
        and 0 <= one.tokens <= _LARGEST
        and 0 < len(one.id) <= 200
    )


def _days(settings: Any) -> float:
    """For how long what left is found, as the settings of the compaction said."""
    try:
        said = msgspec.json.decode(_text(settings) or "{}")
    except msgspec.MsgspecError:
        return _DAYS
    days: Any = said.get("cold_days") if isinstance(said, dict) else None
    number = isinstance(days, int | float) and not isinstance(days, bool)
    return float(days) if number and 0 < days <= _MOST_DAYS else _DAYS


def later(at: str, days: float) -> str:
    """A time so many days later; the same where it is none, or there is none so late."""
    try:
        moment = datetime.fromisoformat(at) + timedelta(days=days)
    except (ValueError, OverflowError):
        return at
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z".rjust(24, "0")


def _text(given: Any) -> str:
    return given if isinstance(given, str) else ""
