"""Compactions as a person reads them: which there were, and what each decided, in words and figures.

What always holds: a session shows its own, and nobody else's; one that cannot be read, or that the log
has no more, is told, and those before it are listed all the same; so are those before a compaction of
its host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec.structs import asdict

from holdfast.errors import Damaged, NotFound
from holdfast.model.compactions import Compaction, Named
from holdfast.model.events import Event
from holdfast.views.view import brief

from . import compactions, sessions
from .history import at

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

#: the last so many are listed
_MOST = 200
#: characters of what a chunk says
_SAYS = 80


class SessionCompactions:
    """Verbs about the compactions that were."""

    def compactions(self) -> list[Compaction]:
        """Its compactions that can be read, the last one first."""
        s, found = cast("Session", self), []
        s.check()
        for row in s._hf.cold.known.latest((s.principal, s.agent, s.id), _MOST):
            try:
                found.append(compactions.read_at(s._hf, row.id))
            except Damaged as exc:
                s._hf.tell(f"it is not listed: {exc}")
            if row.lost:
                s._hf.tell(f"it is not listed: {compactions.not_in_log(row.lost)}")
        return found

    def compaction(self, compaction_id: str) -> Compaction:
        """One of them, with every decision; NotFound where this session has no such compaction."""
        s = cast("Session", self)
        s.check()
        event = s._hf.log.find(compaction_id) if isinstance(compaction_id, str) else None
        whose = (s.principal, s.agent, s.id)
        mine = event is not None and (event.user, event.agent, event.session_id) == whose
        if event is None or not mine or not _is_one(event):
            raise NotFound(
                f"this session has no compaction {compaction_id}; `holdfast session compactions` "
                "lists them"
            )
        if not compactions.is_ours(event):
            raise NotFound(f"{compaction_id} is a compaction of a host; it says no reasons")
        return compactions.read(s._hf, event)


def named(hf: Holdfast, event_id: str, user: str | None, agent: str | None) -> Compaction | None:
    """The compaction of that id; None where it is none, or that of another user or agent."""
    whose, of = hf._whose(user), sessions.one_or_all(agent)
    event = hf.log.find(event_id)
    if event is None or not _is_one(event) or event.user != whose:
        return None
    if event.agent is None or event.session_id is None or of not in (None, event.agent):
        return None
    return sessions.resumed(hf, event.session_id, whose, event.agent).compaction(event_id)


def _is_one(event: Event) -> bool:
    return event.kind == "compacted" and not event.erased


def told(hf: Holdfast, of: Compaction) -> list[Named]:
    """Every decision of a compaction, with its handle and the beginning of what it is about."""
    first = at(hf, sorted({one.first for one in of.decided}))
    words = {event.event_id: _beginning(event) for event in first}
    return [
        Named(**asdict(one), handle=f"events {one.first}-{one.last}", says=words.get(one.id, ""))
        for one in of.decided
    ]


def _beginning(event: Event) -> str:
    if event.erased:
        return "(taken out of the log)"
    return brief(" ".join(event.words[: 4 * _SAYS].split()), _SAYS)
