"""Recorded sessions made ready to be lived again: read once, counted once, in a window of some size.

Only what was said and done is read, of sessions that have an agent and so a window, in one pass of
the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from holdfast.compact.needing import readable
from holdfast.compact.pressure import Bounds
from holdfast.compact.simulating import Recorded, recorded
from holdfast.compose import history
from holdfast.compose.budget import Budget, Space, budget_for
from holdfast.model.compose import window_of
from holdfast.model.events import Event
from holdfast.model.sessions import SessionInfo

from .windows import limit_of

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: events of a session that are replayed; a longer one is replayed up to here
MOST_EVENTS = 1_500
#: a part of a conversation, as a tool is asked for it
_PART = re.compile(r"events ([0-9]{1,18})-([0-9]{1,18})")
#: a session of fewer events fills nothing
_FEWEST = 8


class Room:
    """A window, and how the events of a conversation are shown in it."""

    def __init__(self, hf: Holdfast, limit: int, model: str, *, said: bool = True) -> None:
        self._compose = hf.settings.compose
        self._compact_at = hf.settings.compact.compact_at
        self._most = hf.settings.compact.most
        self.limit = limit
        #: where nobody said how large it is, a conversation has what settings give it
        self._said = said
        self.count = lru_cache(maxsize=1 << 16)(hf.counter(model).count)

    @property
    def _budget(self) -> Budget:
        space = Space(window=self.limit, limit=int(self._most * self.limit)) if self._said else None
        return budget_for(self._compose, "", self._compose.budget, space, 0)

    @property
    def bounds(self) -> Bounds:
        """What a conversation may take of it."""
        history_ = self._budget.history
        return Bounds(limit=self.limit, history=history_, refill=self._compose.history_refill)

    def turns(self) -> history.Turns:
        """How events are shown."""
        budget = self._budget
        return history.Turns(budget.event, self.count, budget.words)

    def filled(self, tokens: int) -> bool:
        """Does a conversation of so many tokens come to where a compaction may be due?"""
        return tokens >= min(self._compact_at * self.limit, self._budget.history)


def meant(hf: Holdfast, window: int | None, model: str) -> Room:
    """The window that sessions have: as given, else the model's, else what the settings say."""
    named = model or hf.settings.tokens.model
    known = window_of(named, hf.settings.compose.windows) if named else None
    said = window is not None or known is not None
    return Room(hf, limit_of(hf, window, model), model, said=said)


class Heard(msgspec.Struct, kw_only=True):
    """One session as it lies in the log."""

    info: SessionInfo
    events: list[Event] = []
    #: where somebody asked for a chunk back, and which
    recovered: dict[int, str] = {}
    #: where a model asked to see a part of the conversation, from which event to which
    expanded: dict[int, tuple[int, int]] = {}

    @property
    def name(self) -> str:
        """No other session of its user is called so."""
        return f"{self.info.agent}:{self.info.id}"


def heard(
    hf: Holdfast, known: Sequence[SessionInfo], most: int, tell: Callable[[float], None]
) -> list[Heard]:
    """The latest sessions that are long enough for anything; `tell` gets the share that is read."""
    mine = [one for one in known if one.agent is not None and one.events >= _FEWEST][:most]
    found = {(one.id, one.agent, one.user): Heard(info=one) for one in mine}
    if not found:
        return []
    first = min(one.first_seq for one in mine)
    last = max(one.last_seq for one in mine)
    for event in hf.events(first - 1):
        if event.event_seq > last:
            break
        of = found.get((event.session_id or "", event.agent, event.user))
        if of is not None and len(of.events) < MOST_EVENTS:
            _hear(of, event)
            tell((event.event_seq - first) / max(1, last - first))
    return list(found.values())


def _hear(of: Heard, event: Event) -> None:
    said = event.payload if isinstance(event.payload, dict) else {}
    if history.spoken(event):
        of.events.append(event)
        asked = said.get("input") if str(said.get("tool")).endswith("expand") else None
        part = _PART.fullmatch(str(asked.get("ref"))) if isinstance(asked, dict) else None
        if event.kind == "tool_call" and part is not None:
            of.expanded[event.event_seq] = (int(part[1]), int(part[2]))
    elif event.kind == "chunk_recovered" and said.get("how") == "asked":
        of.recovered[event.event_seq] = str(said.get("chunk"))


def ready(hf: Holdfast, of: Heard, turns: history.Turns) -> Recorded:
    """A session as a replay wants it."""
    parts = [turns.part(event) for event in of.events]
    texts = [
        readable(part.text) if event.kind == "tool_call" else part.text
        for event, part in zip(of.events, parts, strict=True)
    ]
    return recorded(of.name, of.events, list(map(turns.tokens, of.events)), texts, _asked(hf, of))


def _asked(hf: Holdfast, of: Heard) -> Mapping[int, Sequence[int]]:
    """The events that were asked back, by when that was."""
    parts, info = dict(of.expanded), of.info
    if of.recovered:
        cold = hf.cold.list(info.id, agent=info.agent, user=info.user, expired=True)
        there = {chunk.id: (chunk.first, chunk.last) for chunk in cold}
        parts |= {at: there[chunk] for at, chunk in of.recovered.items() if chunk in there}
    return {
        at: [one.event_seq for one in of.events if first <= one.event_seq <= min(last, at)]
        for at, (first, last) in parts.items()
    }
