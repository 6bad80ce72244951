"""The SearchIndex in index.db: writing it, and knowing how far it goes.

Each owner's shelf has tables of its own, full text included, so neither a query's time nor a word's
rarity depends on what others keep. The words are indexed without being kept a second time; a passage
keeps them beside its text. Nothing is ever taken out: what was forgotten is no longer current, and an
erase makes the whole file anew. Reading is in `shelves.py`.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

import msgspec

from holdfast.errors import Damaged, Unavailable
from holdfast.model.events import Position
from holdfast.model.search import COMMON, FOREVER, Held, Page, Passage
from holdfast.ports.search import Numbered

from .index import Index
from .shelves import Shelves, labelled, summed
from .views import said_position, written_position

#: of the tables below
_SHAPE = 3
_SHELVES = (
    "CREATE TABLE shelves (number INTEGER PRIMARY KEY, owner TEXT UNIQUE NOT NULL, "
    "documents INTEGER NOT NULL, passages INTEGER NOT NULL, words INTEGER NOT NULL, "
    "sum INTEGER NOT NULL)"
)
_TABLES = (
    "CREATE TABLE documents_{n} (document INTEGER PRIMARY KEY, id TEXT NOT NULL, "
    "revision INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL, "
    "speaker TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL, labels TEXT NOT NULL, "
    "key TEXT NOT NULL, length INTEGER NOT NULL, "
    "begins INTEGER NOT NULL, ends INTEGER NOT NULL, sum INTEGER NOT NULL, "
    "held INTEGER NOT NULL)",
    "CREATE UNIQUE INDEX documents_{n}_id ON documents_{n} (id, revision)",
    "CREATE INDEX documents_{n}_seq ON documents_{n} (seq)",
    "CREATE INDEX documents_{n}_session ON documents_{n} (session, document)",
    "CREATE INDEX documents_{n}_agent ON documents_{n} (agent)",
    "CREATE TABLE labels_{n} (label TEXT, document INTEGER, PRIMARY KEY (label, document)) "
    "WITHOUT ROWID",
    "CREATE INDEX documents_{n}_at ON documents_{n} (at)",
    "CREATE TABLE passages_{n} (number INTEGER PRIMARY KEY, document INTEGER NOT NULL, "
    "start INTEGER NOT NULL, text TEXT NOT NULL, own TEXT NOT NULL, context TEXT NOT NULL, "
    "sum INTEGER NOT NULL)",
    "CREATE INDEX passages_{n}_document ON passages_{n} (document)",
    "CREATE VIRTUAL TABLE words_{n} USING fts5(own, context, content='', tokenize='ascii')",
    "CREATE VIRTUAL TABLE vocabulary_{n} USING fts5vocab(words_{n}, 'row')",
)
#: the names of them all, whether or not a shelf still knows of them
_OURS = re.compile(
    r"\b(shelves|(documents|passages|labels|words|vocabulary)_[0-9]+)", re.IGNORECASE
)
_DOCUMENT = (
    f"INSERT INTO documents_{{n}} VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,{FOREVER}) "  # noqa: S608
    "ON CONFLICT (id, revision) DO NOTHING"
)
_PASSAGE = "INSERT INTO passages_{n} VALUES (?,?,?,?,?,?,?)"
_WORDS = "INSERT INTO words_{n} (rowid, own, context) VALUES (?,?,?)"
_SHELF = "INSERT OR REPLACE INTO shelves VALUES (?,?,?,?,?,?)"


class SqliteSearch(Shelves):
    """The shelves of one project; `shape` says how its words were made, others are not read."""

    def __init__(
        self,
        index: Index,
        *,
        shape: str,
        stems: Callable[[str], str],
        weights: tuple[float, float] = (1.0, 0.7),
        generation: Callable[[], int | None] | None = None,
    ) -> None:
        super().__init__(index, stems, weights)
        self._shape = f"{_SHAPE} {shape}"
        self._generation = generation

    def position(self) -> Position | None:
        """How far of the log the shelves include."""
        with self._index.use() as db:
            facts = dict(
                db.execute("SELECT name, value FROM facts WHERE name IN ('search', 'search shape')")
            )
        if facts.get("search shape") != self._shape:
            return None
        return said_position(facts.get("search"))

    def edition(self) -> str:
        """Changes when everything is made anew."""
        with self._index.use() as db:
            found = db.execute("SELECT value FROM facts WHERE name='search edition'").fetchone()
        return "" if found is None else str(found[0])

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything read inside belongs to one position."""
        with self._index.transaction():
            yield

    def writing(self) -> AbstractContextManager[object]:
        """Nobody else writes what belongs to the shelves meanwhile."""
        return self._index.writing()

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
        with self._index.writing() as db:
            if self.position() != base:
                return False
            if self._generation is not None and self._generation() != position.generation:
                raise Unavailable("the log was changed while it was read")
            if anew or base is None:
                self._clear(db)
            for number, of_owner in self._by_shelf(db, pages):
                placed = self._place(db, number, of_owner)
                if numbered is not None and placed:
                    numbered(number, placed)
            for memory, until in (held or {}).items():
                self._settle(db, memory, until)
            facts = {"search": written_position(position), "search shape": self._shape}
            db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())
        return True

    def _clear(self, db: sqlite3.Connection) -> None:
        found = db.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name DESC")
        for (table,) in found.fetchall():  # a vocabulary goes before the words it is made from
            if _OURS.fullmatch(table):
                db.execute(f"DROP TABLE {table}")
        if any(map(_OURS.search, _known(db))):
            raise Damaged("shelves that were taken away are still there")
        db.execute(_SHELVES)
        db.execute("DELETE FROM facts WHERE name LIKE 'search%'")
        db.execute("INSERT INTO facts VALUES ('search edition', ?)", (secrets.token_hex(8),))

    def _by_shelf(
        self, db: sqlite3.Connection, pages: Sequence[Page]
    ) -> list[tuple[int, list[Page]]]:
        shelves: dict[str, list[Page]] = {}
        for page in pages:
            shelves.setdefault(page.owner, []).append(page)
        return [(self._shelf_for(db, owner), of) for owner, of in shelves.items()]

    def _shelf_for(self, db: sqlite3.Connection, owner: str) -> int:
        found = self.shelf(owner)
        if found is None:
            found = len(self.owned()) + 1
            db.execute(_SHELF, summed(0, (found, owner, 0, 0, 0)))
            for table in _TABLES:
                db.execute(table.format(n=found))
        return found

    def _place(self, db: sqlite3.Connection, shelf: int, pages: list[Page]) -> list[Passage]:
        """Give documents and passages their numbers; what is there already is left out."""
        before = self.size(shelf)
        documents, passages = before.documents, before.passages
        placed: list[Passage] = []
        labels: list[tuple[str, int]] = []
        for page in pages:
            of = page.document
            row: tuple[object, ...] = (documents + 1, of.id, of.revision, of.event_seq, of.at)
            row += (of.kind, of.speaker, of.agent, of.session, labelled(of.labels), of.key)
            row += (of.length, of.begins, of.ends)
            if not db.execute(_DOCUMENT.format(n=shelf), summed(shelf, row)).rowcount:
                continue
            documents += 1
            labels += [(label, documents) for label in of.labels if label not in COMMON]
            for passage in page.passages:
                passages += 1
                placed.append(msgspec.structs.replace(passage, number=passages, document=documents))
        rows = ((p.number, p.document, p.start, p.text, p.own, p.context) for p in placed)
        db.executemany(_PASSAGE.format(n=shelf), (summed(shelf, row) for row in rows))
        db.executemany(
            _WORDS.format(n=shelf),
            ((p.number, self._stems(p.own), self._stems(p.context)) for p in placed),
        )
        db.executemany(f"INSERT OR IGNORE INTO labels_{shelf} VALUES (?, ?)", labels)  # noqa: S608
        words = before.words + sum(_length(p.own) + _length(p.context) for p in placed)
        db.execute(_SHELF, summed(0, (shelf, pages[0].owner, documents, passages, words)))
        return placed

    def _settle(self, db: sqlite3.Connection, memory: str, until: Held) -> None:
        for shelf in self.owned():
            ask = f"SELECT document, revision, held FROM documents_{shelf} WHERE id=?"  # noqa: S608
            found = db.execute(ask, (memory,)).fetchall()
            changed = [(until.get(of, 0), n) for n, of, held in found if until.get(of, 0) != held]
            change = f"UPDATE documents_{shelf} SET held=? WHERE document=?"  # noqa: S608
            db.executemany(change, changed)

    def discard(self) -> None:
        """Throw away the shelves; the rest of the file goes only if they will not."""
        try:
            with self._index.writing() as db:
                self._clear(db)
        except Damaged:
            self._index.discard()


def _known(db: sqlite3.Connection) -> list[str]:
    """Everything the file says about what is in it."""
    found = db.execute(
        "SELECT name || ' ' || tbl_name || ' ' || ifnull(sql, '') FROM sqlite_master"
    )
    return [said for (said,) in found]


def _length(words: str) -> int:
    return words.count(" ") + 1 if words else 0
