"""What left, read from the log: the events of cold chunks, all of them in one pass where they lie close.

An event belongs to a chunk when it lies between its ends and left with its compaction: what left before,
or stayed, may lie between them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from holdfast.compact.cold import copy_of
from holdfast.errors import Damaged, Erased
from holdfast.model.cold import ColdChunk, Copy
from holdfast.model.events import Damage, Event
from holdfast.views.transcript import SPOKEN

from .bodies import pieces

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: reading on over so many events is cheaper than finding a place anew
_NEAR = 200


class Left:
    """One chunk, its events, and whether the log is whole there."""

    def __init__(self, chunk: ColdChunk) -> None:
        self.chunk = chunk
        self.events: list[Event] = []
        self.whole = True


def each(hf: Holdfast, chunks: Iterable[ColdChunk]) -> Iterator[Left]:
    """Every one of these chunks, once; without events where the log has none of them."""
    waiting = deque(map(Left, sorted(chunks, key=lambda one: (one.first, one.last))))
    gone: dict[str, frozenset[str]] = {}
    for one in waiting:
        if (of := one.chunk.compaction_id) not in gone:
            compaction = hf.log.find(of)
            gone[of] = frozenset(compaction.sources if compaction is not None else ())
    active: list[Left] = []
    while waiting:
        yield from _run(hf, waiting, active, gone)
        yield from active  # the log ended before they did
        active = []


def _run(
    hf: Holdfast, waiting: deque[Left], active: list[Left], gone: dict[str, frozenset[str]]
) -> Iterator[Left]:
    """Those that lie close to the first one."""
    for found in hf.log.read(waiting[0].chunk.first - 1):
        if isinstance(found, Damage):
            for one in active:
                one.whole = one.whole and found.after_seq >= one.chunk.last
            continue
        seq = found.event_seq
        while waiting and waiting[0].chunk.first <= seq:
            active.append(waiting.popleft())
        for one in active:
            of = one.chunk
            mine = of.first <= seq <= of.last and found.session_id == of.session_id
            mine = mine and found.kind in SPOKEN  # not a compaction between a call and its result
            if mine and found.event_id in gone[of.compaction_id]:
                one.events.append(found)
        yield from [one for one in active if one.chunk.last <= seq]
        active[:] = [one for one in active if one.chunk.last > seq]
        if not active and (not waiting or waiting[0].chunk.first - seq > _NEAR):
            return
    active += waiting  # beyond the end of the log
    waiting.clear()


def read(hf: Holdfast, chunk: ColdChunk) -> Left:
    """One of them."""
    return next(each(hf, [chunk]))


def copied(hf: Holdfast, left: Left) -> tuple[Copy, str]:
    """A chunk as the log has it, and what of it is gone; Damaged where the log is."""
    chunk, events = left.chunk, left.events
    there = [event for event in events if not event.erased]
    if events and not there:
        raise Erased(f"what {chunk.id} said was taken out of the log")
    if not left.whole or not events or events[0].event_id != chunk.id:
        raise Damaged(f"the log cannot show all of {chunk.id} any more; see `holdfast verify`")
    note = "part of it was taken out of the log" if len(there) < len(events) else ""
    return copy_of(chunk, [pieces(hf, event) for event in there]), note
