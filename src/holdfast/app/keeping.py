"""What a context shows of what its agent saved: hot items, names of cold ones, those recall found."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.compact.importance import score_of
from holdfast.compose import saved
from holdfast.compose.saved import Saved
from holdfast.compose.sources import Hot
from holdfast.model.items import ContextItem
from holdfast.model.recall import Found
from holdfast.views import items as views
from holdfast.views.runner import Reading

from .memories import now

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

#: hot items that a context may show, of which its room decides; no context holds more
_MOST_HOT = 300
#: cold ones that may be named
_MOST_COLD = 200


def hot(s: Session) -> list[Hot]:
    """Every item of this agent that is hot, the pinned and then the most important first."""
    hf, at = s._hf, now(s._hf)
    mine = [one for one in rows(s) if one.tier == "HOT"]
    worth = {one.id: score_of(one, at, hf.settings.items) for one in mine}
    mine.sort(key=lambda one: (not one.pinned, -worth[one.id], one.id))
    shown = [
        Hot(saved=what, score=worth[one.id], pinned=one.pinned)
        for one in mine[:_MOST_HOT]
        if (what := saved_of(hf, one)) is not None
    ]
    rest = [
        Hot(saved=saved.of_row(one), score=worth[one.id], pinned=one.pinned, beyond=True)
        for one in mine[_MOST_HOT:]
    ]
    return [*shown, *rest]


def cold(s: Session) -> list[Saved]:
    """The items of this agent that are cold, those used last first."""
    mine = [one for one in rows(s) if one.tier == "COLD"]
    mine.sort(key=lambda one: (one.touched, one.id), reverse=True)
    return [saved.of_row(one) for one in mine[:_MOST_COLD]]


def found(of: Found) -> dict[str, tuple[Saved, bool]]:
    """Of the hits that are items what they say, and whether they are cold."""
    return {
        hit.id: (saved.of_event(hit.event, made), hit.item.tier == "COLD")
        for hit in of
        if hit.item is not None
        and hit.event is not None
        and (made := views.saved_by(hit.event)) is not None
    }


def latest(hf: Holdfast, user: str, agent: str, ids: Iterable[str]) -> dict[str, ContextItem]:
    """Those of these items that are there, as they stand."""

    def ask(reading: Reading) -> dict[str, ContextItem]:
        rows = ((one, views.item(reading, user, agent, one)) for one in ids)
        return {one: row for one, row in rows if row is not None}

    return hf.views.read(ask) if ids else {}


def saved_of(hf: Holdfast, item: ContextItem) -> Saved | None:
    """What an item says now; None where the log does not hold it any more."""
    if not item.cut:
        return saved.of_row(item)
    event = hf.lately.find(hf.log, hf.log.head().generation, item.event_id)
    if event is None or event.erased:
        return None
    return replace(saved.of_event(event, item), index=item.index)


def rows(s: Session) -> list[ContextItem]:
    """The items of this agent as the index has them: of a long text its beginning."""
    return s._hf.views.read(partial(views.items, user=s.principal, agent=s.agent))
