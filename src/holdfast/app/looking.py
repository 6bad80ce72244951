"""Looking at a window that the host holds: what is new in it is recorded, the rest is recognised.

What always holds: each element is recorded once, wherever in the context it stands by now and whatever
changed around it; words of ours in the context are never taken for somebody else's, also by a process
that goes on where another one died between handing over a shorter context and writing that down.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from holdfast.capture.stamp import fresh_id
from holdfast.compact import hosted
from holdfast.compact.hosted import Held
from holdfast.errors import Conflict, Damaged, HoldfastError, Invalid
from holdfast.model.cold import ColdChunk
from holdfast.model.compactions import Compaction, Past, Span
from holdfast.model.events import Draft, Event

from . import compactions, history
from .compacting import known_of, window
from .telling import redacted

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

#: what an event says that stands for a compaction which is about to be handed over
BEGUN = "compaction_begun"


class Ours(msgspec.Struct, frozen=True, kw_only=True):
    """Words of ours in a context, and what they stand for."""

    span: Span
    short: bool = False
    #: the chunk that came back with them; empty for what stands in the place of what left
    chunk: str = ""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A context as it is now: its elements, and for each its event or our words."""

    #: as the host gave it, its elements in a list that nobody else changes
    context: Any
    held: tuple[Held, ...]
    stand: tuple[Event | Ours, ...]

    def events(self) -> list[tuple[int, Event]]:
        """The conversation: where each of its events stands."""
        return [
            (n, one)
            for n, (one, held) in enumerate(zip(self.stand, self.held, strict=True))
            if isinstance(one, Event) and held.role not in hosted.FIXED
        ]


class Looking:
    """The window of one session as its host holds it."""

    def __init__(
        self,
        s: Session,
        get: Callable[[], Any],
        put: Callable[[Any], Any] | None,
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
        self._spans: dict[str, Ours] = {}
        self._back: dict[str, Ours] = {}
        #: what an element is recognised by, for what it says
        self._names: dict[str, str] = {}
        #: a compaction of another process that may have been handed over
        self._begun: Event | None = None
        self._go_on()

    def _go_on(self) -> None:
        """Recognise what an earlier process of this session left in the context."""
        known = known_of(self._s)
        stands = compactions.standing(self._hf, known)
        past, through = (stands.past, stands.through) if stands else (Past(), 0)
        self._spans = spans_of(past)
        for one in window(self._s, replace(known, through=through), past):
            said = one.payload if isinstance(one.payload, dict) else {}
            if isinstance(name := said.get(hosted.KNOWN), str):
                self._known.append((name, one))
        after = self._last_handed_over(known.past)
        for one in history.session_events(self._hf, self._s.info(), after=after):
            said = one.payload if isinstance(one.payload, dict) and one.origin == "system" else {}
            if one.kind == "signal_observed" and said.get("signal") == BEGUN:
                self._begun = one
            elif one.kind == "chunk_recovered" and said.get("how") == "auto":
                self._back.update(self._came(said.get("chunk")))

    def _last_handed_over(self, compaction: str) -> int:
        """Where the last compaction stands that changed the context; an end does not."""
        while (event := self._hf.log.find(compaction) if compaction else None) is not None:
            if event.erased:
                return 0
            try:
                made = compactions.read(self._hf, event)
            except Damaged:
                return 0
            if made.trigger != "session_end":
                return event.event_seq
            compaction = made.after
        return 0

    def _came(self, chunk_id: Any) -> dict[str, Ours]:
        """The words that brought a chunk back."""
        try:
            found = self._hf.cold.get(chunk_id, user=self._s.principal, agent=self._s.agent)
        except HoldfastError:
            return {}
        text = hosted.back(found.chunk.first, found.chunk.last, found.content)
        return {text: brought(found.chunk)}

    def used(self) -> int:
        """Tokens of the context: as the host counts them, else as we do."""
        if self._tokens is None:
            return sum(self._count(one.text) for one in hosted.pieces(self._get()))
        said = self._tokens()
        try:
            return _number(said)
        except (TypeError, ValueError, OverflowError) as exc:
            raise Invalid(f"get_token_count gives a number of tokens, not {said!r}") from exc

    # ---- looking ---------------------------------------------------------------------------

    def look(self, context: Any = None) -> Seen:
        """Record what is new in the context; what was there before is recognised."""
        context = self._get() if context is None else context
        held = hosted.pieces(context)
        whole = hosted.like(context, [one.given for one in held])
        self._finish(held)
        names = self._named(held)
        stand: list[Event | Ours | None] = [self._ours(one) for one in held]
        rest = [n for n, one in enumerate(stand) if one is None]
        found = _recognised([(n, names[n]) for n in rest if not _fixed(held[n])], self._known)
        found = _whole_groups(held, [n for n in rest if not _fixed(held[n])], found)
        fixed = {name: event for name, event in self._known if event.kind == "system_event"}
        for n in rest:
            stand[n] = fixed.get(names[n]) if _fixed(held[n]) else found.get(n)
        fresh = [n for n in rest if stand[n] is None]
        new = self._recorded([(held[n], names[n]) for n in fresh])
        for n, event in zip(fresh, new, strict=True):
            stand[n] = event
        all_of = tuple(one for one in stand if one is not None)
        self._known = [
            (name, one) for name, one in zip(names, all_of, strict=True) if isinstance(one, Event)
        ]
        return Seen(context=whole, held=tuple(held), stand=all_of)

    def _named(self, held: Sequence[Held]) -> list[str]:
        """What each element is recognised by; of their words without secrets."""
        said = [one.said for one in held]
        self._names = {
            one: self._names.get(one) or hosted.known_by(redacted(self._hf, one)) for one in said
        }
        return [self._names[one] for one in said]

    def _recorded(self, held: Sequence[tuple[Held, str]]) -> list[Event]:
        drafts = [self._draft(one.kind(), one.payload(name), one.origin()) for one, name in held]
        return self._hf.record(drafts) if drafts else []

    def _draft(
        self,
        kind: str,
        payload: Mapping[str, Any],
        origin: str = "system",
        sources: Iterable[str] = (),
        event_id: str | None = None,
    ) -> Draft:
        s = self._s
        return Draft(
            type=kind,
            payload=dict(payload),
            origin=origin,
            session_id=s.id,
            agent=s.agent,
            user=s.principal,
            event_id=event_id,
            sources=tuple(sources),
        )

    def _ours(self, one: Held) -> Ours | None:
        text = one.text.strip()
        return self._spans.get(text) or self._back.get(text)

    # ---- handing over ----------------------------------------------------------------------

    def _hand_over(
        self,
        seen: Seen,
        elements: Sequence[Any],
        ours: Iterable[str] = (),
        gone: Iterable[str] = (),
    ) -> None:
        """Give the host another context; it has the one it had where that does not work.

        It must hold our words then, and less of what is gone.
        """
        if self._put is None:
            raise Invalid("without set_context nothing can leave; give ContextManager one")
        before = Counter(one.text for one in seen.held)
        try:
            self._put(hosted.like(seen.context, elements))
            there = [one.text for one in hosted.pieces(self._get())]
            after = Counter(there)
            left = all(after[text] < before[text] for text in gone)
            if not left or not set(ours) <= {text.strip() for text in there}:
                raise Conflict(
                    "set_context was called, and get_context does not give what it was given; "
                    "the context is as it was"
                )
        except BaseException:
            self._put_back(seen)
            raise

    def _put_back(self, seen: Seen) -> None:
        """The host has the context it had, whatever happened in between."""
        before = [one.given for one in seen.held]
        try:
            same = [one.given for one in hosted.pieces(self._get())] == before
        except Exception:  # noqa: BLE001  (the host's own; what matters is that it has its context)
            same = False
        if not same and self._put is not None:
            self._put(hosted.like(seen.context, before))

    # ---- writing down ----------------------------------------------------------------------

    def _begin(self, made: Compaction, gone: Sequence[str]) -> None:
        """Say what is about to be handed over, so that whoever goes on knows it again."""
        said = compactions.said(self._hf, made, self._hf.settings.compact)
        payload = {"signal": BEGUN, **said}
        sources = filter(None, dict.fromkeys((made.after, *gone)))
        self._hf.record([self._draft("signal_observed", payload, sources=sources)])

    def _write(self, made: Compaction, gone: Sequence[str]) -> None:
        """The compaction; from here on the window is as it says."""
        said = compactions.said(self._hf, made, self._hf.settings.compact)
        sources = filter(None, dict.fromkeys((made.after, *gone)))
        self._hf.record([self._draft("compacted", said, sources=sources, event_id=made.id)])
        if known_of(self._s).past != made.id:
            raise Conflict("somebody else compacted this session at the same time; try again")
        stay = set(made.past.kept)
        self._known = [
            (name, event)
            for name, event in self._known
            if event.event_seq in stay or event.kind == "system_event"
        ]
        self._spans = spans_of(made.past)

    def settle(self) -> None:
        """Write down what another process handed over and could not write down, if one did."""
        if self._begun is not None:
            self._finish(hosted.pieces(self._get()))

    def _finish(self, held: Sequence[Held]) -> None:
        """Write down what was handed over by a process that died before it could."""
        event, self._begun = self._begun, None
        if event is None or event.erased:
            return
        try:
            found = compactions.read(self._hf, replace(event, type="compacted"))
        except Damaged as exc:
            self._hf.tell(f"{exc}; what was handed over is taken for what somebody said")
            return
        there = {one.text.strip() for one in held}
        if found.after != known_of(self._s).past or not set(spans_of(found.past)) <= there:
            return
        made = replace(found, id=fresh_id("evt"), tokens_after=self.used())
        self._write(made, [one for one in event.sources if one != found.after])
        self._hf.cold.take(made.id)
        self._hf.activity.follow()


def brought(chunk: ColdChunk) -> Ours:
    """What the words stand for that brought a chunk back."""
    span = Span(first=chunk.first, last=chunk.last, tokens=chunk.tokens)
    return Ours(span=span, chunk=chunk.id)


def spans_of(past: Past) -> dict[str, Ours]:
    """Our words in a context, and what they stand for."""
    both = ((True, past.shorts), (False, past.lines))
    return {
        hosted.in_place(span, short=short): Ours(span=span, short=short)
        for short, spans in both
        for span in spans
    }


def _fixed(one: Held) -> bool:
    return one.role in hosted.FIXED


def _number(said: Any) -> int:
    found = int(said)
    if isinstance(said, bool | str) or found < 0:
        raise ValueError(said)
    return found


def _recognised(
    elements: Sequence[tuple[int, str]], known: Sequence[tuple[str, Event]]
) -> dict[int, Event]:
    """Which elements were there before; each event stands once, in its order where that can be."""
    talk = [(name, event) for name, event in known if event.kind != "system_event"]
    places: dict[str, list[int]] = defaultdict(list)
    for n, (name, _) in enumerate(talk):
        places[name].append(n)
    found: dict[int, Event] = {}
    at = 0
    for n, name in elements:
        free = places.get(name)
        if not free:
            continue
        place = free.pop(min(bisect_left(free, at), len(free) - 1))
        at = max(at, place + 1)
        found[n] = talk[place][1]
    return found


def _whole_groups(
    held: Sequence[Held], talk: Sequence[int], found: Mapping[int, Event]
) -> dict[int, Event]:
    """The same, without calls and results that something else was recorded between.

    What stays or leaves together is recorded together: the places of its events are its own.
    """
    kept = dict(found)
    taken = sorted(event.event_seq for event in found.values())
    for of in hosted.groups([held[n] for n in talk]):
        members = [talk[n] for n in of]
        seqs = [found[n].event_seq for n in members if n in found]
        if len(members) < 2 or not seqs:
            continue
        last = taken[-1] if len(seqs) < len(members) else max(seqs)
        between = bisect_right(taken, last) - bisect_left(taken, min(seqs))
        if between > len(seqs):
            for n in members:
                kept.pop(n, None)
    return kept
