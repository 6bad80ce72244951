"""The conversation in a context: from where on it is shown, each event whole or in short.

How an event is shown depends on the event and on settings alone, so what was shown stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

import msgspec

from holdfast.model.epochs import Epoch
from holdfast.model.events import Event
from holdfast.model.pairs import answers, starts
from holdfast.text.levels import fitted
from holdfast.text.spoken import beyond, said, shortened_as
from holdfast.views.transcript import SPOKEN

from . import render
from .render import Part

#: what of a conversation is shown: its words and deeds, not that memory was searched
SAID = SPOKEN - {"memory_recall"}
Count = Callable[[str], int]
#: characters of a token, hardly ever more; and those that are shown at least
_CHARS, _FEWEST = 5, 40


def spoken(event: Event) -> bool:
    """Is this something that was said or done?"""
    return event.kind in SAID and not event.erased


class Turns:
    """Events as parts of a context, each made once."""

    def __init__(self, most: int, count: Count, words: int | None = None) -> None:
        #: tokens of one event, and of one that a person said
        self._most = most
        self._words = most if words is None else words
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
        """All of it, or as much as one event may take."""
        most = self._words if event.kind == "user_message" else self._most
        text = said(event)
        part = render.turn(event, text, whole=not beyond(event))
        room = max(most * _CHARS, _FEWEST)
        while (tokens := self._count(part.text + "\n\n")) > most and room >= _FEWEST:
            part = render.turn(event, fitted(shortened_as(event), text, room), whole=False)
            room //= 2
        return part, tokens


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of a conversation is shown: from one event on, and what the person said last before."""

    #: 0 for all of it
    first: int
    #: 0 where the person's last words are among the others
    pinned: int


def openings(
    events: Sequence[Event], sizes: Sequence[int], room: int, refill: float
) -> Iterator[Opening]:
    """Where a conversation may begin: the best first, then less and less of it."""
    best = begins(events, sizes, room, refill)
    for n in [best, *(later for later in (*starts(events), len(events)) if later > best)]:
        asked = [event.event_seq for event in events if event.kind == "user_message"]
        first = _place(events, n)
        yield Opening(first=first, pinned=asked[-1] if asked and asked[-1] < first else 0)
    yield Opening(first=_place(events, len(events)), pinned=0)


def begins(events: Sequence[Event], sizes: Sequence[int], room: int, refill: float) -> int:
    """The place of the first event that is shown: all of them, or the latest that fill a share.

    What the person said last is among them, if it fits with what followed; else it is shown by itself,
    and takes its room. It begins with something a person said, or at least where every result has its
    call, unless that would leave half of it out.
    """
    behind = list(accumulate(reversed(sizes)))[::-1]  # tokens from each event on
    if not behind or behind[0] <= room:
        return 0
    asked = [n for n, event in enumerate(events) if event.kind == "user_message"]
    last = asked[-1] if asked else len(events) - 1
    left, among = room, range(last + 1)
    if asked and behind[last] > room:
        left, among = room - sizes[last], range(last + 1, len(events))
    elif behind[last] > room * refill:
        return last if behind[last] <= room else len(events)
    fitting = [n for n in among if behind[n] <= left * refill]
    fitting = fitting or [n for n in among if behind[n] <= left]
    complete = [n for n in starts(events) if n in fitting]
    for good in ([n for n in complete if n in asked], complete):
        if good and 2 * behind[good[0]] >= behind[fitting[0]]:
            return good[0]
    return fitting[0] if fitting else len(events)


def _place(events: Sequence[Event], n: int) -> int:
    if n < len(events):
        return events[n].event_seq if n else 0
    return events[-1].event_seq + 1 if events else 0


def answered(events: Sequence[Event]) -> int:
    """The place from where on every result has its call: no model takes one without."""
    calls = answers(events)
    start = 0
    for n, event in enumerate(events):
        if event.kind == "tool_result" and calls.get(n, -1) < start:
            start = n + 1
    return start


def parts(
    turns: Turns,
    epoch: Epoch,
    events: Sequence[Event],
    added: dict[str, list[Part]],
    before: Sequence[tuple[int, Part]],
) -> list[Part]:
    """The conversation with what earlier contexts of this epoch added, in the order it was shown.

    `before` are parts that stand for what is not shown, each behind the event of its place.
    """
    made: list[Part] = []
    gone, waiting = list(before), list(epoch.added)
    for event in events:
        while gone and gone[0][0] < event.event_seq:
            made.append(gone.pop(0)[1])
        while waiting and waiting[0].position < event.event_seq:
            made += added[waiting.pop(0).pack]
        made.append(turns.part(event))
    made += [part for _, part in gone]
    for one in waiting:
        made += added[one.pack]
    return made


def left_out(first: int, history_from: int) -> list[tuple[int, Part]]:
    """The mark for the beginning of a conversation that is not shown."""
    if history_from <= first:
        return []
    return [(first - 1, render.left_out(first, history_from - 1))]
