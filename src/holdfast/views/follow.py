"""Following the log: from the rows a store holds to rows that include every event, and back into it.

A store that can be written is brought up to date. One that cannot (no right to write, somebody else at
work for too long, no room) is read as it is, and the events behind its position are folded in memory
beside it, so an answer never lags behind the log and never waits for a disk.

The position says which record was the last one folded, with its checksum and the log's generation. If
that record is no longer what the log holds there, the log is not the one these rows came from: it was
erased from, restored from a backup, or belongs to somebody else. Then everything is folded anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from holdfast.errors import Damaged, HoldfastError, Unavailable
from holdfast.model.events import Damage, Event, Position
from holdfast.ports.log import EventLog
from holdfast.ports.views import Snapshots, ViewStore

from . import snapshot
from .every import VIEWS
from .fold import Fold
from .snapshot import SESSIONS, Lacking, Snapshot, short
from .view import View, session_of, session_within

#: folded between two commits: large enough to be cheap, small enough to hold in memory
CHUNK = 20_000
#: how often another process may be faster before its rows are left alone
_RACES = 20

#: the note that says which sessions a store lacks
LACKING = "lacking"
#: what a person's patience asks for: the last event taken in
Progress = Callable[[int], None]
Tell = Callable[[str], None]


class Incomplete(Exception):
    """The rows came from a snapshot that had to leave these out; the log has them."""


class Tail:
    """What was folded since a position and is not in the store yet."""

    def __init__(
        self,
        store: ViewStore,
        base: Position | None,
        *,
        anew: bool = False,
        lacking: Lacking | None = None,
    ) -> None:
        self._store = store
        self.base = base
        #: the store's rows are of another log and do not count
        self.anew = anew or base is None
        self.position = None if anew else base
        self.changes: dict[tuple[str, str], bytes | None] = {}
        self.lacking = lacking or Lacking()

    def begin(self, found: Snapshot) -> None:
        """Start from the rows of a snapshot."""
        self.lacking = found.lacking
        self.position = replace(found.position, lacking=found.lacking.digest())
        self.changes = {(view, key): row for view, key, row in found.each()}

    def row(self, view: str, key: str) -> bytes | None:
        """One row, as it is at the position."""
        if (view, key) in self.changes:
            return self.changes[view, key]
        self._must_have(view, session_of(key))
        return None if self.anew else self._store.row(view, key)

    def rows(self, view: str, prefix: str) -> list[tuple[str, bytes]]:
        """The rows whose key begins with `prefix`, by key."""
        self._must_have(view, session_within(prefix))
        found = {} if self.anew else dict(self._store.rows(view, prefix))
        for (of, key), row in self.changes.items():
            if of == view and key.startswith(prefix):
                found.pop(key, None)
                if row is not None:
                    found[key] = row
        return sorted(found.items(), key=lambda pair: pair[0].encode())

    def _must_have(self, view: str, session: str | None) -> None:
        """Incomplete when rows of this view and session (or of all) may be left to the log."""
        missing = self.lacking.names
        if view != SESSIONS.name:
            missing = missing | self.lacking.details
        if missing and (session is None or short(session) in missing):
            raise Incomplete

    def take(self, fold: Fold, last: Event, generation: int) -> None:
        """Include what was folded, up to an event."""
        self.changes.update({(view, key): row for view, key, row in fold.changes()})
        lacking = self.position.lacking if self.position else ""
        self.position = Position(
            generation=generation, event_seq=last.event_seq, crc=last.crc, lacking=lacking
        )


def lacking_in(store: ViewStore, base: Position) -> Lacking:
    """What a store at this position has not."""
    found = Lacking.said(store.note(LACKING)) if base.lacking else Lacking()
    if found.digest() != base.lacking:
        raise Damaged("the index does not know which of its rows are missing")
    return found


class Follower:
    """Keeps one store at the head of one log."""

    def __init__(
        self,
        log: EventLog,
        store: ViewStore,
        snapshots: Snapshots,
        *,
        project_id: str,
        tell: Tell,
        views: tuple[View, ...] = VIEWS,
    ) -> None:
        self._log = log
        self.store = store
        self._snapshots = snapshots
        self._project_id = project_id
        self._tell = tell
        self._views = views
        self._tail: Tail | None = None
        self._believes_snapshots = True
        self._generation = 0
        #: set when the store did not take what was folded
        self.trouble = ""
        #: event types, and damage, met since somebody last asked
        self.seen: set[str] = set()
        self.damage: list[Damage] = []

    def up_to_date(self, progress: Progress | None = None) -> Tail:
        """The rows at the head of the log; in the store too, if it can be written."""
        lost = 0
        while True:
            tail = self._from_where_it_is()
            if tail.position is None and self._believes_snapshots:
                self._seed(tail)
            events = self._behind(tail)
            if events is None:
                self._tell("the log is not the one the index was made from; it is made anew")
                self._tail = Tail(self.store, tail.base, anew=True)
                continue
            keep = lost < _RACES  # when others keep being faster, answer beside the store
            if self._folded(tail, events, progress, keep=keep):
                return self._tail or tail
            self._tail = None  # another process was faster: go on from where it is
            lost += 1

    def forget(self) -> None:
        """Start from what the store says."""
        self._tail = None

    def forget_snapshots(self) -> None:
        """The same, and believe no snapshot from here on: the log alone counts."""
        self._tail = None
        self._believes_snapshots = False

    def _from_where_it_is(self) -> Tail:
        with self.store.reading():
            base = self.store.position()
            if self._tail is None or self._tail.base != base:
                lacking = lacking_in(self.store, base) if base is not None else None
                self._tail = Tail(self.store, base, lacking=lacking)
        return self._tail

    def _behind(self, tail: Tail) -> Iterator[Event | Damage] | None:
        """What the log holds behind a position; None when that position is not in this log."""
        at, head = tail.position, self._log.head()
        self._generation = head.generation
        if at is not None and replace(at, lacking="") == head:
            return iter(())
        if at is None:
            dropped = self._log.retained_through()
            if dropped:
                self._tell(
                    f"events up to {dropped} were dropped; what they said is not in the views"
                )
            return self._log.read(0)
        if at.generation != head.generation:
            return None
        found = self._log.read(max(at.event_seq - 1, 0))
        first = next((piece for piece in found if isinstance(piece, Event)), None)
        same = first is not None and (first.event_seq, first.crc) == (at.event_seq, at.crc)
        return found if same else None

    def _folded(
        self,
        tail: Tail,
        found: Iterator[Event | Damage],
        progress: Progress | None,
        *,
        keep: bool,
    ) -> bool:
        """Fold everything, committing as we go; False when another process was faster."""
        self.trouble = ""
        fold, count = Fold(tail.row, self._views), 0
        last: Event | None = None
        for event in found:
            if isinstance(event, Damage):
                self.damage.append(event)
                continue
            fold.apply(event)
            last, count = event, count + 1
            self.seen.add(event.kind)
            if count == CHUNK:
                tail.take(fold, last, self._generation)
                if keep and not self._stored(tail):
                    return False
                tail = self._tail or tail
                fold, count = Fold(tail.row, self._views), 0
                if progress is not None:
                    progress(last.event_seq)
        if last is not None and count:
            tail.take(fold, last, self._generation)
        return not keep or tail.position == tail.base or self._stored(tail)

    def _stored(self, tail: Tail) -> bool:
        """Put what was folded into the store; it stays in memory when the store will not take it."""
        if self.trouble:
            return True  # it would not a moment ago; the next read tries again
        try:
            done = self.store.commit(
                tail.base,
                ((view, key, row) for (view, key), row in tail.changes.items()),
                tail.position,
                anew=tail.anew,
                notes={LACKING: tail.lacking.text()}
                if tail.anew and tail.lacking.digest()
                else None,
            )
        except Unavailable as exc:
            self.trouble = str(exc)
            return True
        if done:
            self._tail = Tail(self.store, tail.position, lacking=tail.lacking)
        return done

    # ---- snapshots -------------------------------------------------------------------------

    def _seed(self, tail: Tail) -> None:
        """Begin from the newest snapshot that is whole, ours and of this log."""
        try:
            kept = list(self._snapshots.load())
        except HoldfastError as exc:
            self._tell(f"a snapshot cannot be read: {exc}")
            return
        for data in kept:
            found = snapshot.read(data, self._project_id, self._views)
            reason = found if isinstance(found, str) else self._unfit(found)
            if isinstance(found, str) or reason:
                self._tell(f"a snapshot is not used: {reason}")
                continue
            tail.begin(found)
            return

    def _unfit(self, found: Snapshot) -> str:
        """Why a snapshot does not belong to this log; empty when it does."""
        at, head = found.position, self._log.head()
        if at.generation != head.generation:
            return "the log was changed since"
        if at.event_seq > head.event_seq:
            return f"it is newer than the log ({at.event_seq} against {head.event_seq})"
        events = self._log.read(at.event_seq - 1)
        first = next((piece for piece in events if isinstance(piece, Event)), None)
        if first is None or (first.event_seq, first.crc) != (at.event_seq, at.crc):
            return f"event {at.event_seq} of the log is another one"
        return ""
