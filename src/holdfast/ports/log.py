"""The log: appended to, read in order, followed. Further abilities are further protocols.

What every engine must keep, and what tests/contract/test_event_log.py proves on each:

- `append` returns events with dense, rising `event_seq`, after they are as durable as was asked;
- an `event_id` is there at most once: appending it again returns the event that is there, and
  appending it with other content is a Conflict;
- no reader sees position n and later a new event below n;
- `read` yields every event after a position in order, and a Damage wherever something is not one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from holdfast.model.events import Damage, Entry, Event, Position
from holdfast.model.reports import Erasure, Verified


class EventLog(Protocol):
    """One project's truth."""

    def append(self, entries: Sequence[Entry], *, durable: bool = True) -> list[Event]:
        """Record entries as one batch; with `durable=False` the sync may follow within the window."""
        ...

    def read(self, after: int = 0) -> Iterator[Event | Damage]:
        """Every event behind a position, in order, up to now."""
        ...

    def find(self, event_id: str) -> Event | None:
        """The event of that id."""
        ...

    def present(self, event_ids: Sequence[str]) -> set[str]:
        """Which of these ids are there."""
        ...

    def head(self) -> Position:
        """How far the log goes."""
        ...

    def retained_through(self) -> int:
        """The last seq a retention dropped; 0 when nothing ever was."""
        ...

    def size(self) -> int:
        """How many bytes it takes."""
        ...

    def wait(self, after: int, timeout: float) -> bool:
        """Is there an event behind this position? Waits for one, at most timeout seconds."""
        ...

    def close(self) -> None:
        """Sync what is left and let go."""
        ...


class Keeper(Protocol):
    """The upkeep of a log: closing segments, taking content out, dropping what is old, checking."""

    def seal(self) -> None:
        """Close the active segment and note the chain's head."""
        ...

    def erase(self, event_ids: Sequence[str], *, subject: Entry) -> Erasure:
        """Take the content of these events out for good; `subject` records that it was done."""
        ...

    def retain(self, baseline: Entry, *, through: int) -> int:
        """Record the folded state up to `through`, then drop whole segments up to there."""
        ...

    def verify(self) -> Verified:
        """Read everything and say what is there and what is wrong."""
        ...


class Blobs(Protocol):
    """Bodies by the hash of what is in them."""

    def read(self, digest: str) -> Iterator[bytes]:
        """The body in pieces; NotFound when it is not there, Damaged when it is not itself."""
        ...
