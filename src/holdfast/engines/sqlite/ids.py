"""Event ids and their places in index.db, so that no process has to read the whole log for them.

An id is kept as a 64-bit hash: small, and of a kind whose sums SQLite can check in a moment. The sums
stand beside the position, so a lost or changed entry is noticed when the file is opened. Two ids of one
hash would share a place; whoever asks looks at that place in the log.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import AbstractContextManager
from hashlib import blake2b

from holdfast.errors import Damaged
from holdfast.model.events import Position

from .index import Index
from .views import said_position, written_position

_TOTAL = "SELECT count(*), coalesce(sum(hash >> 32), 0), coalesce(sum(hash & 4294967295), 0), "
_TOTAL += "coalesce(sum(seq), 0) FROM ids"


#: milliseconds: longer than a commit takes, shorter than anybody feels
_SHORTLY = 200


class SqliteIds:
    """The IdStore in index.db."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._checked = 0

    def position(self) -> Position | None:
        """How far of the log it includes."""
        with self._index.transaction() as db:
            facts = dict(
                db.execute("SELECT name, value FROM facts WHERE name IN ('ids', 'ids total')")
            )
            if self._checked != self._index.opened:
                self._index.check_table(db, "ids")
                if _written(db.execute(_TOTAL).fetchone()) != facts.get("ids total", "0 0 0 0"):
                    raise Damaged("ids of the index are missing or changed")
                self._checked = self._index.opened
        return said_position(facts.get("ids"))

    def seq(self, event_id: str) -> int | None:
        """Where that id is."""
        with self._index.use() as db:
            found = db.execute("SELECT seq FROM ids WHERE hash=?", (_hash(event_id),)).fetchone()
        if found is not None and not isinstance(found[0], int):
            raise Damaged(f"the place of an id is not one: {found[0]!r}")
        return found[0] if found else None

    def add(
        self, base: Position | None, ids: Iterable[tuple[str, int]], position: Position
    ) -> bool:
        """Include more; of an id that is there the first place counts."""
        with self._index.writing() as db:
            if self.position() != base:
                return False
            totals = _said(db)
            for event_id, seq in ids:
                key = _hash(event_id)
                if db.execute("INSERT OR IGNORE INTO ids VALUES (?, ?)", (key, seq)).rowcount:
                    parts = (1, key >> 32, key & 0xFFFFFFFF, seq)
                    totals = [so_far + part for so_far, part in zip(totals, parts, strict=True)]
            facts = [("ids", written_position(position)), ("ids total", _written(totals))]
            db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts)
        return True

    def hurried(self) -> AbstractContextManager[None]:
        """Inside, nothing waits long for another process."""
        return self._index.hurried(_SHORTLY)

    def clear(self) -> None:
        """Forget everything."""
        with self._index.writing() as db:
            db.execute("DELETE FROM ids")
            db.execute("DELETE FROM facts WHERE name IN ('ids', 'ids total')")


def _hash(event_id: str) -> int:
    digest = blake2b(event_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _written(totals: Iterable[int]) -> str:
    return " ".join(map(str, totals))


def _said(db: sqlite3.Connection) -> list[int]:
    found = db.execute("SELECT value FROM facts WHERE name='ids total'").fetchone()
    try:
        totals = [int(part) for part in found[0].split()] if found else [0, 0, 0, 0]
    except (AttributeError, ValueError) as exc:
        raise Damaged(f"the total of the ids is not one: {found[0]!r}") from exc
    return totals
