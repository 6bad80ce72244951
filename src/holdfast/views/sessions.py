"""The sessions: who, since when, how far."""

from __future__ import annotations

import msgspec

from holdfast.model.events import Event
from holdfast.model.sessions import SessionInfo

from .view import PerSession, Rows

_SEED_FIELDS = ("workflow", "skill", "git_branch", "workspace")


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
                info, ended_at=event.timestamp, ended_because=str(reason or "ended")
            )
        return {key: info}


def _started(info: SessionInfo, event: Event) -> SessionInfo:
    said = dict(event.payload) if isinstance(event.payload, dict) else {}
    again = bool(said.pop("resumed", False)) or info.events > 1
    named = {name: said.pop(name) for name in _SEED_FIELDS if isinstance(said.get(name), str)}
    return msgspec.structs.replace(
        info,
        **named,
        details={**info.details, **said},
        ended_at=None,
        ended_because=None,
        resumed=info.resumed + again,
    )
