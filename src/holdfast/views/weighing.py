"""When the items of an agent were weighed last, and whether a task was completed since."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from holdfast.model.compactions import RESTORE
from holdfast.model.events import Event

from .view import NOTHING, Rows, common_key

if TYPE_CHECKING:
    from .runner import Reading


class Weighing(msgspec.Struct, frozen=True, kw_only=True):
    """The places of two events; 0 where there was none."""

    #: the last task that was completed
    done: int = 0
    #: the last time that tiers were assigned to all items
    weighed: int = 0


class WeighingView:
    """One row for each agent of a user, whichever session it was in."""

    name = "weighing"
    version = 1
    kinds = frozenset({"task_completed", "tiers_assigned"})
    row = Weighing

    def keys(self, event: Event) -> tuple[str, ...]:
        """The row of the agent."""
        return () if event.agent is None else (common_key(event.user, event.agent),)

    def apply(self, rows: Rows, event: Event) -> Rows:
        """A task is done, or the items were weighed; going back to a checkpoint weighs nothing."""
        (key,) = self.keys(event)
        known: Weighing = rows[key] or Weighing()
        if event.kind == "task_completed":
            return {key: replace(known, done=event.event_seq)}
        said = event.payload if isinstance(event.payload, dict) else {}
        if event.origin != "system" or said.get("why") == RESTORE:
            return NOTHING
        return {key: replace(known, weighed=event.event_seq)}


def weighing(reading: Reading, user: str, agent: str) -> Weighing:
    """How it stands with an agent."""
    found: Weighing | None = reading.row(WeighingView(), common_key(user, agent))
    return found or Weighing()
