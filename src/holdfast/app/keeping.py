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

#: hot items that are weighed, and cold ones that are named
_MOST_HOT, _MOST_COLD = 50, 30


def hot(s: Session) -> list[Hot]:
    """The items of this agent that are hot, the pinned and then the most important first."""
    hf, at = s._hf, now(s._hf)
    rows = [one for one in _rows(s) if one.tier == "HOT"]
    worth = {one.id: score_of(one, at, hf.settings.items) for one in rows}
    rows.sort(key=lambda one: (not one.pinned, -worth[one.id], one.id))
    return [
        Hot(saved=what, score=worth[one.id], pinned=one.pinned)
        for one in rows[:_MOST_HOT]
        if (what := saved_of(hf, one)) is not None
    ]


def cold(s: Session) -> list[Saved]:
    """The items of this agent that are cold, those used last first."""
    rows = [one for one in _rows(s) if one.tier == "COLD"]
    rows.sort(key=lambda one: (one.touched, one.id), reverse=True)
    return [saved.of_row(one) for one in rows[:_MOST_COLD]]


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


def _rows(s: Session) -> list[ContextItem]:
    return s._hf.views.read(partial(views.items, user=s.principal, agent=s.agent))
