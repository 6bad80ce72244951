"""Views in memory: what a ViewStore means with nothing in the way; the spare when no file will do."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from holdfast.model.events import Position


class MemoryViews:
    """The rows of one project's views, as long as the process lives."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], bytes] = {}
        self._position: Position | None = None
        self._notes: dict[str, str] = {}
        self._lock = threading.RLock()

    def position(self) -> Position | None:
        """How far of the log the rows include."""
        return self._position

    def row(self, view: str, key: str) -> bytes | None:
        """One row."""
        return self._rows.get((view, key))

    def rows(self, view: str, prefix: str = "") -> list[tuple[str, bytes]]:
        """The rows whose key begins with `prefix`, by key."""
        found = [
            (key, row)
            for (of, key), row in self._rows.items()
            if of == view and key.startswith(prefix)
        ]
        return sorted(found, key=lambda pair: pair[0].encode())

    def rows_of(self, views: Sequence[str], prefix: str = "") -> list[tuple[str, str, bytes]]:
        """The same of several views."""
        return [(view, key, row) for view in sorted(views) for key, row in self.rows(view, prefix)]

    def note(self, name: str) -> str:
        """A short text kept beside the rows."""
        return self._notes.get(name, "")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything read inside belongs to one position."""
        with self._lock:
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
        with self._lock:
            if self._position != base:
                return False
            anew = anew or base is None
            rows = {} if anew else dict(self._rows)
            for view, key, row in changes:
                rows.pop((view, key), None)
                if row is not None:
                    rows[view, key] = row
            self._rows, self._position = rows, position
            self._notes = {**({} if anew else self._notes), **(notes or {})}
            return True

    def hurried(self) -> AbstractContextManager[None]:
        """Nobody else is ever at work here."""
        return nullcontext()

    def discard(self) -> None:
        """Throw away everything."""
        with self._lock:
            self._rows, self._position, self._notes = {}, None, {}

    def close(self) -> None:
        """Nothing to let go of."""


class MemorySnapshots:
    """The last two exports."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []

    def save(self, data: bytes, generation: int) -> None:
        """Keep this one and the one before it."""
        del generation  # a log in memory has no other process to erase from it
        self._kept = [data, *self._kept[:1]]

    def load(self) -> Iterator[bytes]:
        """What is kept, newest first."""
        yield from list(self._kept)

    def drop(self) -> None:
        """Remove them all."""
        self._kept = []
