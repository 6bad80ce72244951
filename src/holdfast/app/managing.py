"""The figures and verbs of `holdfast manager`: how full a window is, and making room in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.compact.pressure import band
from holdfast.errors import Invalid
from holdfast.model.compactions import Band, Compaction

from . import sessions

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

#: what the sessions of `holdfast.manager` are marked with: their host holds the window
HOSTED = "context-manager"


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """How full the window of a session is."""

    session_id: str
    current_tokens: int
    limit: int
    pct_used: float
    band: Band
    next_compaction_estimate: int
    cold_storage_chunks: int
    last_compaction: dict[str, Any] | None = None


def health(hf: Holdfast, session_id: str | None, user: str | None, agent: str | None) -> Health:
    """Of the session of that id, or the one that was active last."""
    s = sessions.resumed(hf, session_id, hf._whose(user), agent)
    last = hf.activity.read("compaction", 1)
    reported = hf.activity.read("context-health", 1) if _hosted(s) else []
    if reported:
        tokens, limit = reported[0]["current_tokens"], reported[0]["limit"]
        next_at = reported[0]["next_compaction_estimate"]
        now = band(tokens, limit, hf.settings.compact)
    else:
        full = s.pressure()
        tokens, limit, next_at, now = full.tokens, full.limit, full.next_at, full.band
    return Health(
        session_id=s.id,
        current_tokens=tokens,
        limit=limit,
        pct_used=round(tokens / limit, 4) if limit else 1.0,
        band=now,
        next_compaction_estimate=next_at,
        cold_storage_chunks=hf.cold.count(user=s.principal, agent=s.agent),
        last_compaction=last[0] if last else None,
    )


def compact(
    hf: Holdfast,
    session_id: str | None,
    user: str | None,
    agent: str | None,
    **how: Any,
) -> Compaction | None:
    """Make room in the window of a session; Invalid where its host holds it."""
    s = sessions.resumed(hf, session_id, hf._whose(user), agent)
    if _hosted(s):
        raise Invalid(f"the context of session {s.id} is held by its host; call compact() there")
    return s.compact(**how)


def _hosted(s: Session) -> bool:
    return s.info().skill == HOSTED


def share(given: str) -> float:
    """A share of a window: 0.5, or `> 0.50` as a crontab says it."""
    try:
        found = float(given.strip().lstrip(">=").strip())
    except ValueError:
        found = 0.0
    if not 0 < found <= 1:
        raise Invalid(f"a share of the window is a number above 0, up to 1, not {given!r}")
    return found
