"""Shelves in memory: what a SearchIndex means with nothing in the way; the spare when a file fails."""

from __future__ import annotations

import re
import secrets
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import heapify, heappop, nlargest, nsmallest
from math import log

import msgspec

from holdfast.model.events import Position
from holdfast.model.search import FOREVER, MEMORY, Document, Held, Page, Passage, Size, Wanted
from holdfast.ports.search import Numbered

#: BM25's constants, and the least a word counts however common it is, as SQLite has them
_K1, _B, _LEAST = 1.2, 0.75, 1e-6
#: what can be a word of a passage; anything else is on no shelf
_WORD = re.compile("[a-z0-9\x80-\ud7ff\ue000-\U0010ffff]+")

Stems = Callable[[str], str]
#: how much a passage says of each stem, and how many words it is found by
Counted = tuple[dict[str, float], int]


class MemorySearch:
    """The shelves of one project, as long as the process lives."""

    def __init__(self, stems: Stems, weights: tuple[float, float] = (1.0, 0.7)) -> None:
        self._stems = stems
        #: how much a word counts that a passage says itself, and one that came before it
        self._weights = weights
        self._shelves: dict[str, _Shelf] = {}
        self._by_number: dict[int, _Shelf] = {}
        self._position: Position | None = None
        self._edition = ""
        self._lock = threading.RLock()

    def position(self) -> Position | None:
        """How far of the log the shelves include."""
        with self._lock:
            return self._position

    def edition(self) -> str:
        """Changes when everything is made anew."""
        with self._lock:
            return self._edition

    def shelf(self, owner: str) -> int | None:
        """The number of an owner's shelf."""
        with self._lock:
            found = self._shelves.get(owner)
        return None if found is None else found.number

    def owned(self) -> list[int]:
        """Every shelf."""
        with self._lock:
            return sorted(self._by_number)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything read inside belongs to one position."""
        with self._lock:
            yield

    @contextmanager
    def _on(self, shelf: int) -> Iterator[_Shelf]:
        """A shelf that stays as it is meanwhile; an empty one where there is none."""
        with self._lock:
            yield self._by_number.get(shelf) or _Shelf(shelf)

    # ---- writing ---------------------------------------------------------------------------

    def add(
        self,
        base: Position | None,
        pages: Sequence[Page],
        position: Position,
        *,
        anew: bool = False,
        held: Mapping[str, Held] | None = None,
        numbered: Numbered | None = None,
    ) -> bool:
        """Advance from `base` to `position`; False when the shelves are no longer at `base`."""
        with self._lock:
            if self._position != base:
                return False
            edition = self._edition
            shelves = dict(self._shelves)
            if anew or base is None:
                self._edition, shelves = secrets.token_hex(8), {}
            try:
                placed = self._placed(shelves, pages, numbered)
            except BaseException:
                self._edition = edition
                raise
            for shelf, entries in placed:
                shelf.take(entries)
            for memory, until in (held or {}).items():
                for shelf in shelves.values():
                    shelf.settle(memory, until)
            self._shelves, self._position = shelves, position
            self._by_number = {shelf.number: shelf for shelf in shelves.values()}
        return True

    def _placed(
        self, shelves: dict[str, _Shelf], pages: Sequence[Page], numbered: Numbered | None
    ) -> list[tuple[_Shelf, list[_Entry]]]:
        """Where everything will stand. Nothing that is on a shelf already is touched."""
        by_owner: dict[str, list[Page]] = {}
        for page in pages:
            by_owner.setdefault(page.owner, []).append(page)
        placed = []
        for owner, some in by_owner.items():
            shelf = shelves.setdefault(owner, _Shelf(len(shelves) + 1))
            entries = shelf.entries(some, self._counted)
            placed.append((shelf, entries))
            passages = [passage for entry in entries for passage in entry.passages]
            if numbered is not None and passages:
                numbered(shelf.number, passages)
        return placed

    def _counted(self, passage: Passage) -> Counted:
        counts: dict[str, float] = {}
        length = 0
        for words, weight in zip((passage.own, passage.context), self._weights, strict=True):
            for stem in filter(None, self._stems(words).split(" ")):
                counts[stem] = counts.get(stem, 0.0) + weight
                length += 1
        return counts, length

    def discard(self) -> None:
        """Throw away everything."""
        with self._lock:
            self._shelves, self._by_number = {}, {}
            self._position, self._edition = None, secrets.token_hex(8)

    # ---- by words --------------------------------------------------------------------------

    def size(self, shelf: int) -> Size:
        """How much is on it."""
        with self._on(shelf) as on:
            return Size(documents=len(on.documents), passages=len(on.passages), words=on.words)

    def frequency(self, shelf: int, words: Iterable[str]) -> dict[str, int]:
        """In how many passages each of these words occurs."""
        with self._on(shelf) as on:
            return {word: len(on.said.get(self._stem(word), ())) for word in words}

    def matching(self, shelf: int, words: Sequence[str], wanted: Wanted, most: int) -> list[int]:
        """The passages that say most of these words, best first."""
        with self._on(shelf) as on:
            scores = on.scores(dict.fromkeys(map(self._stem, words)))
            best = [(-score, number) for number, score in scores.items()]
            heapify(best)
            found: list[int] = []
            while best and len(found) < most:
                _, number = heappop(best)
                if on.fits(on.passages[number - 1].document, wanted):
                    found.append(number)
            return found

    def _stem(self, word: str) -> str:
        return self._stems(word) if _WORD.fullmatch(word) else ""

    # ---- by what is wanted -----------------------------------------------------------------

    def fitting(self, shelf: int, numbers: Sequence[int], wanted: Wanted) -> list[int]:
        """Those of these passages that are wanted, in the same order."""
        with self._on(shelf) as on:
            return [
                number
                for number in numbers
                if on.has_passage(number) and on.fits(on.passages[number - 1].document, wanted)
            ]

    def few(self, shelf: int, wanted: Wanted, most: int) -> list[int] | None:
        """Every passage that is wanted, if there are no more than so many; else None."""
        found: list[int] = []
        with self._on(shelf) as on:
            for document in on.wanted(wanted):
                found += on.parts[document - 1]
                if len(found) > most:
                    return None
        return found

    def latest(self, shelf: int, wanted: Wanted, most: int) -> list[int]:
        """The documents that are wanted, the latest first."""
        with self._on(shelf) as on:
            found = ((on.documents[number - 1].at, number) for number in on.wanted(wanted))
            return [number for _, number in nlargest(most, found)]

    def near(self, shelf: int, wanted: Wanted, moments: Sequence[int], most: int) -> list[int]:
        """Documents whose time is nearest to one of these moments."""
        if not moments:
            return []
        with self._on(shelf) as on:
            found = (
                (min(abs(on.documents[number - 1].at - moment) for moment in moments), number)
                for number in on.wanted(wanted)
            )
            return [number for _, number in nsmallest(most, found)]

    def made_by(self, shelf: int, seqs: Sequence[int], wanted: Wanted) -> list[int]:
        """The documents that these events made, if they are wanted."""
        with self._on(shelf) as on:
            return [n for seq in seqs for n in on.by_seq.get(seq, ()) if on.fits(n, wanted)]

    # ---- by number -------------------------------------------------------------------------

    def recent(self, owner: str, session: str, most: int) -> list[Passage]:
        """The last passages of a session, oldest first."""
        found: list[Passage] = []
        with self._lock:
            on = self._shelves.get(owner) or _Shelf(0)
            for document in reversed(on.turns.get(session, [])):
                if len(found) >= most:
                    break
                found += (on.passages[number - 1] for number in reversed(on.parts[document - 1]))
        return found[:most][::-1]

    def passages(self, shelf: int, numbers: Sequence[int]) -> list[Passage]:
        """These passages, by number."""
        with self._on(shelf) as on:
            return [on.passages[n - 1] for n in sorted(set(numbers)) if on.has_passage(n)]

    def passages_of(self, shelf: int, documents: Sequence[int]) -> list[Passage]:
        """Every passage of these documents, by number."""
        with self._on(shelf) as on:
            return [
                on.passages[number - 1]
                for document in sorted(set(documents))
                if on.has_document(document)
                for number in on.parts[document - 1]
            ]

    def numbers_of(self, shelf: int, documents: Sequence[int]) -> dict[int, list[int]]:
        """The numbers of the passages of these documents, in order."""
        with self._on(shelf) as on:
            return {
                document: sorted(on.parts[document - 1])
                for document in documents
                if on.has_document(document) and on.parts[document - 1]
            }

    def owners(self, shelf: int, numbers: Sequence[int]) -> dict[int, int]:
        """The documents these passages belong to."""
        with self._on(shelf) as on:
            return {n: on.passages[n - 1].document for n in numbers if on.has_passage(n)}

    def ids(self, shelf: int, documents: Sequence[int]) -> dict[int, str]:
        """The ids of these documents."""
        return {
            number: document.id for number, document in self.documents(shelf, documents).items()
        }

    def documents(self, shelf: int, numbers: Sequence[int]) -> dict[int, Document]:
        """These documents."""
        with self._on(shelf) as on:
            return {n: on.documents[n - 1] for n in numbers if on.has_document(n)}

    def beside(self, shelf: int, documents: Sequence[int]) -> dict[int, tuple[int, int]]:
        """The document before and after each in its session; 0 where there is none."""
        with self._on(shelf) as on:
            return {number: on.beside(number) for number in documents if on.has_document(number)}


def _seen(document: Document, session: str, seq: int) -> bool:
    return document.session == session and document.kind != MEMORY and document.event_seq >= seq


class _Entry(msgspec.Struct, frozen=True):
    """A document that has got its place, with its passages and what each says."""

    number: int
    document: Document
    passages: list[Passage]
    counted: list[Counted]


class _Shelf:
    """What belongs to one owner. It only grows; in every list, number n stands at n - 1."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.documents: list[Document] = []
        #: until when each held
        self.held: list[int] = []
        #: the numbers of the passages of each document
        self.parts: list[range] = []
        self.passages: list[Passage] = []
        #: how many words each passage is found by, and all of them
        self.lengths: list[int] = []
        self.found_by = 0
        #: how many words were put here
        self.words = 0
        #: by stem, how much each passage says of it
        self.said: dict[str, dict[int, float]] = {}
        #: the numbers of the documents, by id and revision, by event and by session
        self.by_id: dict[str, dict[int, int]] = {}
        self.by_seq: dict[int, list[int]] = {}
        self.by_session: dict[str, list[int]] = {}
        self.turns: dict[str, list[int]] = {}

    def entries(self, pages: Iterable[Page], counted: Callable[[Passage], Counted]) -> list[_Entry]:
        """The pages with their numbers; what is there already is left out."""
        made: dict[tuple[str, int], _Entry] = {}
        last = len(self.passages)
        for page in pages:
            known = (page.document.id, page.document.revision)
            if known in made or known[1] in self.by_id.get(known[0], ()):
                continue
            number = len(self.documents) + len(made) + 1
            passages = [
                msgspec.structs.replace(passage, number=place, document=number)
                for place, passage in enumerate(page.passages, last + 1)
            ]
            last += len(passages)
            made[known] = _Entry(number, page.document, passages, [counted(p) for p in passages])
        return list(made.values())

    def take(self, entries: Iterable[_Entry]) -> None:
        """Put them here."""
        for entry in entries:
            self.documents.append(entry.document)
            self.held.append(FOREVER)
            self.by_id.setdefault(entry.document.id, {})[entry.document.revision] = entry.number
            self.by_seq.setdefault(entry.document.event_seq, []).append(entry.number)
            self.by_session.setdefault(entry.document.session, []).append(entry.number)
            if entry.document.kind != MEMORY:
                self.turns.setdefault(entry.document.session, []).append(entry.number)
            first = len(self.passages) + 1
            self.parts.append(range(first, first + len(entry.passages)))
            for passage, (counts, length) in zip(entry.passages, entry.counted, strict=True):
                self._take_passage(passage, counts, length)

    def _take_passage(self, passage: Passage, counts: dict[str, float], length: int) -> None:
        self.passages.append(msgspec.structs.replace(passage, speaker=""))
        self.lengths.append(length)
        self.found_by += length
        self.words += sum(text.count(" ") + 1 for text in (passage.own, passage.context) if text)
        for stem, frequency in counts.items():
            self.said.setdefault(stem, {})[passage.number] = frequency

    def settle(self, memory: str, until: Held) -> None:
        """Until when each revision of a memory held."""
        for of, number in self.by_id.get(memory, {}).items():
            self.held[number - 1] = until.get(of, 0)

    def has_document(self, number: int) -> bool:
        """Is there a document of this number?"""
        return 0 < number <= len(self.documents)

    def has_passage(self, number: int) -> bool:
        """Is there a passage of this number?"""
        return 0 < number <= len(self.passages)

    def wanted(self, wanted: Wanted) -> Iterator[int]:
        """The documents that are wanted, by number."""
        some: Iterable[int] = range(1, len(self.documents) + 1)
        if wanted.session is not None:
            some = self.by_session.get(wanted.session, [])
        return (number for number in some if self.fits(number, wanted))

    def fits(self, number: int, wanted: Wanted) -> bool:
        """Is this document wanted?"""
        document = self.documents[number - 1]
        if wanted.as_of is not None:
            holds = document.at <= wanted.as_of < self.held[number - 1]
        else:
            still = self.held[number - 1] == FOREVER
            holds = still and document.begins <= wanted.now < document.ends
        return (
            (holds or wanted.ended)
            # what belongs to no agent belongs to each
            and (wanted.agent is None or document.agent in ("", wanted.agent))
            and (wanted.session is None or document.session == wanted.session)
            and (wanted.since is None or document.at >= wanted.since)
            and (wanted.until is None or document.at < wanted.until)
            and all(label in document.labels for label in wanted.labels)
            and (not wanted.any_label or any(one in document.labels for one in wanted.any_label))
            and not (
                wanted.seen is not None
                and document.event_seq not in wanted.partly
                and _seen(document, *wanted.seen)
            )
        )

    def beside(self, number: int) -> tuple[int, int]:
        """The turns beside a turn in its session."""
        document = self.documents[number - 1]
        if not document.session or document.kind == MEMORY:
            return 0, 0
        turns = self.turns[document.session]
        place = bisect_left(turns, number)
        return (
            turns[place - 1] if place else 0,
            turns[place + 1] if place + 1 < len(turns) else 0,
        )

    def scores(self, stems: Iterable[str]) -> dict[int, float]:
        """What BM25 gives each passage that says any of these, added up in their order."""
        count = len(self.passages)
        burdens: dict[int, float] = {}
        scores: dict[int, float] = {}
        for said in filter(None, map(self.said.get, stems)):
            rarity = log((count - len(said) + 0.5) / (len(said) + 0.5))
            rarity = rarity if rarity > 0 else _LEAST
            for number, frequency in said.items():
                length = self.lengths[number - 1]
                burden = burdens.get(length)
                if burden is None:
                    mean = self.found_by / count
                    burden = burdens[length] = _K1 * (1 - _B + _B * length / mean)
                share = rarity * (frequency * (_K1 + 1) / (frequency + burden))
                scores[number] = scores.get(number, 0.0) + share
        return scores
