"""A conversation in chunks: pieces that stay or leave as a whole.

Calls of tools made together and their results are one chunk, with whatever happened between them
(`model/pairs.py` says how far that goes). Chunks cover the events without a gap, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise

import msgspec

from holdfast.model.events import Event
from holdfast.model.pairs import starts
from holdfast.text.instructions import standing, told
from holdfast.text.spoken import PERSON, said, speaker

#: a longer text is an instruction if so much of it instructs; else its sentences are, in a line
_SHORT, _MOSTLY = 800, 0.25


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of a window."""

    #: of its first event
    id: str
    seqs: tuple[int, ...]
    text: str
    tokens: int
    #: milliseconds, of the last of its events
    at: int
    #: why it stays whatever it is worth; empty when it may leave
    stays: str = ""
    #: something a person said
    turn: bool = False

    @property
    def first(self) -> int:
        """The place of its first event."""
        return self.seqs[0]

    @property
    def last(self) -> int:
        """The place of its last event."""
        return self.seqs[-1]


def chunks(events: Sequence[Event], tokens: Callable[[Event], int]) -> list[Chunk]:
    """The chunks of a conversation."""
    places = [*starts(events), len(events)] if events else []
    return [_chunk(events[first:end], tokens) for first, end in pairwise(places)]


def _chunk(events: Sequence[Event], tokens: Callable[[Event], int]) -> Chunk:
    return Chunk(
        id=events[0].event_id,
        seqs=tuple(event.event_seq for event in events),
        text="\n".join(f"{speaker(event)}: {said(event)}" for event in events),
        tokens=sum(map(tokens, events)),
        at=milliseconds(events[-1].timestamp),
        stays=next(filter(None, map(stays, events)), ""),
        turn=any(event.kind == "user_message" for event in events),
    )


def stays(event: Event) -> str:
    """Why an event stays in the window whatever it is worth; empty when it may leave."""
    given = event.payload if isinstance(event.payload, dict) else {}
    if given.get("pinned") is True:
        return "pinned"
    if given.get("important") is True:
        return "important"
    if event.kind == "decision":
        return "decision"
    return "instruction" if by_person(event) and _instructs(event.text) else ""


def _instructs(text: str) -> bool:
    """Is it an instruction, rather than a long text with one somewhere in it?"""
    if len(text) <= _SHORT:
        return standing(text)
    return sum(map(len, told(text))) >= _MOSTLY * len(text)


def by_person(event: Event) -> bool:
    """Did the person say it?"""
    return event.kind == "user_message" and event.trust == PERSON


def milliseconds(timestamp: str) -> int:
    """A time of the log as a number; 0 for what is none."""
    try:
        return round(datetime.fromisoformat(timestamp).timestamp() * 1_000)
    except ValueError:
        return 0
