"""The conversation in a context: from where on it is shown, each event whole or in short.

How an event is shown depends on the event and on settings alone, so what was shown stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from holdfast.model.epochs import Epoch
from holdfast.model.events import Event
from holdfast.views.transcript import SPOKEN

from . import render
from .items import of_event, said
from .render import Part

#: what of a conversation is shown: its words and deeds, not that memory was searched
SAID = SPOKEN - {"memory_recall"}
Count = Callable[[str], int]


def spoken(event: Event) -> bool:
    """Is this something that was said or done?"""
    return event.kind in SAID and not event.erased


class Turns:
    """Events as parts of a context, each made once."""

    def __init__(self, most: int, count: Count) -> None:
        #: tokens of one event
        self._most = most
        self._count = count
        self._parts: dict[str, tuple[Part, int]] = {}

    def part(self, event: Event) -> Part:
        """One event as it is shown."""
        return self._made(event)[0]

    def tokens(self, event: Event) -> int:
        """What that takes."""
        return self._made(event)[1]

    def _made(self, event: Event) -> tuple[Part, int]:
        known = self._parts.get(event.event_id)
        if known is None:
            known = self._parts[event.event_id] = self._fitting(event)
        return known

    def _fitting(self, event: Event) -> tuple[Part, int]:
        """All of it, or as much as one event may take; levels are made where they are needed."""
        part = render.turn(event, 0, (said(event),))
        tokens = self._count(part.text + "\n\n")
        if tokens <= self._most:
            return part, tokens
        levels = of_event(event).levels
        for level in range(1, len(levels)):
            part = render.turn(event, level, levels)
            tokens = self._count(part.text + "\n\n")
            if tokens <= self._most:
                break
        return part, tokens


def begins(events: Sequence[Event], sizes: Sequence[int], room: int, refill: float) -> int:
    """The place of the first event that is shown: all of them, or the latest that fill a share.

    It is one that a person said, where there is one among them, and no result stands without its call.
    """
    behind = list(accumulate(reversed(sizes)))[::-1]  # tokens from each event on
    if not behind or behind[0] <= room:
        return 0
    first = next((n for n, tokens in enumerate(behind) if tokens <= room * refill), len(events))
    starts = [n for n in range(first, len(events)) if events[n].kind == "user_message"]
    return _with_calls(events, starts[0] if starts else first)


def _with_calls(events: Sequence[Event], first: int) -> int:
    """From there on, or from later on, no result is shown whose call is not; some never had one."""
    calls: dict[str, list[int]] = {}
    start = first
    for n, event in enumerate(events):
        if event.kind == "tool_call":
            calls.setdefault(_name(event), []).append(n)
        elif event.kind == "tool_result" and calls.get(_name(event)):
            call = calls[_name(event)].pop(0)
            if call < start <= n:
                start = n + 1
    return start


def answered(events: Sequence[Event]) -> int:
    """The place from where on every result has its call: no model takes one without."""
    calls: dict[str, list[int]] = {}
    start = 0
    for n, event in enumerate(events):
        if event.kind == "tool_call":
            calls.setdefault(_name(event), []).append(n)
        elif event.kind == "tool_result":
            waiting = calls.get(_name(event))
            if not waiting or waiting.pop(0) < start:
                start = n + 1
    return start


def _name(event: Event) -> str:
    """What a call and its result are known by."""
    given = event.payload if isinstance(event.payload, dict) else {}
    return str(given.get("call_id") or given.get("tool"))


def parts(
    turns: Turns, epoch: Epoch, events: Sequence[Event], added: dict[str, list[Part]], first: int
) -> list[Part]:
    """The conversation with what earlier contexts of this epoch added, in the order it was shown."""
    made: list[Part] = []
    waiting = list(epoch.added)
    for n, event in enumerate(events):
        while waiting and waiting[0].position < event.event_seq:
            made += added[waiting.pop(0).pack]
        if n == 0 and epoch.history_from > first:
            made.append(render.left_out(first, epoch.history_from - 1))
        made.append(turns.part(event))
    for one in waiting:
        made += added[one.pack]
    return made
