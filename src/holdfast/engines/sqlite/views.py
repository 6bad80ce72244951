"""The ViewStore in index.db.

Each row carries a checksum over its key and content; the number of rows and the sums of their checksums
and of their keys stand beside the position. A row whose content changed is noticed when it is read, one
that was lost or goes by another key when the file is opened. Neither is ever an answer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from zlib import crc32

import msgspec

from holdfast.errors import Damaged, Unavailable
from holdfast.model.events import Position

from .index import Index

_PUT = "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)"


class SqliteViews:
    """The rows of one project's views; `shape` says what they mean, others are not read."""

    def __init__(
        self, index: Index, *, shape: str, generation: Callable[[], int | None] | None = None
    ) -> None:
        self._index = index
        self._shape = shape
        #: the log's generation at this moment, None in the middle of an erase
        self._generation = generation
        self._checked = 0

    def position(self) -> Position | None:
        """How far of the log the rows include."""
        with self._index.transaction() as db:
            facts = dict(
                db.execute(
                    "SELECT name, value FROM facts WHERE name IN ('views', 'shape', 'total')"
                )
            )
            if facts.get("shape") != self._shape:
                return None
            if self._checked != self._index.opened:
                if total(db) != facts.get("total"):
                    raise Damaged("rows of the index are missing or changed")
                self._checked = self._index.opened
        return said_position(facts.get("views"))

    def row(self, view: str, key: str) -> bytes | None:
        """One row."""
        with self._index.use() as db:
            found = db.execute(
                "SELECT sum, row FROM rows WHERE view=? AND key=?", (view, key)
            ).fetchone()
        return None if found is None else _checked(view, key, *found)

    def rows(self, view: str, prefix: str = "") -> list[tuple[str, bytes]]:
        """The rows whose key begins with `prefix`, by key."""
        return [(key, row) for _, key, row in self.rows_of([view], prefix)]

    def rows_of(self, views: Sequence[str], prefix: str = "") -> list[tuple[str, str, bytes]]:
        """The same of several views: view, key, bytes, in that order."""
        marks = ",".join("?" * len(views))
        query, given = f"SELECT view, key, sum, row FROM rows WHERE view IN ({marks})", [*views]  # noqa: S608
        if prefix:
            query += " AND key>=?" + (" AND key<?" if behind(prefix) else "")
            given += [prefix, behind(prefix)] if behind(prefix) else [prefix]
        with self._index.use() as db:
            found = db.execute(query + " ORDER BY view, key", given).fetchall()
        return [(view, key, _checked(view, key, kept, row)) for view, key, kept, row in found]

    def note(self, name: str) -> str:
        """A short text kept beside the rows."""
        with self._index.use() as db:
            found = db.execute("SELECT value FROM facts WHERE name=?", (f"note {name}",)).fetchone()
        return "" if found is None else str(found[0])

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything read inside belongs to one position."""
        with self._index.transaction():
            yield

    def commit(
        self,
        base: Position | None,
        changes: Iterable[tuple[str, str, bytes | None]],
        position: Position | None,
        *,
        anew: bool = False,
        notes: Mapping[str, str] | None = None,
    ) -> bool:
        """Advance from `base` to `position`; False when the rows are no longer at `base`."""
        with self._index.writing() as db:
            if self.position() != base:
                return False
            self._refuse_erased(position)
            if anew or base is None:
                db.execute("DELETE FROM rows")
                db.execute("DELETE FROM facts WHERE name='total' OR name LIKE 'note %'")
            facts = {f"note {name}": text for name, text in (notes or {}).items()}
            facts["total"] = self._put(db, list(changes))
            facts |= {"shape": self._shape, "views": written_position(position)}
            db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())
        return True

    def _refuse_erased(self, position: Position | None) -> None:
        """Rows of a log that was erased from since must not come back, not even for a moment."""
        if self._generation is None or position is None:
            return
        if self._generation() != position.generation:
            raise Unavailable("the log was changed while it was read")

    def _put(self, db: sqlite3.Connection, changes: list[tuple[str, str, bytes | None]]) -> str:
        """Write the changes; the number and sums of all rows afterwards."""
        count, sums, names = _said_total(db)
        for view, key, row in changes:
            before = db.execute(
                "SELECT sum FROM rows WHERE view=? AND key=?", (view, key)
            ).fetchone()
            if before is not None:
                count, sums, names = count - 1, sums - before[0], names - _name(view, key)
            if row is None:
                db.execute("DELETE FROM rows WHERE view=? AND key=?", (view, key))
            else:
                checksum = _sum(view, key, row)
                db.execute(_PUT, (view, key, checksum, row))
                count, sums, names = count + 1, sums + checksum, names + _name(view, key)
        return f"{count} {sums} {names}"

    def hurried(self) -> AbstractContextManager[None]:
        """Inside, nothing waits for another process."""
        return self._index.hurried()

    def discard(self) -> None:
        """Throw away everything."""
        self._index.discard()

    def close(self) -> None:
        """Let go."""
        self._index.let_go()


def said_position(text: str | None) -> Position | None:
    """A position as it was written down."""
    if text is None or text == "":
        return None
    if not isinstance(text, str):
        raise Damaged(f"the index's position is not one: {text!r}")
    try:
        return msgspec.json.decode(text, type=Position)
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise Damaged(f"the index's position is not one: {text[:80]!r}") from exc


def written_position(position: Position | None) -> str:
    """A position to be written down."""
    return "" if position is None else msgspec.json.encode(position).decode()


def behind(prefix: str) -> str:
    """The least text that comes after every text with this beginning; empty when there is none."""
    for end in range(len(prefix), 0, -1):
        following = ord(prefix[end - 1]) + 1
        if following == 0xD800:
            following = 0xE000  # no text holds a lone surrogate
        if following <= 0x10FFFF:
            return prefix[: end - 1] + chr(following)
    return ""


def _name(view: str, key: str) -> int:
    return crc32(f"{view}\0{key}\0".encode())


def _sum(view: str, key: str, row: bytes) -> int:
    return crc32(row, _name(view, key))


def total(db: sqlite3.Connection) -> str:
    """The number and the sums of all rows, as they are."""
    count = sums = names = 0
    for view, key, kept in db.execute("SELECT view, key, sum FROM rows"):
        if not isinstance(kept, int):
            raise Damaged(f"the checksum of a row is not one: {kept!r}")
        count, sums, names = count + 1, sums + kept, names + _name(view, key)
    return f"{count} {sums} {names}"


def _said_total(db: sqlite3.Connection) -> tuple[int, int, int]:
    said = db.execute("SELECT value FROM facts WHERE name='total'").fetchone()
    try:
        count, sums, names = map(int, said[0].split()) if said else (0, 0, 0)
    except (AttributeError, ValueError) as exc:
        raise Damaged(f"the index's total is not one: {said[0]!r}") from exc
    return count, sums, names


def _checked(view: str, key: str, kept: int, row: bytes) -> bytes:
    if not isinstance(row, bytes) or _sum(view, key, row) != kept:
        raise Damaged(f"row {key} of {view} is not what was written")
    return row
