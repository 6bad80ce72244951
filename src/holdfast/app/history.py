"""A conversation's latest events: found through the transcript, read from the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from holdfast.errors import Invalid
from holdfast.model.events import Event
from holdfast.model.sessions import SessionInfo
from holdfast.views import state as views
from holdfast.views.transcript import SPOKEN

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: reading on over so many events is cheaper than finding a place anew
_NEAR = 100


def recent(
    hf: Holdfast, of: SessionInfo, *, turns: int | None = None, tokens: int | None = None
) -> list[Event]:
    """The last so many turns, cut to the latest events that fit so many tokens; oldest first."""
    for name, given in (("turns", turns), ("tokens", tokens)):
        if given is not None and given < 1:
            raise Invalid(f"{name} must be 1 or more, not {given}")
    spoken = hf.views.read(lambda reading: views.transcript(reading, of))
    known = turns is not None and len(spoken.turn_starts) >= turns
    first = spoken.turn_starts[-turns] if known and turns else of.first_seq
    inside = not spoken.cut or (bool(spoken.seqs) and first >= spoken.seqs[0])
    seqs = [seq for seq in spoken.seqs if seq >= first]
    found = _latest(hf, _at(hf, seqs), tokens)
    if inside or (tokens is not None and len(found) < len(seqs)):
        return _whole(found)
    return _whole(_latest(hf, _last_turns(_spoken(hf, of, first), turns), tokens))


def window(hf: Holdfast, of: SessionInfo) -> list[Event]:
    """The latest events, as many as the transcript reaches back."""
    spoken = hf.views.read(lambda reading: views.transcript(reading, of))
    return list(_at(hf, list(spoken.seqs)))


def _latest(hf: Holdfast, events: Iterable[Event], tokens: int | None) -> list[Event]:
    """The latest events that together take no more than so many tokens."""
    events = list(events)
    if tokens is None:
        return events
    count = hf.counter().count
    left, kept = tokens, len(events)
    while kept:
        left -= count(events[kept - 1].words)
        if left < 0:
            break
        kept -= 1
    return events[kept:]


def _whole(events: list[Event]) -> list[Event]:
    """Without results at the beginning whose call was cut away: no model takes one without."""
    start = 0
    while start < len(events) and events[start].kind == "tool_result":
        start += 1
    return events[start:]


def _last_turns(events: list[Event], turns: int | None) -> list[Event]:
    starts = [n for n, event in enumerate(events) if event.kind == "user_message"]
    return events[starts[-turns] :] if turns and len(starts) >= turns else events


def _spoken(hf: Holdfast, of: SessionInfo, first: int) -> list[Event]:
    """The session's conversation from a position on, read from the log."""
    return [
        event
        for event in session_events(hf, of, after=first - 1)
        if event.kind in SPOKEN and not event.erased
    ]


def session_events(hf: Holdfast, of: SessionInfo, after: int = 0) -> Iterator[Event]:
    """Every event of one session, of its own agent and user and nobody else."""
    for event in hf.events(max(after, of.first_seq - 1), session_id=of.id):
        if (event.agent, event.user) == (of.agent, of.user):
            yield event
        if event.event_seq >= of.last_seq:
            return


def _at(hf: Holdfast, seqs: list[int]) -> Iterator[Event]:
    """The events of these places, in order."""
    wanted, at = set(seqs), 0
    while at < len(seqs):
        place = seqs[at]
        for event in hf.events(place - 1):
            if event.event_seq in wanted:
                yield event
            at = next((n for n in range(at, len(seqs)) if seqs[n] > event.event_seq), len(seqs))
            if at == len(seqs) or seqs[at] - event.event_seq > _NEAR:
                break
        else:
            return
