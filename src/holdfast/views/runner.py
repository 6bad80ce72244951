"""Reading views: always at the head of the log, whatever became of the index.

`read` is the one way in. It brings the rows up to date, asks, and answers. An index that turns out to be
damaged is thrown away and made again from a snapshot or from the log; one that cannot be used at all
just now is replaced by a spare in memory for this process. A caller notices the time, never a wrong row.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, TypeVar

from holdfast.errors import Damaged, HoldfastError, Unavailable
from holdfast.model.events import Damage, Position
from holdfast.model.settings import ViewSettings
from holdfast.ports.log import EventLog
from holdfast.ports.views import Snapshots, ViewStore

from . import snapshot
from .every import VIEWS
from .fold import decoded, state_hash
from .follow import Follower, Incomplete, Progress, Tail, lacking_in
from .view import View

T = TypeVar("T")
#: after one of these a snapshot is worth its price
MILESTONES = frozenset({"validation_gate", "session_ended", "checkpoint_saved"})


class Reading:
    """The rows of every view at one position."""

    def __init__(self, tail: Tail, views: tuple[View, ...]) -> None:
        self._tail = tail
        self._views = views

    @property
    def position(self) -> Position | None:
        """The last event that is in them."""
        return self._tail.position

    def row(self, view: View, key: str) -> Any:
        """One row, or None."""
        data = self._tail.row(view.name, key)
        return None if data is None else decoded(view, data)

    def rows(self, view: View, prefix: str = "") -> list[Any]:
        """The rows whose key begins with `prefix`, by key."""
        return [decoded(view, row) for _, row in self._tail.rows(view.name, prefix)]

    def everything(self) -> Iterator[tuple[str, str, bytes]]:
        """Every row as it is kept."""
        for view in self._views:
            for key, row in self._tail.rows(view.name, ""):
                yield view.name, key, row


class Runner:
    """The views of one project."""

    def __init__(  # noqa: PLR0913  (what open composes, by name)
        self,
        log: EventLog,
        store: ViewStore,
        snapshots: Snapshots,
        *,
        spare: Callable[[], ViewStore],
        project_id: str,
        settings: ViewSettings,
        damage: Callable[[list[Damage]], None] = lambda _: None,
        views: tuple[View, ...] = VIEWS,
    ) -> None:
        self._log = log
        self._snapshots = snapshots
        self._project_id = project_id
        self._settings = settings
        self._views = views
        self._damage = damage
        self._spare = spare
        self._main = self._follower(store)
        self._beside: Follower | None = None
        self._hurry = False
        self._pid = os.getpid()
        self._lock = threading.RLock()
        #: what happened to the index that a person should know
        self.notices: list[str] = []

    def _follower(self, store: ViewStore) -> Follower:
        return Follower(
            self._log,
            store,
            self._snapshots,
            project_id=self._project_id,
            tell=self._tell,
            views=self._views,
        )

    def _tell(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)

    # ---- reading ---------------------------------------------------------------------------

    def read(self, ask: Callable[[Reading], T], progress: Progress | None = None) -> T:
        """What `ask` finds in rows that include every event of the log."""
        with self._one_at_a_time():
            for _ in range(3):
                try:
                    return self._in_time(ask, progress)
                except Damaged as exc:
                    self._tell(f"the index was damaged and is made anew: {exc}")
                    if not self._discarded(self._main.forget):
                        break
                except Incomplete:
                    if not self._discarded(self._main.forget_snapshots):
                        break
                except Unavailable as exc:
                    self._tell(f"the index cannot be used just now: {exc}")
                    self._hurry = True
                    break
            if self._beside is None:
                self._beside = self._follower(self._spare())
            try:
                return self._asked(self._beside, ask, progress)
            except Incomplete:
                self._beside.forget_snapshots()
                self._beside.store.discard()
                return self._asked(self._beside, ask, progress)

    def _one_at_a_time(self) -> threading.RLock:
        if self._pid != os.getpid():  # a parent's thread may hold the lock we were forked with
            self._pid, self._lock = os.getpid(), threading.RLock()
            self._main.forget()
            self._beside = None
        return self._lock

    def _in_time(self, ask: Callable[[Reading], T], progress: Progress | None) -> T:
        """Whoever was kept waiting for the store is not, until the store has been free again."""
        with self._main.store.hurried() if self._hurry else nullcontext():
            answer = self._asked(self._main, ask, progress)
        self._hurry = bool(self._main.trouble)
        if self._hurry:
            self._tell(f"the index could not be brought up to date: {self._main.trouble}")
        return answer

    def _asked(
        self, follower: Follower, ask: Callable[[Reading], T], progress: Progress | None
    ) -> T:
        while True:
            tail = follower.up_to_date(progress)
            with follower.store.reading():
                # nobody may have moved the rows between bringing them up to date and reading them
                if tail.anew or follower.store.position() == tail.base:
                    answer = ask(Reading(tail, self._views))
                    break
            follower.forget()
        if follower is self._main and not follower.trouble:
            self._export_when_due(follower, tail)
        if follower.damage:
            damage, follower.damage = list(dict.fromkeys(follower.damage)), []
            self._damage(damage)
        return answer

    def _discarded(self, forget: Callable[[], None]) -> bool:
        """Throw the index away; False when it will not go."""
        try:
            forget()
            self._main.store.discard()
        except (Damaged, Unavailable) as exc:
            self._tell(f"the index cannot be made anew: {exc}")
            return False
        return True

    def catch_up(self) -> None:
        """Bring the index up to date unless somebody is at it: the caller's events are safe already.

        Nothing is waited for, and nothing is raised.
        """
        if not self._one_at_a_time().acquire(blocking=False):
            return
        try:
            with self._main.store.hurried():
                self._asked(self._main, lambda _: None, None)
        except (Unavailable, Incomplete):
            return  # whoever asks next brings it up to date, or hears of it
        except (HoldfastError, Warning) as exc:
            self._tell(f"the index could not be brought up to date: {exc}")
        finally:
            self._lock.release()

    # ---- making anew -----------------------------------------------------------------------

    def rebuild(self, progress: Progress | None = None) -> str:
        """Fold the whole log anew, believing no index and no snapshot; the state's hash.

        Where nothing can be written the hash is of a fold in memory.
        """
        with self._one_at_a_time():
            try:
                self._snapshots.drop()
            except HoldfastError as exc:
                self._tell(f"the snapshots cannot be removed: {exc}")
            if self._discarded(self._main.forget_snapshots):
                return self.state_hash(progress)
            spare = self._follower(self._spare())
            spare.forget_snapshots()
            return self._asked(spare, _hash, progress)

    def state_hash(self, progress: Progress | None = None) -> str:
        """SHA-256 over every row of every view."""
        return self.read(_hash, progress)

    def hash_on_disk(self) -> str | None:
        """The hash of the kept rows, brought up to date; empty for damage, None for no whole rows."""
        with self._one_at_a_time():
            try:
                there = self._main.store.position() is not None
                return self._asked(self._main, _hash, None) if there else None
            except Damaged as exc:
                self._tell(f"the index was damaged: {exc}")
                return ""
            except (HoldfastError, Incomplete):
                return None

    def extent(self) -> tuple[int, int]:
        """The last event that is in the rows, and how many sessions there are."""

        def ask(reading: Reading) -> tuple[int, int]:
            at = reading.position
            return (at.event_seq if at else 0), len(reading.rows(self._views[0]))

        return self.read(ask)

    def close(self) -> None:
        """Let go of the store."""
        self._main.store.close()

    # ---- snapshots -------------------------------------------------------------------------

    def snapshot_seq(self) -> int:
        """The last event of the last exported snapshot; 0 when none is known."""
        return self._exported()[0]

    def _exported(self) -> tuple[int, int]:
        try:
            parts = self._main.store.note("exported").split()
            return int(parts[0]), int(parts[1])
        except (IndexError, ValueError, HoldfastError):
            return 0, 0

    def _export_when_due(self, follower: Follower, tail: Tail) -> None:
        milestone, something = bool(follower.seen & MILESTONES), bool(follower.seen)
        follower.seen.clear()
        at, seq, size = tail.position, *self._exported()
        if not something or at is None or at.event_seq == seq:
            return
        try:
            grown = abs(self._log.size() - size) >= self._settings.snapshot_every_bytes
        except HoldfastError:
            grown = False
        if milestone or grown or abs(at.event_seq - seq) >= self._settings.snapshot_every_events:
            self.export()

    def export(self) -> None:
        """Write a snapshot of the rows as they are; trouble with it is told, not raised."""
        store = self._main.store
        try:
            size = self._log.size()
            with store.reading():
                position = store.position()
                if position is None:
                    return
                data = snapshot.write(
                    store,
                    position,
                    self._project_id,
                    self._views,
                    most=self._settings.snapshot_most_bytes,
                    lacking=lacking_in(store, position),
                )
            self._snapshots.save(data, position.generation)
            store.commit(position, (), position, notes={"exported": f"{position.event_seq} {size}"})
        except HoldfastError as exc:
            self._tell(f"no snapshot was written: {exc}")


def _hash(reading: Reading) -> str:
    return state_hash(reading.everything())
