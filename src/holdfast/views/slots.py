"""Slots: which memories were learned for one subject, key and place where it holds.

A row names candidates. Whether one of them still says something about that slot, and is current, is
for the memory itself to say; a reader looks at each.
"""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.model.events import Event
from holdfast.model.memories import SCOPES, slot, state

from .memories import LONGEST_NAME, is_memory_id, learned
from .view import Rows, common_key

#: the latest ones; those before them were superseded long ago
MOST = 16
_SCOPE, _OWNER, _LONGEST = 3, 4, 6


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """The memories of a slot, the latest last."""

    ids: tuple[str, ...] = ()


class SlotView:
    """One row for each slot."""

    name = "slots"
    version = 1
    kinds = frozenset({"memory_learned", "memory_revised", "memory_restored"})
    row = Slot

    def keys(self, event: Event) -> tuple[str, ...]:
        """The slot a memory was learned for, or came into."""
        given = event.payload if isinstance(event.payload, dict) else {}
        if event.kind == "memory_learned":
            made = learned(event) if given.get("key") else None  # most have none
            # what was over when it was learned is not in the way of anything
            over = made is not None and state(made, event.timestamp) == "expired"
            place = slot(made) if made is not None and not over else None
        else:
            place = _moved(event, given) if is_memory_id(given.get("memory")) else None
        return () if place is None else (slot_key(place),)

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Name it last."""
        (key,) = self.keys(event)
        known: Slot = rows[key] or Slot()
        one = event.payload["memory"]
        others = tuple(known_one for known_one in known.ids if known_one != one)
        return {key: Slot(ids=(*others[-(MOST - 1) :], one))}


def slot_key(place: tuple[str, ...]) -> str:
    """The key of a slot's row."""
    return common_key("slot", *place)


def _moved(event: Event, given: dict[str, Any]) -> tuple[str, ...] | None:
    """The slot an event says a memory is in now; nobody names a slot in another one's name."""
    place = given.get("slot")
    if not isinstance(place, list) or not _SCOPE < len(place) <= _LONGEST:
        return None
    if not all(isinstance(part, str) and len(part) <= LONGEST_NAME * 4 for part in place):
        return None
    private = place[_SCOPE] in ("session", "user")
    if place[_SCOPE] not in SCOPES or (private and place[_OWNER : _OWNER + 1] != [event.user]):
        return None
    return tuple(place)
