"""The scratchpad: an agent's own notes, versioned.

A `state_updated` event carries a merge patch (RFC 7396: objects merge, null removes) and may name the
version it was made for. When another writer was faster, that version is gone by the time the event is
folded, and the event changes nothing: of any number of racing writers exactly one wins, on every
machine that folds this log, without a lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.model.events import Event
from holdfast.model.sessions import Scratchpad

from .view import NOTHING, PerSession, Rows

#: far more than can win between a write and the look whether it did
WINNERS = 32
#: bytes of a whole scratchpad
LARGEST = 256 << 10


class Scratchpads(PerSession):
    """One scratchpad for each session."""

    name = "scratchpad"
    version = 1
    kinds = frozenset({"state_updated"})
    row = Scratchpad

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Merge the patch, unless it was made for another version."""
        (key,) = self.keys(event)
        pad: Scratchpad = rows[key] or Scratchpad()
        patch = patch_of(event)
        expected = event.payload.get("expect") if isinstance(event.payload, dict) else None
        made_for_this = type(expected) is int and expected == pad.version
        if patch is None or not (expected is None or made_for_this):
            return NOTHING
        content = merged(pad.content, patch)
        if too_large(content):
            return NOTHING
        return {
            key: Scratchpad(
                version=pad.version + 1,
                content=content,
                updated_at=event.timestamp,
                winners=(*pad.winners[-(WINNERS - 1) :], event.event_id),
            )
        }


def too_large(content: dict[str, Any]) -> bool:
    """Is this more than notes? It stands in every context, and is written anew with each change."""
    return len(msgspec.json.encode(content)) > LARGEST


def patch_of(event: Event) -> dict[str, Any] | None:
    """The merge patch an event carries."""
    patch = event.payload.get("state") if isinstance(event.payload, dict) else None
    return patch if isinstance(patch, dict) else None


def merged(old: Any, patch: Mapping[str, Any]) -> dict[str, Any]:
    """An RFC 7396 merge: what `patch` names is replaced, null removes, objects merge."""
    new = dict(old) if isinstance(old, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            new.pop(name, None)
        elif isinstance(value, Mapping):
            new[name] = merged(new.get(name), value)
        else:
            new[name] = value
    return new
