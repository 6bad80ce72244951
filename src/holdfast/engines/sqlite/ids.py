"""Event ids and their places in index.db, so that no process has to read the whole log for them."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.model.events import Position

from .index import Index
from .views import said_position, written_position


class SqliteIds:
    """The IdStore in index.db."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def position(self) -> Position | None:
        """How far of the log it includes."""
        with self._index.use() as db:
            found = db.execute("SELECT value FROM facts WHERE name='ids'").fetchone()
        return said_position(found[0] if found else None)

    def seq(self, event_id: str) -> int | None:
        """Where that id is."""
        with self._index.use() as db:
            found = db.execute("SELECT seq FROM ids WHERE event_id=?", (event_id,)).fetchone()
        return int(found[0]) if found else None

    def add(
        self, base: Position | None, ids: Iterable[tuple[str, int]], position: Position
    ) -> bool:
        """Include more; of an id that is there the first place counts."""
        with self._index.transaction("IMMEDIATE") as db:
            if self.position() != base:
                return False
            db.executemany("INSERT OR IGNORE INTO ids VALUES (?, ?)", ids)
            db.execute(
                "INSERT OR REPLACE INTO facts VALUES ('ids', ?)", (written_position(position),)
            )
        return True

    def clear(self) -> None:
        """Forget everything."""
        with self._index.transaction("IMMEDIATE") as db:
            db.execute("DELETE FROM ids")
            db.execute("DELETE FROM facts WHERE name='ids'")
