"""Where views are kept: rows by key, and how far of the log they include.

What every engine must keep, and what tests/contract/test_view_store.py proves on each:

- rows and position change together or not at all;
- a commit counts only when it was made for the position that is there, so of several writers each
  advance happens once;
- what is read inside one `reading` block belongs to one position;
- a row that is not what was written is Damaged, never an answer; trouble that may pass is Unavailable.

Rows are bytes here; what they mean is for the views to know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from holdfast.model.events import Position


class ViewStore(Protocol):
    """The rows of one project's views."""

    def position(self) -> Position | None:
        """How far of the log the rows include; None when there are none."""
        ...

    def row(self, view: str, key: str) -> bytes | None:
        """One row."""
        ...

    def rows(self, view: str, prefix: str = "") -> list[tuple[str, bytes]]:
        """The rows whose key begins with `prefix`, by key."""
        ...

    def rows_of(self, views: Sequence[str], prefix: str = "") -> list[tuple[str, str, bytes]]:
        """The same of several views at once: view, key, bytes, in that order."""
        ...

    def note(self, name: str) -> str:
        """A short text kept beside the rows; empty when there is none."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """Everything read inside belongs to one position."""
        ...

    def commit(
        self,
        base: Position | None,
        changes: Iterable[tuple[str, str, bytes | None]],
        position: Position | None,
        *,
        anew: bool = False,
        notes: Mapping[str, str] | None = None,
    ) -> bool:
        """Advance from `base` to `position`; False when the rows are no longer at `base`.

        A row that is None goes; `anew`, or a base of None, lets go of every row and note that is
        not given.
        """
        ...

    def hurried(self) -> AbstractContextManager[None]:
        """Inside, nothing waits for another process: it is Unavailable at once."""
        ...

    def discard(self) -> None:
        """Throw away everything, whatever state it is in."""
        ...

    def close(self) -> None:
        """Let go."""
        ...


class Snapshots(Protocol):
    """Exports of the views, kept beside the log for the day their store is unusable."""

    def save(self, data: bytes, generation: int) -> None:
        """Keep this one and the one before it, if the log is still of that generation."""
        ...

    def load(self) -> Iterator[bytes]:
        """What is kept, newest first."""
        ...

    def drop(self) -> None:
        """Remove them all."""
        ...


class IdStore(Protocol):
    """Which event ids are in the log and where: kept between processes, never the truth."""

    def position(self) -> Position | None:
        """How far of the log it includes."""
        ...

    def seq(self, event_id: str) -> int | None:
        """Where that id is."""
        ...

    def add(
        self, base: Position | None, ids: Iterable[tuple[str, int]], position: Position
    ) -> bool:
        """Include more; of an id that is there the first place counts. False when not at `base`."""
        ...

    def hurried(self) -> AbstractContextManager[None]:
        """Inside, nothing waits long for another process: the log's lock is held meanwhile."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...
