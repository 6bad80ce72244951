"""Usage: how often something was given to a model, and what came of it, counted for each user.

What is counted has an id: a memory or an event. Counts are kept apart by user, so that a reader can
leave out those of people who could never have seen it.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec.structs import replace

from holdfast.model.events import Event
from holdfast.model.memories import VERDICTS, Usage

from .epochs import shown_in
from .memories import MOST_IDS
from .view import Rows, common_key

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """One user's use of one memory or event."""

    id: str
    user: str | None
    usage: Usage = Usage()


class UsageView:
    """One row for each id and user."""

    name = "usage"
    version = 2
    kinds = frozenset({"memory_used", "memory_recall", "context_assembled"})
    row = Used

    def keys(self, event: Event) -> tuple[str, ...]:
        """What was used, by this user."""
        return tuple(common_key(one, event.user) for one in _counted(event))

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Count."""
        after = {}
        for one, verdicts in _counted(event).items():
            key = common_key(one, event.user)
            known: Used = rows[key] or Used(id=one, user=event.user)
            more = {name: getattr(known.usage, name) + 1 for name in verdicts}
            after[key] = replace(known, usage=replace(known.usage, last_at=event.timestamp, **more))
        return after


def _counted(event: Event) -> dict[str, list[str]]:
    """Each id an event names, with what it says about it."""
    given = event.payload if isinstance(event.payload, dict) else {}
    lists: dict[str, Any]
    if event.kind == "memory_recall":
        lists = {"retrieved": given.get("ids")}
    elif event.kind == "context_assembled":
        lists = {"retrieved": [one.id for one in shown_in(given.get("shown")) if not one.project]}
    else:
        lists = {name: given.get(name) for name in VERDICTS}
    found: dict[str, list[str]] = {}
    for name, ids in lists.items():
        for one in ids[:MOST_IDS] if isinstance(ids, list) else ():
            if isinstance(one, str) and _ID.fullmatch(one):
                verdicts = found.setdefault(one, [])
                if name not in verdicts:
                    verdicts.append(name)
    return found
