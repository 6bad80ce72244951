"""Items are weighed anew when a task was completed, however that was recorded: a verb or a hook."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.model.events import Event
from holdfast.views.weighing import weighing

from .items import Items

if TYPE_CHECKING:
    from .holdfast import Holdfast

_WHY = "task_completed"


def done(hf: Holdfast, events: Sequence[Event]) -> None:
    """Weigh the items of agents who completed a task among these events."""
    tasks = {
        (event.user, event.agent): event.event_seq
        for event in events
        if event.kind == _WHY and event.user and event.agent
    }
    for (user, agent), seq in tasks.items():
        _weigh(hf, user, agent, seq)


def follow(hf: Holdfast, user: str, agent: str) -> None:
    """Weigh the items of an agent, if somebody else recorded that a task was completed."""
    known = hf.views.read(partial(weighing, user=user, agent=agent))
    if known.done > max(known.weighed, hf.weighed.get((user, agent), 0)):
        _weigh(hf, user, agent, known.done)


def _weigh(hf: Holdfast, user: str, agent: str, seq: int) -> None:
    with suppress(HoldfastError):  # the task is done all the same; the next one weighs them
        Items(hf, user=user, agent=agent).update_tiers(why=_WHY)
        hf.weighed[user, agent] = seq
