"""A window that the host holds, kept small: what leaves comes back, and the host is given the rest.

What always holds: everything that leaves is in the log before the host is given a shorter context; when
something fails, the host has the context it had; a compaction that would gain nothing is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from holdfast.capture.stamp import fresh_id
from holdfast.compact import hosted
from holdfast.compact.activity import HEALTH
from holdfast.compact.chunks import Chunk, milliseconds, stays
from holdfast.compact.deciding import Window, decide
from holdfast.compact.room import Room
from holdfast.model.compactions import Compaction, Past
from holdfast.model.events import Event

from . import compactions
from .compacting import known_of, left_before
from .looking import Looking, Ours, Seen, spans_of
from .quoting import said_as
from .summarizing import answers, beside, summaries, why_by_rule

if TYPE_CHECKING:
    pass

#: of the room that is aimed at, conversation gets at least this share, whatever else a host counts
_LEAST = 0.2
#: and that room is at most this share of where a compaction begins, or it would begin anew at once
_BELOW = 0.5


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What a compaction did to a host's context."""

    tokens_before: int
    tokens_after: int
    dropped: int = 0
    summarized: int = 0
    id: str = ""


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk of a host's context, and where its elements stand."""

    chunk: Chunk
    places: tuple[int, ...]


class Hosting(Looking):
    """The window of one session, held by a host."""

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
        """Give the host a shorter context; the same one when nothing would be gained."""
        seen, known = self.look(), known_of(self._s)
        before = self.used()
        events = {event.event_seq: event for _, event in seen.events()}
        pieces = self._pieces(seen)
        summarize = summaries(self._s, self._count, self._hf.settings.compact)
        room = beside(self._room(before, limit, seen), summarize)
        window = self._window(pieces, events, seen, prompt, room)
        floor = self._hf.settings.manager.min_score
        left = decide(window, self._hf.settings.compact, summarize, self._count, floor=floor)
        if left is None:
            return Made(tokens_before=before, tokens_after=before)
        cleaned = compactions.cleaned(self._hf, left.past)
        past = replace(cleaned, kept=tuple(sorted(cleaned.kept)))
        verdicts = left.decided
        gone = {
            n
            for one, of in zip(verdicts, pieces, strict=True)
            if one.verdict != "keep"
            for n in of.places
        }
        shorter = self._shorter(seen, gone, past)
        saved = self._size([one.given for one in seen.held]) - self._size(shorter)
        if saved <= 0:
            return Made(tokens_before=before, tokens_after=before)
        made = Compaction(
            id=fresh_id("evt"),
            event_seq=0,
            at="",
            strategy=self._hf.settings.compact.strategy,
            trigger=trigger,
            prompt=prompt,
            through=max([known.through, *events]),
            after=known.past,
            tokens_before=before,
            tokens_after=max(0, before - saved),
            window=limit,
            past=past,
            decided=(*left.gone, *verdicts),
            by_rule=why_by_rule(summarize),
        )
        also = [
            said_as(self._s, events.values(), prompt),
            *left_before(self._hf, window.earlier, past),
            *answers(summarize),
        ]
        return self._done(seen, shorter, made, also)

    def _done(
        self, seen: Seen, shorter: Sequence[Any], made: Compaction, also: Sequence[str]
    ) -> Made:
        """Say it, hand it over, write it down; `also` are further events that it is made of."""
        stay = set(made.past.kept)
        events = seen.events()
        gone = [event.event_id for _, event in events if event.event_seq not in stay]
        left = [seen.held[n].text for n, event in events if event.event_seq not in stay]
        gone += also
        self._begin(made, gone)
        self._hand_over(seen, shorter, spans_of(made.past), left)
        try:
            made = replace(made, tokens_after=self.used())
            self._write(made, gone)
        except BaseException:
            self._put_back(seen)
            raise
        self._back = {}
        self._hf.cold.take(made.id)
        self._hf.activity.follow()
        return Made(
            id=made.id,
            tokens_before=made.tokens_before,
            tokens_after=made.tokens_after,
            dropped=sum(one.verdict == "drop" for one in made.decided),
            summarized=sum(one.verdict == "summarize" for one in made.decided),
        )

    def _size(self, elements: Sequence[Any]) -> int:
        return sum(self._count(one.text) for one in hosted.pieces(list(elements)))

    def _room(self, used: int, limit: int, seen: Seen) -> Room:
        """Tokens of conversation that may stay: as many as its part in all that the host counts.

        A host may count otherwise than we do, or count what stands beside it; nobody can tell which.
        """
        settings = self._hf.settings.compact
        target = int(min(settings.compact_to, _BELOW * settings.compact_at) * limit)
        ours = sum(self._count(one.text) for one in seen.held)
        part = ours / max(used, ours, 1)
        aim = max(int(part * target), int(_LEAST * target))
        hold = int(part * settings.hold * settings.compact_at * limit)
        most = int(part * settings.most * limit)
        return Room(aim=aim, hold=max(aim, hold), most=max(aim, most), window=limit)

    def _pieces(self, seen: Seen) -> list[Piece]:
        """The chunks of a context, in the order in which they were said."""
        talk = seen.events()
        made = []
        for of in hosted.groups([seen.held[n] for n, _ in talk]):
            there = sorted((talk[n][1] for n in of), key=lambda event: event.event_seq)
            held = [seen.held[talk[n][0]] for n in of]
            marked = next(filter(None, (one.stays for one in held)), "")
            chunk = Chunk(
                id=there[0].event_id,
                seqs=tuple(event.event_seq for event in there),
                text="\n".join(one.text for one in held),
                tokens=sum(self._count(one.text) for one in held),
                at=milliseconds(there[-1].timestamp),
                stays=marked or next(filter(None, map(stays, there)), ""),
                turn=any(event.kind == "user_message" for event in there),
            )
            made.append(Piece(chunk=chunk, places=tuple(talk[n][0] for n in of)))
        return sorted(made, key=lambda one: one.chunk.first)

    def _window(
        self,
        pieces: Sequence[Piece],
        events: dict[int, Event],
        seen: Seen,
        prompt: str,
        room: Room,
    ) -> Window:
        return Window(
            chunks=tuple(one.chunk for one in pieces),
            events=events,
            earlier=_earlier(seen),
            prompt=prompt,
            now=self._hf.clock.now_ms(),
            room=room,
        )

    def _shorter(self, seen: Seen, gone: set[int], past: Past) -> list[Any]:
        """What stays, in its order, and each span where the last of what it stands for stood."""
        ordered: list[tuple[int, int, Any]] = [
            (n, 0, seen.held[n].given)
            for n, one in enumerate(seen.stand)
            if n not in gone and isinstance(one, Event)
        ]
        talk = seen.events()
        ours = [
            (n, one) for n, one in enumerate(seen.stand) if isinstance(one, Ours) and not one.chunk
        ]
        for text, one in spans_of(past).items():
            first, last = one.span.first, one.span.last
            stood = [n for n, event in talk if n in gone and first <= event.event_seq <= last]
            stood += [n for n, old in ours if first <= old.span.first and old.span.last <= last]
            place = max(stood, default=-1)
            ordered.append((place, first, hosted.element(seen.context, text)))
        ordered.sort(key=lambda one: one[:2])
        return [one for _, _, one in ordered]


def _earlier(seen: Seen) -> Past:
    """What of earlier compactions the host still shows."""
    there = [one for one in seen.stand if isinstance(one, Ours) and not one.chunk]
    return Past(
        lines=tuple(one.span for one in there if not one.short),
        shorts=tuple(one.span for one in there if one.short),
    )
