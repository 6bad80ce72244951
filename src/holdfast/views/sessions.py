"""The sessions: who, since when, how far."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.model.events import Event
from holdfast.model.sessions import SessionInfo

from .view import PerSession, Rows, brief

#: bytes of details; the event has all of them
MOST_DETAILS = 2_000
_DETAILS = ("workflow", "skill", "git_branch", "workspace")


class Sessions(PerSession):
    """One row for each session of each agent and user."""

    name = "sessions"
    version = 1
    kinds = None
    row = SessionInfo

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Count the event; take in what a start or an end says."""
        (key,) = self.keys(event)
        info = rows[key]
        if info is None:
            info = SessionInfo(
                id=event.session_id or "",
                agent=event.agent,
                user=event.user,
                started_at=event.timestamp,
                first_seq=event.event_seq,
                last_seq=event.event_seq,
                last_at=event.timestamp,
            )
        info = msgspec.structs.replace(
            info,
            events=info.events + 1,
            last_seq=event.event_seq,
            last_at=event.timestamp,
            turns=info.turns + (event.kind == "user_message"),
        )
        if event.kind == "session_started":
            info = _started(info, event)
        elif event.kind == "session_ended" and info.ended_at is None:  # the first end counts
            reason = event.payload.get("reason") if isinstance(event.payload, dict) else None
            info = msgspec.structs.replace(
                info, ended_at=event.timestamp, ended_because=brief(str(reason or "ended"), 500)
            )
        return {key: info}


def _started(info: SessionInfo, event: Event) -> SessionInfo:
    said = dict(event.payload) if isinstance(event.payload, dict) else {}
    again = bool(said.pop("resumed", False)) or info.events > 1
    named = {
        name: brief(said.pop(name), 500) for name in _DETAILS if isinstance(said.get(name), str)
    }
    return msgspec.structs.replace(
        info,
        **named,
        details=_bounded({**info.details, **said}),
        ended_at=None,
        ended_because=None,
        resumed=info.resumed + again,
    )


def _bounded(details: dict[str, Any]) -> dict[str, Any]:
    """As many details as fit: every event of the session writes its row again."""
    kept, room = {}, MOST_DETAILS
    for name in sorted(details):
        room -= len(name) + len(msgspec.json.encode(details[name]))
        if room < 0:
            break
        kept[name] = details[name]
    return kept
