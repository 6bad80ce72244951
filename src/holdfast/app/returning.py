"""What comes back into a window that the host holds, what of it goes again, what its end leaves.

What always holds: nothing comes back that would make a compaction due; it is written down before it
comes; words that came back are data, and leave at the next compaction or when nobody asks about them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from holdfast.capture.stamp import fresh_id
from holdfast.compact import hosted, scoring
from holdfast.compact.activity import CURATED
from holdfast.compose.history import spoken
from holdfast.errors import HoldfastError
from holdfast.model.cold import Cold
from holdfast.model.compactions import ARCHIVED, Compaction, Curation, Decided, Past
from holdfast.views.cold import LONGEST
from holdfast.views.view import brief

from . import bodies, compactions, history
from .cold import EVERY
from .compacting import known_of
from .hosting import Hosting
from .looking import Ours, Seen, brought
from .quoting import said_as
from .recovering import Need, came_back

#: chunks that may come back at a time
_MOST = 5
#: hits that are looked at for them
_HITS = 50


class Returning(Hosting):
    """The window of one session, held by a host, with what comes back into it."""

    # ---- before an answer ------------------------------------------------------------------

    def bring_back(self, prompt: str, limit: int) -> int:
        """Put back what left and is about what is asked now; how many chunks.

        What left for this very prompt was weighed for it already, and stays away; so does what there is
        no room for.
        """
        hf, s = self._hf, self._s
        if not prompt.strip() or self._put is None:
            return 0
        ids = [one for one in self._gone(prompt, s.id) if isinstance(one, str)][:_MOST]
        if not ids:
            return 0
        seen = self.look()
        there = {one.chunk for one in seen.stand if isinstance(one, Ours)}
        cold = [one for one in self._cold(ids, prompt) if one.chunk.id not in there]
        texts = [one.text for one in seen.held]
        likely = self._meant(prompt, [*texts, *(one.content for one in cold)])[len(texts) :]
        room = int(hf.settings.compact.compact_at * limit) - self.used()
        fits: list[tuple[Cold, str]] = []
        for one, meant in zip(cold, likely, strict=True):
            text = hosted.back(one.chunk.first, one.chunk.last, one.content)
            size = self._count(text)
            if meant and size < room:
                fits.append((one, text))
                room -= size
        if not fits:
            return 0
        need = Need(prompt, "auto", self._said_by(seen, prompt))
        hf.record([came_back(hf, one.chunk, need) for one, _ in fits])
        elements = [one.given for one in seen.held]
        place = self._before_the_last(seen)
        new = [hosted.element(seen.context, text) for _, text in fits]
        self._hand_over(
            seen, [*elements[:place], *new, *elements[place:]], [text for _, text in fits]
        )
        self._back.update({text: brought(one.chunk) for one, text in fits})
        hf.activity.follow()
        return len(fits)

    def _cold(self, ids: Sequence[str], prompt: str) -> list[Cold]:
        """Those of these chunks that left for another prompt, and can be read."""
        read = []
        for chunk_id in ids:
            try:
                one = self._hf.cold.get(chunk_id, user=self._s.principal, agent=self._s.agent)
            except HoldfastError:
                continue
            if one.chunk.prompt != brief(prompt, LONGEST):
                read.append(one)
        return read

    def _meant(self, prompt: str, texts: Sequence[str]) -> list[bool]:
        """Which texts are so much about a prompt that it alone would keep them from being dropped."""
        settings, floor = self._hf.settings.compact, self._hf.settings.manager.min_score
        alike = scoring.likeness(prompt, texts)
        return [one >= floor and settings.similarity * one > settings.drop for one in alike]

    def _before_the_last(self, seen: Seen) -> int:
        """Before what was said last, and never between a call and its result."""
        places = [n for n, _ in seen.events()]
        groups = hosted.groups([seen.held[n] for n in places])
        return places[groups[-1].start] if groups else len(seen.held)

    # ---- after an answer -------------------------------------------------------------------

    def curate(self, prompt: str, limit: int) -> Curation | None:
        """Rank anew what came back, once the window is so full; what is beside the point goes."""
        settings = self._hf.settings.compact
        if not prompt.strip() or self._put is None or not self._back:
            return None
        before = self.used()
        if before < settings.curate_at * limit:
            return None
        seen = self.look()
        back = [n for n, one in enumerate(seen.stand) if isinstance(one, Ours) and one.chunk]
        texts = [one.text for one in seen.held]
        meant = self._meant(prompt, texts)
        stale = {n for n in back if not meant[n]}
        tokens = {n: self._count(texts[n]) for n in back}
        if sum(tokens[n] for n in stale) <= settings.curate_stale * sum(tokens.values()):
            return None
        stays = [one.given for n, one in enumerate(seen.held) if n not in stale]
        self._hand_over(seen, stays, gone=[texts[n] for n in stale])
        for n in stale:
            self._back.pop(texts[n].strip(), None)
        made = Curation(
            query=prompt,
            hits_found=len(back) - len(stale),
            total_hits_before_curation=len(back),
            token_savings=max(0, before - self.used()),
            drops_triggered=len(stale),
        )
        self._s.record(
            "signal_observed",
            {"signal": CURATED, **_said(made)},
            origin="system",
            sources=tuple(filter(None, (self._said_by(seen, prompt),))),
        )
        self._hf.activity.follow()
        return made

    def _said_by(self, seen: Seen, prompt: str) -> str:
        """The event that says a prompt, if one does."""
        return said_as(self._s, [event for _, event in seen.events()], prompt)

    # ---- at the end ------------------------------------------------------------------------

    def archive(self) -> None:
        """What the context still holds is cold from here on, too; whoever goes on finds it as it is."""
        if not (self._hf.settings.compact.cold and self._hf.settings.manager.archive):
            return
        hf, s, seen = self._hf, self._s, self.look()
        events = {event.event_seq: event for _, event in seen.events()}
        cold = {one.id for one in hf.cold.list(s.id, user=s.principal, agent=s.agent, limit=EVERY)}
        chunks = [one.chunk for one in self._pieces(seen)]
        chunks = [one for one in chunks if one.id not in cold]
        if not chunks:
            return
        there = [one for one in seen.stand if isinstance(one, Ours) and not one.chunk]
        used, known = self.used(), known_of(s)
        made = Compaction(
            id=fresh_id("evt"),
            event_seq=0,
            at="",
            strategy=hf.settings.compact.strategy,
            trigger=ARCHIVED,
            prompt="",
            through=max([known.through, *events]),
            after=known.past,
            tokens_before=used,
            tokens_after=used,
            window=None,
            past=Past(
                lines=tuple(one.span for one in there if not one.short),
                shorts=tuple(one.span for one in there if one.short),
                kept=tuple(sorted(events)),
            ),
            decided=tuple(
                Decided(
                    id=one.id,
                    first=one.first,
                    last=one.last,
                    tokens=one.tokens,
                    verdict="drop",
                    why=ARCHIVED,
                )
                for one in chunks
            ),
        )
        self._write(made, [event.event_id for event in events.values()])
        hf.cold.bring(s.id, s.principal, s.agent)

    # ---- on request ------------------------------------------------------------------------

    def about(self, query: str, most: int) -> list[str]:
        """What left and a question is about, verbatim; half of it from this conversation."""
        both = zip_longest(self._gone(query, self._s.id), self._gone(query, None))
        wanted = dict.fromkeys(one for pair in both for one in pair if one is not None)
        told: list[str] = []
        for one in list(wanted)[:most]:
            if isinstance(one, str):
                told.append(self._s.recover(one, prompt=query).content)
            else:
                told += self.recover(one, one)
        return told

    def _gone(self, query: str, session_id: str | None) -> Iterator[str | int]:
        """What recall finds of what left: cold chunks; of this session also summarised events."""
        hf, s = self._hf, self._s
        try:
            hits = hf.recall(query, k=_HITS, user=s.principal, agent=s.agent, session_id=session_id)
        except HoldfastError as exc:
            hf.tell(f"nothing that left could be looked for: {exc}")
            return
        for event in filter(None, (hit.event for hit in hits)):
            whose = s.principal, s.agent, event.session_id or ""
            chunk = next(iter(hf.cold.known.holding(whose, [event.event_seq])), None)
            if chunk is not None:
                yield chunk.id
            elif event.session_id == s.id and self._left(event.event_seq):
                yield event.event_seq

    def _left(self, seq: int) -> bool:
        """Does a line or a summary of the window stand for this event?"""
        stands = compactions.standing(self._hf, known_of(self._s))
        past = stands.past if stands else Past()
        spans = (*past.lines, *past.shorts)
        return seq not in past.kept and any(one.first <= seq <= one.last for one in spans)

    def recover(self, first: int, last: int) -> list[str]:
        """What was said from one event to another, verbatim; of what is cold it is noted."""
        hf, s = self._hf, self._s
        cold = [
            one
            for one in hf.cold.list(
                s.id, user=s.principal, agent=s.agent, expired=True, limit=EVERY
            )
            if one.first <= last and one.last >= first
        ]
        ids = dict.fromkeys(one.id for one in sorted(cold, key=lambda one: one.first))
        told = [(hf.cold.find(one, s.principal, s.agent).first, one) for one in ids]
        parts = [(at, s.recover(one).content) for at, one in told]
        for event in history.session_events(hf, s.info(), after=first - 1, before=last + 1):
            covered = any(one.first <= event.event_seq <= one.last for one in cold)
            if spoken(event) and not covered:
                parts.append((event.event_seq, bodies.pieces(hf, event).text))
        return [text for _, text in sorted(parts, key=lambda part: part[0])]


def _said(of: Curation) -> dict[str, Any]:
    return {
        "query": of.query,
        "hits_found": of.hits_found,
        "total_hits_before_curation": of.total_hits_before_curation,
        "token_savings": of.token_savings,
        "drops_triggered": of.drops_triggered,
    }
