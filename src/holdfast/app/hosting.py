"""A window that the host holds: what is seen is recorded, what leaves is cold, the host gets the rest.

What always holds: everything that leaves is in the log before the host is given a shorter context; when
something fails, the host has the context it had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.capture.stamp import fresh_id
from holdfast.compact import hosted
from holdfast.compact.activity import HEALTH
from holdfast.compact.chunks import Chunk, milliseconds, stays
from holdfast.compact.deciding import Left, Window, decide
from holdfast.compact.hosted import Held
from holdfast.errors import Conflict, HoldfastError
from holdfast.model.compactions import Compaction, Decided, Past, Span
from holdfast.model.events import Draft, Event

from . import compactions
from .bodies import payload
from .cold import EVERY
from .compacting import known_of, window
from .summarizing import summaries

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

#: of the room that is aimed at, conversation gets at least this share, whatever else a host counts
_LEAST = 0.2


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A context as it is now: its elements, and for each its event or the span it stands for."""

    context: Any
    held: tuple[Held, ...]
    stand: tuple[Event | Span, ...]


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What a compaction did to a host's context."""

    tokens_before: int
    tokens_after: int
    dropped: int
    summarized: int
    id: str = ""


class Hosting:
    """The window of one session, held by a host."""

    def __init__(
        self,
        s: Session,
        get: Callable[[], Any],
        put: Callable[[Any], Any],
        tokens: Callable[[], int] | None,
    ) -> None:
        self._s = s
        self._hf: Holdfast = s._hf
        self._get = get
        self._put = put
        self._tokens = tokens
        self._count = self._hf.counter().count
        #: what the context held when it was last looked at, and our own words in it
        self._known: list[tuple[str, Event]] = []
        self._spans: dict[str, tuple[bool, Span]] = {}
        self._go_on()

    def _go_on(self) -> None:
        """Recognise what an earlier process of this session left in the context."""
        known = known_of(self._s)
        event = self._hf.log.find(known.past) if known.past else None
        past = Past()
        if event is not None and not event.erased:
            past = compactions.read(self._hf, event).past
            self._spans = _spans(past)
        for one in window(self._s, known, past):
            again = hosted.again(one.kind, payload(self._hf, one))
            if again is not None:
                self._known.append((again.known, one))

    def used(self) -> int:
        """Tokens of the context: as the host counts them, else as we do."""
        if self._tokens is not None:
            return int(self._tokens())
        return sum(self._count(one.text) for one in hosted.pieces(self._get()))

    # ---- looking ---------------------------------------------------------------------------

    def look(self, context: Any = None) -> Seen:
        """Record what is new in the context; what was there before is recognised, in its order."""
        context = self._get() if context is None else context
        held = hosted.pieces(context)
        names = [one.known for one in held]
        fixed = {name: event for name, event in self._known if event.kind == "system_event"}
        known = [pair for pair in self._known if pair[1].kind != "system_event"]
        stand: list[Event | Span | None] = [None] * len(held)
        at, fresh, changed = 0, list[int](), False
        for n, (one, name) in enumerate(zip(held, names, strict=True)):
            if (ours := self._ours(one)) is not None:
                stand[n] = ours[1]
            elif one.role in hosted.FIXED:
                stand[n] = fixed.get(name)
            elif not changed:  # an event stands once, and behind those that were recorded earlier
                place = next((m for m in range(at, len(known)) if known[m][0] == name), None)
                changed = place is None
                if place is not None:
                    stand[n], at = known[place][1], place + 1
            if stand[n] is None:
                fresh.append(n)
        for n, event in zip(fresh, self._recorded([held[n] for n in fresh]), strict=True):
            stand[n] = event
        whole = tuple(one for one in stand if one is not None)
        self._known = [
            (name, one) for name, one in zip(names, whole, strict=True) if isinstance(one, Event)
        ]
        return Seen(context=context, held=tuple(held), stand=whole)

    def _recorded(self, held: Sequence[Held]) -> list[Event]:
        if not held:
            return []
        s = self._s
        return self._hf.record(
            [
                Draft(
                    type=one.kind(),
                    payload=one.payload(),
                    origin=one.origin(),
                    session_id=s.id,
                    agent=s.agent,
                    user=s.principal,
                )
                for one in held
            ]
        )

    def report(self, tokens: int, limit: int, chunks: int) -> None:
        """How full the context is, as an event."""
        said = {
            "signal": HEALTH,
            "tokens": tokens,
            "limit": limit,
            "chunks": chunks,
            "compact_at": self._hf.settings.compact.compact_at,
        }
        self._s.record("signal_observed", said, origin="system")
        self._hf.activity.follow()

    # ---- making room -----------------------------------------------------------------------

    def compact(self, prompt: str, limit: int, trigger: str) -> Made:
        """Give the host a shorter context; the same one when nothing would leave."""
        seen = self.look()
        before = self.used()
        talk = [
            (n, one)
            for n, one in enumerate(seen.stand)
            if isinstance(one, Event) and seen.held[n].role not in hosted.FIXED
        ]
        events = [event for _, event in talk]
        chunks, members = self._chunks([seen.held[n] for n, _ in talk], events)
        room = self._room(before, limit, seen)
        left = self._planned(chunks, events, seen, prompt, room)
        if left is None:
            return Made(tokens_before=before, tokens_after=before, dropped=0, summarized=0)
        verdicts, past = left.decided, left.past
        pairs = zip(verdicts, members, strict=True)
        gone = {talk[n][0] for one, of in pairs if one.verdict != "keep" for n in of}
        shorter = self._shorter(seen, gone, past)
        self._set(shorter, seen.context)
        try:
            after = self.used()
            made = self._written(events, prompt, trigger, limit, (before, after), past, verdicts)
        except BaseException:
            self._put(seen.context)
            raise
        out_of_window = {event.event_seq for event in events} - set(past.kept)
        self._known = [pair for pair in self._known if pair[1].event_seq not in out_of_window]
        self._spans = _spans(past)
        self._hf.cold.take(made.id)
        self._hf.activity.follow()
        return made

    def _room(self, used: int, limit: int, seen: Seen) -> int:
        """Tokens of conversation that may stay: what the host counts beside it counts too."""
        target = int(self._hf.settings.compact.compact_to * limit)
        beside = max(0, used - sum(self._count(one.text) for one in seen.held))
        return max(target - beside, int(_LEAST * target))

    def _chunks(
        self, held: Sequence[Held], events: Sequence[Event]
    ) -> tuple[list[Chunk], list[range]]:
        members = hosted.groups(held)
        made = []
        for of in members:
            there = [events[n] for n in of]
            marked = next(filter(None, (held[n].stays for n in of)), "")
            made.append(
                Chunk(
                    id=there[0].event_id,
                    seqs=tuple(event.event_seq for event in there),
                    text="\n".join(held[n].text for n in of),
                    tokens=sum(self._count(held[n].text) for n in of),
                    at=milliseconds(there[-1].timestamp),
                    stays=marked or next(filter(None, map(stays, there)), ""),
                    turn=any(event.kind == "user_message" for event in there),
                )
            )
        return made, members

    def _planned(
        self, chunks: Sequence[Chunk], events: Sequence[Event], seen: Seen, prompt: str, room: int
    ) -> Left | None:
        settings = self._hf.settings.compact
        window = Window(
            chunks=tuple(chunks),
            events={event.event_seq: event for event in events},
            earlier=self._earlier(seen),
            prompt=prompt,
            now=self._hf.clock.now_ms(),
            room=room,
        )
        summarize = summaries(self._s, self._count, settings)
        floor = self._hf.settings.manager.min_score
        return decide(window, settings, summarize, self._count, floor=floor)

    def _earlier(self, seen: Seen) -> Past:
        """What of earlier compactions the host still shows."""
        there = [ours for one in seen.held if (ours := self._ours(one)) is not None]
        return Past(
            lines=tuple(span for short, span in there if not short),
            shorts=tuple(span for short, span in there if short),
        )

    def _ours(self, one: Held) -> tuple[bool, Span] | None:
        return self._spans.get(one.text.strip())

    def _shorter(self, seen: Seen, gone: set[int], past: Past) -> Any:
        """What stays, in its order, and each span where its last event stood."""
        stood = [one.last if isinstance(one, Span) else one.event_seq for one in seen.stand]
        ordered: list[tuple[int, int, Any]] = [
            (n, 0, seen.held[n].given)
            for n, one in enumerate(seen.stand)
            if n not in gone and isinstance(one, Event)
        ]
        for text, (_, span) in _spans(past).items():
            talk = [
                n for n, seq in enumerate(stood) if seq <= span.last and not self._fixed(seen, n)
            ]
            ordered.append((max(talk, default=-1), span.first, hosted.element(seen.context, text)))
        ordered.sort(key=lambda one: one[:2])
        return hosted.like(seen.context, [one for _, _, one in ordered])

    def _fixed(self, seen: Seen, n: int) -> bool:
        return seen.held[n].role in hosted.FIXED

    def _set(self, shorter: Any, before: Any) -> None:
        try:
            self._put(shorter)
        except BaseException:
            if self._get() != before:
                self._put(before)
            raise

    def _written(
        self,
        events: Sequence[Event],
        prompt: str,
        trigger: str,
        limit: int,
        tokens: tuple[int, int],
        past: Past,
        verdicts: Sequence[Decided],
    ) -> Made:
        s, kept = self._s, set(past.kept)
        made = Compaction(
            id=fresh_id("evt"),
            event_seq=0,
            at="",
            strategy=self._hf.settings.compact.strategy,
            trigger=trigger,
            prompt=prompt,
            through=max((event.event_seq for event in events), default=0),
            after=known_of(s).past,
            tokens_before=max(0, tokens[0]),
            tokens_after=max(0, tokens[1]),
            window=limit,
            past=past,
            decided=tuple(verdicts),
        )
        gone = [event.event_id for event in events if event.event_seq not in kept]
        self._hf.record(
            [
                Draft(
                    type="compacted",
                    payload=compactions.said(made, self._hf.settings.compact),
                    origin="system",
                    session_id=s.id,
                    agent=s.agent,
                    user=s.principal,
                    event_id=made.id,
                    sources=tuple(filter(None, (made.after, *gone))),
                )
            ]
        )
        if known_of(s).past != made.id:
            raise Conflict("somebody else compacted this session at the same time; try again")
        return Made(
            id=made.id,
            tokens_before=tokens[0],
            tokens_after=tokens[1],
            dropped=sum(one.verdict == "drop" for one in verdicts),
            summarized=sum(one.verdict == "summarize" for one in verdicts),
        )


def _spans(past: Past) -> dict[str, tuple[bool, Span]]:
    """Our words in a context, and what they stand for."""
    both = ((True, past.shorts), (False, past.lines))
    return {
        hosted.in_place(span, short=short): (short, span) for short, spans in both for span in spans
    }


def found(hf: Holdfast, query: str, whose: tuple[str, str], most: int) -> list[str]:
    """Cold chunks a question is about, the likeliest first."""
    user, agent = whose
    cold = hf.cold.list(user=user, agent=agent, limit=EVERY)
    try:
        hits = hf.recall(query, k=50, user=user, agent=agent)
    except HoldfastError:
        return []
    ids: dict[str, None] = {}
    for hit in hits:
        event = hit.event
        if event is None:
            continue
        for one in cold:
            mine = one.session_id == event.session_id and one.first <= event.event_seq <= one.last
            if mine:
                ids.setdefault(one.id)
    return list(ids)[:most]
