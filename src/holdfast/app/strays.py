"""Copies that no compaction asks for: which of them may go, and which may be all there is.

What always holds: a copy goes where the log shows every event of it as the copy does, or where one of
them was erased; a copy that nobody knows stays as long as the log has damage.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from holdfast.compact.cold import decoded, verbatim
from holdfast.errors import Damaged
from holdfast.model.cold import Copy
from holdfast.model.events import Damage, Event

from . import bodies

if TYPE_CHECKING:
    from .holdfast import Holdfast


class Strays:
    """Looks at such copies of one project."""

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf

    def may_go(self, data: bytes) -> bool:
        """Is nothing lost with what lies there?"""
        copy = decoded(data)
        if copy is None:
            return not self._damaged
        events = self._events(copy)
        if any(event is not None and event.erased for event in events):
            return True
        return not self._damaged and self._shown(copy, events)

    def shown(self, data: bytes) -> bool:
        """Does the log show all that a copy of a chunk says, or is it none?"""
        copy = decoded(data)
        return copy is None or self._shown(copy, self._events(copy))

    @cached_property
    def _damaged(self) -> bool:
        return any(isinstance(found, Damage) for found in self._hf.log.read(0))

    def _events(self, copy: Copy) -> list[Event | None]:
        return [self._hf.log.find(part.event_id) for part in copy.parts]

    def _shown(self, copy: Copy, events: list[Event | None]) -> bool:
        for part, event in zip(copy.parts, events, strict=True):
            if event is None:
                return False
            try:
                kept = bodies.pieces(self._hf, event).bodies
            except Damaged:
                return False
            if not event.erased and (event.payload, kept) != verbatim(copy.content, part):
                return False
        return True
