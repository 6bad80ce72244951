"""The figures and verbs of `holdfast manager`: how full a window is, and making room in it.

What always holds: figures are of one session, of its own agent and user, and nobody else's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.errors import Invalid
from holdfast.model.compactions import Band, Compaction

from . import compactions, sessions
from .compacting import known_of
from .pressing import info_of, is_hosted

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session


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


def health(
    hf: Holdfast,
    session_id: str | None,
    user: str | None,
    agent: str | None,
    *,
    window: int | None = None,
    model: str = "",
) -> Health:
    """Of the session of that id, or the one that was active last."""
    s = sessions.resumed(hf, session_id, hf._whose(user), agent)
    full = s.pressure(window=window, model=model)
    event = compactions.made_last(hf, known_of(s))
    return Health(
        session_id=s.id,
        current_tokens=full.tokens,
        limit=full.limit,
        pct_used=round(full.pct, 4),
        band=full.band,
        next_compaction_estimate=full.next_at,
        cold_storage_chunks=hf.cold.count(user=s.principal, agent=s.agent),
        last_compaction=hf.activity.line(event) if event is not None else None,
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
    return is_hosted(info_of(s))


def share(given: str) -> float:
    """A share of a window: 0.5, or `> 0.50` as a crontab says it."""
    try:
        found = float(given.strip().lstrip(">=").strip())
    except ValueError:
        found = 0.0
    if not 0 < found <= 1:
        raise Invalid(f"a share of the window is a number above 0, up to 1, not {given!r}")
    return found
