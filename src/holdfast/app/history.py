"""A conversation's latest events: found through the transcript, read from the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.compose.history import answered
from holdfast.errors import Invalid
from holdfast.model.events import Event
from holdfast.model.sessions import SessionInfo
from holdfast.views import state as views
from holdfast.views.transcript import SPOKEN

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: reading on over so many events is cheaper than finding a place anew
_NEAR = 20
#: how many places of the log are looked at first, going back behind the window
_FIRST_STEP = 1_000


def recent(
    hf: Holdfast, of: SessionInfo, *, turns: int | None = None, tokens: int | None = None
) -> list[Event]:
    """The last so many turns, cut to the latest events that fit so many tokens; oldest first."""
    for name, given in (("turns", turns), ("tokens", tokens)):
        if given is not None and (type(given) is not int or given < 1):
            raise Invalid(f"{name} must be a whole number from 1 on, not {given!r}")
    whole, found = window(hf, of)
    earlier = iter(()) if whole else _backwards(hf, of, found[0].event_seq if found else 0)
    while True:
        kept, enough = _cut(hf, found, turns, tokens)
        before = None if enough else next(earlier, None)
        if before is None:
            return kept if whole and len(kept) == len(found) else kept[answered(kept) :]
        found = before + found


def window(hf: Holdfast, of: SessionInfo) -> tuple[bool, list[Event]]:
    """The latest events, as far as the transcript reaches back, and whether that is all of them."""
    spoken = hf.views.read(lambda reading: views.transcript(reading, of))
    return not spoken.cut, list(at(hf, list(spoken.seqs)))


def _cut(
    hf: Holdfast, events: list[Event], turns: int | None, tokens: int | None
) -> tuple[list[Event], bool]:
    """The events that were asked for, and whether earlier ones cannot be among them."""
    starts = [n for n, event in enumerate(events) if event.kind == "user_message"]
    first = starts[-turns] if turns is not None and len(starts) >= turns else 0
    enough = turns is not None and len(starts) >= turns
    if tokens is None:
        return events[first:], enough
    count, left, kept = hf.counter().count, tokens, len(events)
    while kept > first:
        left -= count(events[kept - 1].words)
        if left < 0:
            return events[kept:], True
        kept -= 1
    return events[first:], enough


def latest_first(hf: Holdfast, of: SessionInfo, after: int = 0) -> Iterator[Event]:
    """The conversation behind a position, read as far back as somebody asks for it."""
    whole, latest = window(hf, of)
    yield from (event for event in reversed(latest) if event.event_seq > after)
    if not whole and latest:
        for part in _backwards(hf, of, latest[0].event_seq, after):
            yield from reversed(part)


def _backwards(
    hf: Holdfast, of: SessionInfo, before: int, behind: int = 0
) -> Iterator[list[Event]]:
    """The conversation before a position, the latest part first, in parts that grow."""
    step, first = _FIRST_STEP, max(of.first_seq, behind + 1)
    while before > first:
        after = max(before - step, first) - 1
        yield [
            event
            for event in session_events(hf, of, after=after, before=before)
            if event.kind in SPOKEN and not event.erased
        ]
        before, step = after + 1, step * 2


def session_events(
    hf: Holdfast, of: SessionInfo, after: int = 0, before: int | None = None
) -> Iterator[Event]:
    """The events of one session, of its own agent and user and nobody else, between two positions."""
    end = of.last_seq + 1 if before is None else before
    for event in hf.events(max(after, of.first_seq - 1)):
        if event.event_seq >= end:
            return
        if (event.session_id, event.agent, event.user) == (of.id, of.agent, of.user):
            yield event


def at(hf: Holdfast, seqs: list[int]) -> Iterator[Event]:
    """The events of these places, in order."""
    wanted, n = set(seqs), 0
    while n < len(seqs):
        place = seqs[n]
        for event in hf.events(place - 1):
            if event.event_seq in wanted:
                yield event
            n = next((m for m in range(n, len(seqs)) if seqs[m] > event.event_seq), len(seqs))
            if n == len(seqs) or seqs[n] - event.event_seq > _NEAR:
                break
        else:
            return
