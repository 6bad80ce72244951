"""The verb that compacts: weigh every chunk of a window, write down what becomes of it.

What always holds: a compaction is one event, so whatever fails before it leaves the window as it was;
what leaves keeps a handle and comes back verbatim from the log; nothing to gain, nothing recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from holdfast.capture.stamp import fresh_id
from holdfast.compact.chunks import chunks
from holdfast.compact.deciding import Window, decide
from holdfast.compact.planning import Count, let_go
from holdfast.compact.room import Room
from holdfast.compose import history, render
from holdfast.errors import Conflict
from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Compaction, Past
from holdfast.model.epochs import Epochs
from holdfast.model.events import Draft, Event
from holdfast.views import state as views
from holdfast.views.epochs import EpochView
from holdfast.views.view import session_key

from . import compactions, situation
from .history import at, latest_first
from .quoting import said_as
from .summarizing import answers, beside, summaries, why_by_rule

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

#: what a smaller window dropped is taken in again if all of it is no more than so many windows
_FAR_OVER = 2
#: so often another compaction of the same session may be faster
_MOST_TRIES = 10
#: one compaction names every event it takes in as its source; what is beyond waits for the next
_MOST_EVENTS = 9_000
#: of what is new it takes in so many at least, however much may leave with earlier summaries
_FEWEST_EVENTS = 1_000
#: and the answers of a model that it is made of
_MOST_ANSWERS = 900


class Compactor:
    """Compacts the window of one session."""

    def __init__(
        self,
        s: Session,
        turns: history.Turns,
        count: Count,
        settings: CompactSettings,
        limit: int,
    ) -> None:
        self._s = s
        self._hf = s._hf
        self._turns = turns
        self._count = count
        self._settings = settings
        self._summarize = summaries(s, count, settings)
        #: of the window that is to have room
        self._limit = limit

    def compact(
        self, prompt: str, room: Room, trigger: str, first: Callable[[], object] | None = None
    ) -> Compaction | None:
        """Make room; None when nothing would leave. `first` is done once something will."""
        for _ in range(_MOST_TRIES):
            known = known_of(self._s)
            stands, events = self._stands(known)
            earlier, through = (stands.past, stands.through) if stands else (Past(), 0)
            through = max([through, *(event.event_seq for event in events[-1:])])
            terms = _terms(self._settings, room)
            if stands is not None and (through, terms) == (stands.through, stands.terms):
                return None
            made = self._made(earlier, events, prompt, room, trigger)
            if made is None:
                return None
            made = replace(made, through=through, terms=terms)
            made = replace(made, after=known.past)
            if first is not None:
                first()
                first = None
            if self._recorded(made, events, earlier):
                self._hf.cold.take(made.id)
                return made
        raise Conflict("this session is compacted all the time; try again")

    def _stands(self, known: Epochs) -> tuple[Compaction | None, list[Event]]:
        """The compaction this one builds on, and what is to be decided about.

        One event takes in so many at most; what reaches less far than the newest builds on that one.
        """
        stands = standing_in(self._s, known, self._turns, self._count, self._limit)
        events = self._taken_in(known, stands)
        if len(events) >= _FEWEST_EVENTS:
            newest = compactions.standing(self._hf, known)
            if newest is not None and events[-1].event_seq < newest.through:
                return newest, self._taken_in(known, newest)
        return stands, events

    def _taken_in(self, known: Epochs, stands: Compaction | None) -> list[Event]:
        past, through = (stands.past, stands.through) if stands else (Past(), 0)
        most = max(len(past.kept) + _FEWEST_EVENTS, _MOST_EVENTS - len(summed(past)))
        return window(self._s, replace(known, through=through), past)[:most]

    def _made(
        self, earlier: Past, events: Sequence[Event], prompt: str, room: Room, trigger: str
    ) -> Compaction | None:
        pieces = chunks(events, self._turns.tokens)
        before = sum(piece.tokens for piece in pieces) + _size(earlier, self._count)
        if earlier != Past() and before <= room.aim:
            return None
        there = {event.event_seq: event for event in events}
        asked = Window(
            chunks=tuple(pieces),
            events=there,
            shown=lambda chunk: "\n".join(self._turns.part(there[seq]).text for seq in chunk.seqs),
            earlier=earlier,
            prompt=prompt,
            now=self._hf.clock.now_ms(),
            room=beside(room, self._summarize),
        )
        left = decide(asked, self._settings, self._summarize, self._count)
        if left is None:
            return None
        past = compactions.cleaned(self._hf, left.past)
        after = left.kept + _size(past, self._count)
        if after >= before:
            return None
        return Compaction(
            id=fresh_id("evt"),
            event_seq=0,
            at="",
            strategy=self._settings.strategy,
            trigger=trigger,
            prompt=prompt,
            through=0,
            after="",
            tokens_before=before,
            tokens_after=after,
            window=room.window or None,
            past=past,
            decided=(*left.gone, *left.decided),
            by_rule=why_by_rule(self._summarize),
        )

    def _recorded(self, made: Compaction, events: Sequence[Event], earlier: Past) -> bool:
        """Write it down; False when another one was faster and this one does not count.

        One that followed at once takes nothing from it.
        """
        s, kept = self._s, set(made.past.kept)
        ids = [event.event_id for event in events if event.event_seq not in kept]
        ids = [*ids, *left_before(self._hf, earlier, made.past)][:_MOST_EVENTS]
        ids += answers(self._summarize)[:_MOST_ANSWERS]
        asked = said_as(s, events, made.prompt)
        (event,) = self._hf.record(
            [
                Draft(
                    type="compacted",
                    payload=compactions.said(self._hf, made, self._settings),
                    origin="system",
                    session_id=s.id,
                    agent=s.agent,
                    user=s.principal,
                    event_id=made.id,
                    sources=tuple(dict.fromkeys(filter(None, (made.after, asked, *ids)))),
                )
            ]
        )
        return self._hf.cold.known.of(event) is not None


def summed(past: Past) -> list[int]:
    """The places of the events that summaries stand for."""
    return sorted({seq for span in past.shorts for one in span.chunks for seq in one.seqs})


def left_before(hf: Holdfast, earlier: Past, past: Past) -> list[str]:
    """The events that summaries stood for which stand there no more: they are cold with them."""
    seqs = {seq for one in let_go(earlier, past) for seq in one.seqs}
    return [event.event_id for event in at(hf, sorted(seqs))]


def known_of(s: Session) -> Epochs:
    """What a session was shown, and its compaction."""
    key = session_key(s.principal, s.agent, s.id)
    found: Epochs | None = s._hf.views.read(lambda reading: reading.row(EpochView(), key))
    return found or Epochs()


def _terms(settings: CompactSettings, room: Room) -> str:
    """Equal where a compaction would do the same again as long as nothing is said."""
    return sha256(msgspec.json.encode([settings, room], order="sorted")).hexdigest()[:16]


def standing_in(
    s: Session, known: Epochs, turns: history.Turns, count: Count, limit: int
) -> Compaction | None:
    """The compaction that stands in a window of so many tokens; None where the plain log does."""

    def fits(stands: Compaction | None) -> bool:
        past, through = (stands.past, stands.through) if stands else (Past(), 0)
        left = _FAR_OVER * limit - _size(past, count)
        for event in _latest_first(s, max(through, known.compacted), past):
            left -= turns.tokens(event)
            if left < 0:
                return False
        return left >= 0

    return compactions.standing_in(s._hf, known, limit, fits)


def _size(past: Past, count: Count) -> int:
    parts = [part for _, part in render.past(past)]
    return count(render.text_of(parts)) if parts else 0


def _latest_first(s: Session, first: int, past: Past) -> Iterator[Event]:
    """The same as `window`, read from its end on."""
    of = s._hf.views.read(lambda reading: views.info(reading, s.principal, s.agent, s.id))
    if of is not None:
        yield from filter(history.spoken, latest_first(s._hf, of, first))
    yield from filter(history.spoken, at(s._hf, list(past.kept)))


def window(s: Session, known: Epochs, past: Past) -> list[Event]:
    """The events a window shows as they are: those that were kept, and all since."""
    first = max(known.through, known.compacted)
    since = [event for event in situation.spoken_in(s, first) if history.spoken(event)]
    kept = [event for event in at(s._hf, list(past.kept)) if history.spoken(event)]
    return [*kept, *since]
