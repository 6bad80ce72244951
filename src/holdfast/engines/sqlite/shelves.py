"""Reading the shelves in index.db."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any
from zlib import crc32

import msgspec

from holdfast.errors import Damaged
from holdfast.model.search import COMMON, FOREVER, MEMORY, Document, Passage, Size, Wanted

from .index import Index

#: a filter that leaves no more passages than this is applied before words are matched
_FEW = 2_000
#: how many values one statement takes
_AT_ONCE = 500
_DOCUMENT = (
    "document, id, revision, seq, at, kind, speaker, agent, session, labels, key, length, "
    "begins, ends, sum"
)
_PASSAGE = "number, document, start, text, own, context, sum"
#: what can be a word of a passage; anything else is on no shelf
_WORD = re.compile("[a-z0-9\x80-\ud7ff\ue000-\U0010ffff]+")
_ENCODER = msgspec.msgpack.Encoder()


class Shelves:
    """What is asked of the shelves."""

    def __init__(
        self, index: Index, stems: Callable[[str], str], weights: tuple[float, float]
    ) -> None:
        self._index = index
        self._stems = stems
        #: how much a word counts that a passage says itself, and one that came before it
        self._own, self._context = map(float, weights)

    def shelf(self, owner: str) -> int | None:
        """The number of an owner's shelf."""
        with self._index.use() as db:
            if not _has_shelves(db):
                return None
            row = db.execute("SELECT * FROM shelves WHERE owner=?", (owner,)).fetchone()
            if row is None:
                for other in db.execute("SELECT * FROM shelves"):
                    _checked(0, other)  # it may go by a name that it was not given
                return None
        if _checked(0, row)[1] != owner:
            raise Damaged(f"shelf {row[0]} is somebody else's")
        return int(row[0])

    def owned(self) -> list[int]:
        """Every shelf."""
        with self._index.use() as db:
            if not _has_shelves(db):
                return []
            return [int(n) for (n,) in db.execute("SELECT number FROM shelves ORDER BY number")]

    def size(self, shelf: int) -> Size:
        """How much is on it."""
        with self._index.use() as db:
            row = db.execute("SELECT * FROM shelves WHERE number=?", (shelf,)).fetchone()
        if row is None:
            return Size()
        _, _, documents, passages, words, _ = _checked(0, row)
        return Size(documents=documents, passages=passages, words=words)

    def recent(self, owner: str, session: str, most: int) -> list[Passage]:
        """The last passages of a session, oldest first."""
        shelf = self.shelf(owner)
        if shelf is None:
            return []
        ask = (
            f"SELECT number FROM documents_{shelf} d CROSS JOIN passages_{shelf} p "  # noqa: S608
            f"USING (document) WHERE d.session=? AND d.kind<>'{MEMORY}' "
            "ORDER BY d.document DESC, p.number DESC LIMIT ?"
        )
        with self._index.use() as db:
            last = [number for (number,) in db.execute(ask, (session, most))]
            return self.passages(shelf, last)

    def frequency(self, shelf: int, words: Iterable[str]) -> dict[str, int]:
        """In how many passages each of these words occurs."""
        with self._index.use() as db:
            ask = f"SELECT doc FROM vocabulary_{shelf} WHERE term=?"  # noqa: S608
            found = {word: db.execute(ask, (self._stem(word),)).fetchone() for word in words}
        return {word: 0 if row is None else int(row[0]) for word, row in found.items()}

    def matching(self, shelf: int, words: Sequence[str], wanted: Wanted, most: int) -> list[int]:
        """The passages that say most of these words, best first."""
        stems = dict.fromkeys(filter(None, map(self._stem, words)))
        if not stems:
            return []
        asked = " OR ".join(f'"{stem}"' for stem in stems)
        limit = most + most // 4
        while True:  # nearly all are wanted nearly always, so asking for a few more is cheapest
            found = self._ranked(shelf, asked, limit)
            fit = self.fitting(shelf, found, wanted)
            if len(fit) >= most or len(found) < limit:
                return fit[:most]
            few = self.few(shelf, wanted, _FEW)
            if few is not None:
                return self._ranked(shelf, asked, most, few)
            limit *= 8

    def _ranked(
        self, shelf: int, asked: str, most: int, among: Sequence[int] | None = None
    ) -> list[int]:
        """The passages that match, best first: all of them, or those among a few."""
        # the plus keeps SQLite from matching the words anew for each of them
        some = "" if among is None else "AND +rowid IN (SELECT value FROM json_each(?)) "
        ask = (
            f"SELECT rowid FROM words_{shelf} WHERE words_{shelf} MATCH ? {some}"  # noqa: S608
            f"ORDER BY bm25(words_{shelf}, {self._own}, {self._context}), rowid LIMIT ?"
        )
        narrowed = [] if among is None else [json.dumps(list(among))]
        with self._index.use() as db:
            return [number for (number,) in db.execute(ask, (asked, *narrowed, most))]

    def _stem(self, word: str) -> str:
        return self._stems(word) if _WORD.fullmatch(word) else ""

    def fitting(self, shelf: int, numbers: Sequence[int], wanted: Wanted) -> list[int]:
        """Those of these passages that are wanted, in the same order."""
        where, given = _conditions(wanted)
        fit: set[int] = set()
        with self._index.use() as db:
            for some, marks in _batches(numbers):
                fit.update(
                    number
                    for (number,) in db.execute(
                        f"SELECT p.number FROM passages_{shelf} p CROSS JOIN documents_{shelf} "  # noqa: S608
                        f"d USING (document) WHERE p.number IN ({marks}) {where}",
                        (*some, *given),
                    )
                )
        return [number for number in numbers if number in fit]

    def few(self, shelf: int, wanted: Wanted, most: int) -> list[int] | None:
        """Every passage that is wanted, if there are no more than so many; else None."""
        where, given = _conditions(wanted, agent="d.agent")
        ask = (
            f"SELECT p.number FROM {_from(shelf, wanted)} JOIN passages_{shelf} p "  # noqa: S608
            f"USING (document) WHERE 1 {where}LIMIT ?"
        )
        values = (*_rare(wanted), *given, most + 1)
        with self._index.use() as db:  # nearly always there are more, and counting is quicker
            if db.execute(f"SELECT count(*) FROM ({ask})", values).fetchone()[0] > most:  # noqa: S608
                return None
            return sorted(number for (number,) in db.execute(ask, values))

    def latest(self, shelf: int, wanted: Wanted, most: int) -> list[int]:
        """The documents that are wanted, the latest first."""
        where, given = _conditions(wanted)
        with self._index.use() as db:
            return [
                number
                for (number,) in db.execute(
                    f"SELECT d.document FROM {_from(shelf, wanted)} WHERE 1 {where}"  # noqa: S608
                    "ORDER BY d.at DESC, d.document DESC LIMIT ?",
                    (*_rare(wanted), *given, most),
                )
            ]

    def near(self, shelf: int, wanted: Wanted, moments: Sequence[int], most: int) -> list[int]:
        """Documents whose time is nearest to one of these moments."""
        where, given = _conditions(wanted)
        found: dict[int, int] = {}
        with self._index.use() as db:
            for moment in moments:
                for side, order in ((">=", "ASC"), ("<", "DESC")):
                    ask = (
                        f"SELECT d.document, d.at FROM documents_{shelf} d WHERE d.at {side} ? "  # noqa: S608
                        f"{where}ORDER BY d.at {order}, d.document LIMIT ?"
                    )
                    for number, at in db.execute(ask, (moment, *given, most)):
                        distance = abs(at - moment)
                        found[number] = min(distance, found.get(number, distance))
        return sorted(found, key=lambda number: (found[number], number))[:most]

    def passages(self, shelf: int, numbers: Sequence[int]) -> list[Passage]:
        """These passages, by number."""
        with self._index.transaction():
            found = self._passages(shelf, "number", numbers)
            _expect(numbers, {passage.number for passage in found}, self.size(shelf).passages)
        return found

    def passages_of(self, shelf: int, documents: Sequence[int]) -> list[Passage]:
        """Every passage of these documents, by number."""
        return self._passages(shelf, "document", documents)

    def _passages(self, shelf: int, by: str, numbers: Sequence[int]) -> list[Passage]:
        found: list[Passage] = []
        with self._index.use() as db:
            for some, marks in _batches(sorted(set(numbers))):
                ask = f"SELECT {_PASSAGE} FROM passages_{shelf} WHERE {by} IN ({marks})"  # noqa: S608
                found += [_passage(_checked(shelf, row)) for row in db.execute(ask, some)]
        return sorted(found, key=lambda passage: passage.number)

    def numbers_of(self, shelf: int, documents: Sequence[int]) -> dict[int, list[int]]:
        """The numbers of the passages of these documents, in order."""
        found: dict[int, list[int]] = {}
        with self._index.use() as db:
            for some, marks in _batches(documents):
                ask = (
                    f"SELECT document, number FROM passages_{shelf} "  # noqa: S608
                    f"WHERE document IN ({marks}) ORDER BY number"
                )
                for document, number in db.execute(ask, some):
                    found.setdefault(document, []).append(number)
        return found

    def owners(self, shelf: int, numbers: Sequence[int]) -> dict[int, int]:
        """The documents these passages belong to."""
        found: dict[int, int] = {}
        with self._index.use() as db:
            for some, marks in _batches(numbers):
                ask = f"SELECT number, document FROM passages_{shelf} WHERE number IN ({marks})"  # noqa: S608
                found |= dict(db.execute(ask, some))
        return found

    def made_by(self, shelf: int, seqs: Sequence[int], wanted: Wanted) -> list[int]:
        """The documents that these events made, if they are wanted."""
        where, given = _conditions(wanted)
        ask = f"SELECT d.document FROM documents_{shelf} d WHERE d.seq=? {where}ORDER BY d.document"  # noqa: S608
        with self._index.use() as db:
            return [n for seq in seqs for (n,) in db.execute(ask, (seq, *given))]

    def ids(self, shelf: int, documents: Sequence[int]) -> dict[int, str]:
        """The ids of these documents."""
        found: dict[int, str] = {}
        with self._index.use() as db:
            for some, marks in _batches(documents):
                ask = f"SELECT document, id FROM documents_{shelf} WHERE document IN ({marks})"  # noqa: S608
                found |= dict(db.execute(ask, some))
        return found

    def documents(self, shelf: int, numbers: Sequence[int]) -> dict[int, Document]:
        """These documents."""
        found: dict[int, Document] = {}
        with self._index.transaction() as db:
            for some, marks in _batches(numbers):
                ask = f"SELECT {_DOCUMENT} FROM documents_{shelf} WHERE document IN ({marks})"  # noqa: S608
                found |= {row[0]: _document(_checked(shelf, row)) for row in db.execute(ask, some)}
            _expect(numbers, found, self.size(shelf).documents)
        return found

    def beside(self, shelf: int, documents: Sequence[int]) -> dict[int, tuple[int, int]]:
        """The turn before and after each in its session; 0 where there is none."""
        turns = f"d.session<>'' AND d.kind<>'{MEMORY}' AND b.kind<>'{MEMORY}'"
        ask = (
            f"SELECT d.document, "  # noqa: S608
            f"coalesce((SELECT max(document) FROM documents_{shelf} b WHERE b.session=d.session AND "
            f"{turns} AND b.document<d.document), 0), "
            f"coalesce((SELECT min(document) FROM documents_{shelf} b WHERE b.session=d.session AND "
            f"{turns} AND b.document>d.document), 0) FROM documents_{shelf} d "
            "WHERE d.document IN ({marks})"
        )
        found: dict[int, tuple[int, int]] = {}
        with self._index.use() as db:
            for some, marks in _batches(documents):
                found |= {n: (b, a) for n, b, a in db.execute(ask.format(marks=marks), some)}
        return found


def _has_shelves(db: sqlite3.Connection) -> bool:
    found = db.execute("SELECT 1 FROM sqlite_master WHERE name='shelves'").fetchone()
    return found is not None


def summed(shelf: int, row: tuple[object, ...]) -> tuple[object, ...]:
    """A row of a shelf with its checksum: what was changed, or is another shelf's, is no answer."""
    return (*row, crc32(_ENCODER.encode(row), shelf))


def _checked(shelf: int, row: tuple[Any, ...]) -> tuple[Any, ...]:
    if summed(shelf, row[:-1])[-1] != row[-1]:
        raise Damaged(f"number {row[0]} of shelf {shelf} is not what was written")
    return row


def _expect(numbers: Iterable[int], found: Container[int], last: int) -> None:
    """Of the numbers up to the last, none is missing."""
    for number in numbers:
        if 0 < number <= last and number not in found:
            raise Damaged(f"number {number} of {last} is gone")


def _passage(row: Sequence[Any]) -> Passage:
    return Passage(
        number=row[0], document=row[1], start=row[2], text=row[3], own=row[4], context=row[5]
    )


def _document(row: Sequence[Any]) -> Document:
    return Document(
        id=row[1],
        revision=row[2],
        event_seq=row[3],
        at=row[4],
        kind=row[5],
        speaker=row[6],
        agent=row[7],
        session=row[8],
        labels=_labels(row[9]),
        key=row[10],
        length=row[11],
        begins=row[12],
        ends=row[13],
    )


def labelled(labels: Sequence[str]) -> str:
    """Labels as one text in which each can be looked for."""
    marked = (label.replace("\x1e", "\x1e0").replace("\x1f", "\x1e1") for label in labels)
    return "\x1f" + "\x1f".join(marked) + "\x1f" if labels else ""


@lru_cache(1 << 12)
def _labels(text: str) -> tuple[str, ...]:
    marked = text[1:-1].split("\x1f") if text else []
    return tuple(label.replace("\x1e1", "\x1f").replace("\x1e0", "\x1e") for label in marked)


def _conditions(wanted: Wanted, agent: str = "+d.agent") -> tuple[str, list[Any]]:
    """What is wanted as conditions on a document `d`, each begun with AND.

    The plus keeps SQLite from walking through all that an agent ever said, which it believes is little.
    """
    said: list[tuple[str, list[Any]]] = []
    if wanted.agent is not None:  # what belongs to no agent belongs to each
        said.append((f"({agent}=? OR {agent}='')", [wanted.agent]))
    if wanted.session is not None:
        said.append(("d.session=?", [wanted.session]))
    said += [("instr(d.labels, ?)", [labelled([label])]) for label in wanted.labels]
    if wanted.any_label:
        any_of = " OR ".join(["instr(d.labels, ?)"] * len(wanted.any_label))
        said.append((f"({any_of})", [labelled([label]) for label in wanted.any_label]))
    if wanted.since is not None:
        said.append(("d.at>=?", [wanted.since]))
    if wanted.until is not None:
        said.append(("d.at<?", [wanted.until]))
    if wanted.seen is not None:
        turn = f"d.session=? AND d.kind<>'{MEMORY}' AND d.seq>=?"
        if wanted.partly:
            turn += f" AND d.seq NOT IN ({', '.join('?' * len(wanted.partly))})"
        said.append((f"NOT ({turn})", [*wanted.seen, *wanted.partly]))
    if wanted.as_of is not None and not wanted.ended:
        said.append(("d.at<=? AND d.held>?", [wanted.as_of, wanted.as_of]))
    elif not wanted.ended:
        still = f"d.held={FOREVER} AND d.begins<=? AND d.ends>?"
        said.append((still, [wanted.now, wanted.now]))
    return (
        "".join(f"AND {text} " for text, _ in said),
        [value for _, values in said for value in values],
    )


def _rare(wanted: Wanted) -> tuple[str, ...]:
    """The labels that lead to what is wanted the fastest; none when all of them are common."""
    rare = [label for label in wanted.labels if label not in COMMON]
    if rare:
        return (rare[-1],)
    return () if set(wanted.any_label) & COMMON else wanted.any_label


def _from(shelf: int, wanted: Wanted) -> str:
    """The documents a search begins with: those of rare labels, or all."""
    rare = _rare(wanted)
    if not rare:
        return f"documents_{shelf} d"
    marks = ",".join("?" * len(rare))
    return (
        f"(SELECT DISTINCT document FROM labels_{shelf} WHERE label IN ({marks})) "  # noqa: S608
        f"CROSS JOIN documents_{shelf} d USING (document)"
    )


def _batches(numbers: Sequence[int]) -> Iterator[tuple[list[int], str]]:
    for first in range(0, len(numbers), _AT_ONCE):
        some = [int(number) for number in numbers[first : first + _AT_ONCE]]
        yield some, ",".join("?" * len(some))
