"""Cold: what compactions dropped. `hf.cold` lists it, reads it, lets it run out; sessions recover it.

What always holds: the log has every byte, and what is answered is what the log says; a copy is a file
that may go at any time and is made again; whose session it was decides who is told that it is there.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.capture.layout import COLD
from holdfast.capture.stamp import timestamp
from holdfast.compact.cold import copy_of, decoded, encoded, readable
from holdfast.engines.files import Beside
from holdfast.errors import Damaged, Erased, HoldfastError, Invalid, NotFound
from holdfast.model.cold import Cold, ColdChunk, Expiry
from holdfast.model.events import Draft
from holdfast.views.view import within

from . import left, sessions
from .bodies import pieces
from .cold_rows import ColdRows
from .doubts import doubt
from .strays import Strays

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: chunks of a list
_MOST = 1_000
#: more than there are
EVERY = 1 << 40
#: copies that are written while nothing else may be
_TOGETHER = 100


class ColdStorage:
    """The cold chunks of one project: `hf.cold`."""

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf
        #: which chunks there are
        self.known = ColdRows(hf)
        self._files = Beside(hf.folder, COLD, hf.settings.manager.cold_path, hf.project.id)
        #: what happened to copies that a person should know
        self.notices: builtins.list[str] = []

    # ---- reading ---------------------------------------------------------------------------

    def list(
        self,
        session_id: str | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        expired: bool = False,
        limit: int = _MOST,
    ) -> builtins.list[ColdChunk]:
        """What left a session, or any session of a user's agents; what was dropped last comes first.

        With `expired` also what ran out, which its handle still shows. What going back to a checkpoint
        brought back is cold no more.
        """
        if type(limit) is not int or limit < 1:
            raise Invalid(f"limit is a whole number from 1 on, not {limit!r}")
        whose, of = self._hf._whose(user), sessions.one_or_all(agent)
        if session_id is not None:
            sessions.one("session", session_id)
        found = [
            one
            for one in self.known.chunks(within(whose) if of is None else within(whose, of))
            if session_id in (None, one.session_id)
            and one.back is None
            and (expired or not one.expired)
        ]
        return sorted(found, key=lambda one: (-one.compaction, -one.first))[:limit]

    def get(self, chunk_id: str, *, user: str | None = None, agent: str | None = None) -> Cold:
        """One chunk, verbatim, as the log has it; `note` says when its copy was not the same."""
        chunk = self.find(chunk_id, self._hf._whose(user), sessions.one_or_all(agent))
        generation = self._hf.log.head().generation
        try:
            copy, note = left.copied(self._hf, left.read(self._hf, chunk))
        except Damaged:
            return self._from_copy(chunk)
        if chunk.living and self._hf.settings.compact.cold:
            kept, expected = self._kept(chunk), encoded(copy)
            if kept != expected:
                what = "missing" if kept is None else "damaged"
                if not _says(kept, expected):
                    note = _both(note, f"its copy was {what}; this is what the log says")
                self._written({self.path(chunk): expected}, generation)
        return Cold(
            chunk=chunk, content=copy.content, sha256=copy.sha256, parts=copy.parts, note=note
        )

    def find(self, chunk_id: str, user: str, agent: str | None = None) -> ColdChunk:
        """A chunk of this user's (and this agent's); NotFound in the same words for anybody else's.

        Of one that left several times the living one, else the latest.
        """
        lost = NotFound(f"there is no cold chunk {chunk_id!r}; `holdfast cold list` names them")
        if not isinstance(chunk_id, str):
            raise lost
        event = self._hf.log.find(chunk_id)
        if event is None or event.erased:
            of = within(user) if agent is None else within(user, agent)
        elif event.user != user or event.session_id is None or agent not in (None, event.agent):
            raise lost
        else:
            of = within(event.user, event.agent, event.session_id)
        found = [chunk for chunk in self.known.chunks(of) if chunk.id == chunk_id]
        if not found:
            raise lost
        return next((chunk for chunk in found if chunk.living), found[0])

    def count(self, *, agent: str | None = None, user: str | None = None) -> int:
        """How many chunks of a user's agents are cold."""
        return len(self.list(agent=agent, user=user, limit=EVERY))

    # ---- running out -----------------------------------------------------------------------

    def expire(self, *, dry_run: bool = True, user: str | None = None) -> Expiry:
        """Remove copies whose time is over, and take what they hold out of recall.

        Each is an event; the handle still shows it from the log. Nothing runs out by a clock that is
        before the newest event, or that the log has not seen go for a day (`doubts.py`).
        """
        hf, whose = self._hf, self._hf._whose(user)
        clock = hf.clock.now_ms()
        now = timestamp(clock)
        every = list(self.known.chunks(within(whose)))
        living = [one for one in every if one.living]
        due = [one for one in living if one.until <= now]
        due.sort(key=lambda one: (one.compaction, one.first))
        paused = doubt(hf, clock, due[0].compaction) if due else ""
        if paused:
            return Expiry(chunks=(), dry_run=dry_run, paused=paused)
        stay = {self.path(one) for one in living if one.until > now}
        if not dry_run:
            for some in range(0, len(due), 1_000):
                lately = left.each(hf, due[some : some + 1_000])
                hf.record([_ran_out(one) for one in lately])
            there = set(self._files.files())
            over = [*due, *(one for one in every if one.expired)]
            self._removed([o for o in over if self.path(o) in there and self.path(o) not in stay])
        return Expiry(chunks=tuple(due), dry_run=dry_run)

    def overdue(self, user: str) -> None:
        """Let run out what is due of a user's; trouble is told, not raised."""
        try:
            self.expire(dry_run=False, user=user)
        except HoldfastError as exc:
            self._tell(f"what ran out could not be removed; the next session's end will: {exc}")

    # ---- copies ----------------------------------------------------------------------------

    @property
    def folder(self) -> str:
        """Where copies lie."""
        return self._files.root

    def path(self, chunk: ColdChunk) -> str:
        """Where the copy of a chunk lies."""
        return self.place(chunk.session_id, chunk.id)

    def place(self, session_id: str, chunk_id: str) -> str:
        """The same by its names."""
        return self._files.path(session_id, chunk_id, ending=".jsonl")

    def bring(self, session_id: str, user: str, agent: str | None) -> None:
        """Make the copies of a session that are missing; trouble is told, not raised."""
        if self._hf.settings.compact.cold:
            chunks = list(self.known.chunks(within(user, agent, session_id)))
            self._bring(chunks, set(self._files.files(session_id)), only_missing=True)

    def take(self, compaction_id: str) -> None:
        """Make the copies of what one compaction dropped; trouble is told, not raised.

        The log has all of it: a window that was compacted stays so. What it brought back has no copy
        any more. Where whoever made the compaction before this one died over its copies, all that are
        missing are made.
        """
        event = self._hf.log.find(compaction_id)
        if event is None or not self._hf.settings.compact.cold:
            return
        session_id = event.session_id or ""
        there = set(self._files.files(session_id))
        self._bring(self.known.dropped_by(event), set(), only_missing=False)
        again = self.known.brought_back(event)
        self._let_go({self.place(session_id, one) for one in again} & there)
        before = [one for one in self.known.dropped_before(event) if one.id not in again]
        if any(self.path(one) not in there for one in before if one.living):
            self.bring(session_id, event.user or "", event.agent)

    def rebuild(self, progress: Callable[[int], None] | None = None) -> int:
        """Make every copy anew that is not what the log says, remove what is none; how many are kept.

        One that nobody asks for stays where it may be all there is.
        """
        there = list(self.known.chunks(""))
        wanted = there if self._hf.settings.compact.cold else []
        files = set(self._files.files())
        kept = self._bring(wanted, files, only_missing=False, progress=progress)
        over = {path for path in files - kept if path.endswith((".jsonl", ".tmp"))}
        drafts = {path for path in over if path.endswith(".tmp")}
        strays, back = Strays(self._hf), {self.path(one) for one in there if one.back}
        for path in drafts:
            self._remove(path)
        stay = self._let_go((over - drafts) & back)
        stay |= self._let_go(over - drafts - back, strays.may_go)
        for lost in self.known.lost():
            self._tell(
                f"the compaction {lost} cannot be read any more; what it dropped is not listed as "
                "cold, and expands by its handles"
            )
        return len(kept | stay)

    def _let_go(
        self, paths: Iterable[str], may_go: Callable[[bytes], bool] | None = None
    ) -> set[str]:
        """Remove copies that nobody needs any more; those that stay, which is told."""
        may_go, stay = may_go or Strays(self._hf).shown, set()
        for path in paths:
            if may_go(self._read(path) or b""):
                self._remove(path)
            else:
                stay.add(path)
        if stay:
            self._tell(
                f"{len(stay)} copies in {self.folder} stay though no compaction asks for them: the "
                "log is damaged, and they may be all there is; see `holdfast verify`"
            )
        return stay

    def _bring(
        self,
        chunks: Sequence[ColdChunk],
        there: set[str],
        *,
        only_missing: bool,
        progress: Callable[[int], None] | None = None,
    ) -> set[str]:
        """Make the copies that are missing, or not as they should be; those that are kept."""
        generation = self._hf.log.head().generation
        living = [one for one in chunks if one.living]
        stay = {self.path(one) for one in living}
        over = [one for one in chunks if one.expired and self.path(one) in there]
        self._removed([one for one in over if self.path(one) not in stay])
        kept = (
            {path for one in living if (path := self.path(one)) in there} if only_missing else set()
        )
        wanted = [one for one in living if self.path(one) not in kept]
        anew: dict[str, bytes] = {}
        for n, found in enumerate(left.each(self._hf, wanted)):
            path = self.path(found.chunk)
            try:
                data = encoded(left.copied(self._hf, found)[0])
            except Erased:
                continue
            except HoldfastError:  # whoever asks for it is told why; a copy may be all there is
                kept.add(path)
                continue
            if not (path in there and self._kept(found.chunk) == data):
                anew[path] = data
            if len(anew) == _TOGETHER:
                if not self._written(anew, generation):
                    return kept | there
                anew.clear()
            kept.add(path)
            if progress is not None:
                progress(n + 1)
        return kept if self._written(anew, generation) else kept | there

    def _written(self, copies: Mapping[str, bytes], generation: int) -> bool:
        """Write copies where they belong, all of them under one lock."""
        if not copies:
            return True
        try:
            with self._files.writing(generation):
                for path, data in copies.items():
                    self._files.put(path, data)
        except HoldfastError as exc:
            self._tell(f"a copy of what left could not be kept; the log has it: {exc}")
            return False
        return True

    def _removed(self, chunks: Iterable[ColdChunk]) -> None:
        for chunk in chunks:
            self._remove(self.path(chunk))

    def _remove(self, path: str) -> None:
        try:
            self._files.remove(path)
        except HoldfastError as exc:
            self._tell(f"a copy that is over could not be removed: {exc}")

    def _tell(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)

    def _kept(self, chunk: ColdChunk) -> bytes | None:
        return self._read(self.path(chunk))

    def _read(self, path: str) -> bytes | None:
        try:
            return self._files.get(path)
        except HoldfastError:
            return b""

    # ---- from the log ----------------------------------------------------------------------

    def _from_copy(self, chunk: ColdChunk) -> Cold:
        """What its copy says, or what is left, where the log is damaged."""
        kept = self._kept(chunk) or b""
        copy, note = decoded(kept), "the log is damaged there; this is what its copy says"
        if copy is None and (words := readable(kept)) is not None:
            copy = replace(words, parts=())
            note = "the log is damaged there and part of its copy; these are the words of the copy"
        if copy is None or (copy.chunk_id, copy.session_id) != (chunk.id, chunk.session_id):
            there = [one for one in left.read(self._hf, chunk).events if not one.erased]
            if not there:
                raise Damaged(
                    f"neither the log nor a copy can show {chunk.id}; see `holdfast verify`"
                )
            copy = copy_of(chunk, [pieces(self._hf, event) for event in there])
            note = "the log is damaged there and so is its copy; this is what is left"
        return Cold(
            chunk=chunk, content=copy.content, sha256=copy.sha256, parts=copy.parts, note=note
        )


def _ran_out(of: left.Left) -> Draft:
    chunk = of.chunk
    known = f"{chunk.compaction_id} {chunk.id}".encode()
    return Draft(
        type="chunk_expired",
        payload={
            "chunk": chunk.id,
            "compaction": chunk.compaction,
            "events": [event.event_id for event in of.events],
        },
        origin="system",
        session_id=chunk.session_id,
        agent=chunk.agent,
        user=chunk.user,
        # two who let it run out at the same time say it once
        event_id=f"evt_expired_{sha256(known).hexdigest()[:40]}",
    )


def _says(kept: bytes | None, expected: bytes) -> bool:
    """Does a copy say the same, though an earlier version wrote it?"""
    copy = decoded(kept or b"")
    return copy is not None and encoded(copy) == expected


def _both(one: str, other: str) -> str:
    return "; ".join(filter(None, (one, other)))
