"""index.db: opening it, replacing it, and never two things at once.

Everything in it is derived from the log, so the remedy for any trouble is a new file. Opening, replacing
and writing happen under `index.lock`; whoever has the old file open notices by its inode and opens the
new one. SQLite itself leaves the journal alone when a file was replaced under it, so a late closer
harms nobody. No connection lives through a fork: SQLite's locks do not.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote
from weakref import WeakSet

from holdfast.capture.disk import Disk
from holdfast.capture.layout import INDEX, INDEX_LOCK
from holdfast.capture.lock import Lock
from holdfast.errors import Damaged, Unavailable

from .trouble import passing, translated

#: of the tables; the meaning of their rows has its own
SCHEMA = 1
_TABLES = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE rows (view TEXT, key TEXT, sum INTEGER NOT NULL, row BLOB NOT NULL, "
    "PRIMARY KEY (view, key)) WITHOUT ROWID",
    "CREATE TABLE ids (hash INTEGER PRIMARY KEY, seq INTEGER NOT NULL)",
)
#: pages kept at hand, as far as they are asked for; a third of the time of a question in a store of a
#: million memories went into reading them again
_CACHE = "PRAGMA cache_size=-65536"
#: seconds a fork waits for a thread in the middle of something
_LONGEST_WAIT = 1.0
#: how a file is opened: to write; beside writers; where not even their shared memory can be made
_WRITE, _READ, _AS_IT_LIES = "mode=rw", "mode=ro", "mode=ro&immutable=1"


class Index:
    """One project's index.db. Any number may be open, in any number of processes and threads."""

    def __init__(
        self, folder: str, *, project_id: str, busy_ms: int = 2_000, disk: Disk | None = None
    ) -> None:
        self.path = os.path.join(folder, INDEX)
        self._project_id = project_id
        self._busy_ms = self._patience = busy_ms
        self._disk = disk or Disk()
        self._lock_path = os.path.join(folder, INDEX_LOCK)
        self._alone = 0
        self._connection: sqlite3.Connection | None = None
        self._mode = _WRITE
        self._stamp = (0, 0, 0)
        self._threads = threading.RLock()
        self._orphan = False
        #: how often it was opened; what somebody learnt about an earlier file may not hold for this
        self.opened = 0
        with _FORKING:
            _ALL.add(self)

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection]:
        """The open file, for one thread at a time."""
        with self._threads, translated(self.path):
            db = self._connection
            if db is None or (not _under_way(db) and self._changed()):
                self.let_go()
                db = self._connection = self._open()
                self.opened += 1
            yield db

    @contextmanager
    def transaction(self, how: str = "DEFERRED") -> Iterator[sqlite3.Connection]:
        """All of it or nothing; inside another one, a part of that."""
        with self.use() as db:
            if _under_way(db):
                yield db
                return
            db.execute(f"BEGIN {how}")
            try:
                yield db
                db.execute("COMMIT")
            finally:
                if _under_way(db):
                    db.execute("ROLLBACK")
            if self._mode == _AS_IT_LIES and self._changed():
                raise Unavailable(f"{self.path} was written while it was read")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that may change rows, while nobody opens, replaces or erases anything."""
        with self._threads, translated(self.path), self._nobody_else():
            if self._connection is not None and self._mode != _WRITE:
                self.let_go()  # it could only be read then; it may be different now
            with self.transaction("IMMEDIATE") as db:
                yield db

    @contextmanager
    def hurried(self, patience_ms: int = 0) -> Iterator[None]:
        """Inside, nothing waits longer than this for another process, whatever thread it is of."""
        self._be_patient(min(patience_ms, self._busy_ms))
        try:
            yield
        finally:
            self._be_patient(self._busy_ms)

    def _be_patient(self, patience_ms: int) -> None:
        with self._threads, translated(self.path):
            self._patience = patience_ms
            if self._connection is not None:
                self._connection.execute(f"PRAGMA busy_timeout={patience_ms}")

    def _changed(self) -> bool:
        """Is the file no longer the one that was opened, or the one that was read?"""
        found = self._stamped()
        if self._mode == _AS_IT_LIES:
            return found != self._stamp or os.path.exists(self.path + "-wal")
        return found[0] != self._stamp[0]

    def _stamped(self) -> tuple[int, int, int]:
        try:
            seen = self._disk.stat(self.path)
        except FileNotFoundError:
            return (0, 0, 0)
        return (seen.st_ino, seen.st_size, seen.st_mtime_ns)

    # ---- opening ---------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        self._refuse_orphan()
        try:
            with self._nobody_else():
                return self._open_for_writing()
        except (Unavailable, OSError, sqlite3.Error) as exc:
            damaged = isinstance(exc, sqlite3.Error) and not passing(exc)
            if damaged or not os.path.exists(self.path):
                raise
            return self._open_for_reading()

    def _refuse_orphan(self) -> None:
        if self._orphan:  # SQLite takes the parent's locks for its own
            raise Unavailable(f"{self.path} was in use when this process was forked; open it anew")

    @contextmanager
    def _nobody_else(self) -> Iterator[None]:
        """Hold index.lock; once for each thread of calls."""
        if self._alone:
            yield
            return
        lock = Lock(self._lock_path, self._disk)
        try:
            lock.acquire(self._patience / 1000)
            self._alone += 1
            try:
                yield
            finally:
                self._alone -= 1
        finally:
            lock.done()

    def _open_for_writing(self) -> sqlite3.Connection:
        # a file that is there is opened by SQLite alone: closing it ourselves would, as POSIX has
        # it, drop the locks of every other connection of this process
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        made = False
        with suppress(FileExistsError):
            self._disk.let_go(self._disk.open(self.path, flags, 0o600))
            made = True
        db = self._connect(_WRITE)
        try:
            self._leave_newer(db)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute(_CACHE)
            db.execute("PRAGMA cell_size_check=ON")
            db.execute("PRAGMA secure_delete=ON")  # what was erased is not left in free pages
            self._make(db)
            self._check(db)
        except BaseException:
            db.close()
            if made:  # the last bytes of a disk are the log's
                self._remove()
            raise
        return db

    def _open_for_reading(self) -> sqlite3.Connection:
        """A home we may not write: what is there, as it is."""
        for mode in (_READ, _AS_IT_LIES):
            if mode == _AS_IT_LIES and os.path.exists(self.path + "-wal"):
                break  # somebody writes: the file alone is not all of it
            db = self._connect(mode)
            try:
                self._check(db)
                db.execute(_CACHE)
                return db
            except sqlite3.OperationalError as exc:
                db.close()
                if not passing(exc):
                    raise
            except BaseException:
                db.close()
                raise
        raise Unavailable(f"{self.path} cannot be read here")

    def _connect(self, mode: str) -> sqlite3.Connection:
        self._mode, self._stamp = mode, self._stamped()
        return sqlite3.connect(
            f"file:{quote(os.path.abspath(self.path))}?{mode}",
            uri=True,
            isolation_level=None,
            timeout=self._patience / 1000,
            check_same_thread=False,
        )

    def _make(self, db: sqlite3.Connection) -> None:
        """An empty file becomes ours."""
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version == 0 and not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            db.execute("BEGIN IMMEDIATE")
            for table in _TABLES:
                db.execute(table)
            db.execute("INSERT INTO facts VALUES ('project', ?)", (self._project_id,))
            db.execute(f"PRAGMA user_version={SCHEMA}")
            db.execute("COMMIT")

    def _leave_newer(self, db: sqlite3.Connection) -> int:
        """The file's schema; Unavailable, and untouched, when a newer Holdfast made it."""
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        if version > SCHEMA:
            raise Unavailable(f"{self.path} was made by a newer Holdfast; upgrade this one")
        return version

    def _check(self, db: sqlite3.Connection) -> None:
        """What is not ours, or not whole, is Damaged and goes."""
        version = self._leave_newer(db)
        if version != SCHEMA:
            raise Damaged(f"it is of schema {version}, not {SCHEMA}")
        found = db.execute("SELECT value FROM facts WHERE name='project'").fetchone()
        if found != (self._project_id,):
            raise Damaged(f"it belongs to {found[0] if found else 'nobody'}")
        for table in ("facts", "rows"):
            self.check_table(db, table)

    def check_table(self, db: sqlite3.Connection, table: str) -> None:
        """Is the book-keeping of its pages sound? A write to one that is not would spread it."""
        sound = db.execute(f"PRAGMA quick_check({table})").fetchone()[0]
        if sound != "ok":
            raise Damaged(f"{self.path}: {sound}")

    # ---- letting go ------------------------------------------------------------------------

    def discard(self) -> None:
        """Remove the file, whatever state it is in; the next use makes a new one."""
        with self._threads, translated(self.path):
            self._refuse_orphan()
            self.let_go()
            with self._nobody_else():
                self._remove()

    def _remove(self) -> None:
        for name in (self.path, self.path + "-wal", self.path + "-shm"):
            with suppress(FileNotFoundError):
                self._disk.unlink(name)

    def let_go(self) -> None:
        """Close the file; the next use opens it."""
        with self._threads, translated(self.path):
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    # ---- forks -----------------------------------------------------------------------------

    def before_fork(self, seconds: float) -> bool:
        """Finish what is under way and close; False when a thread did not finish in time."""
        if not self._threads.acquire(timeout=seconds):
            return False
        if self._connection is not None and not _under_way(self._connection):
            self._connection.close()
            self._connection = None
        return True

    def after_fork(self) -> None:
        """Go on, on either side."""
        self._threads.release()

    def be_orphan(self) -> None:
        """In a child that inherited a connection in use: neither use nor close it."""
        self._threads = threading.RLock()
        _OF_A_PARENT.append(self._connection)
        self._connection, self._orphan = None, True


def _under_way(db: sqlite3.Connection) -> bool:
    return db.in_transaction


_ALL: WeakSet[Index] = WeakSet()
#: held from before a fork until after it: one fork at a time, and no new Index meanwhile
_FORKING = threading.RLock()
_AT_REST: list[tuple[Index, bool]] = []
#: connections that are neither used nor closed on this side of a fork
_OF_A_PARENT: list[sqlite3.Connection | None] = []


def _before_fork() -> None:
    _FORKING.acquire()
    deadline = time.monotonic() + _LONGEST_WAIT
    for index in list(_ALL):
        left = max(0.0, deadline - time.monotonic())
        _AT_REST.append((index, index.before_fork(left)))


def _after_fork(*, child: bool) -> None:
    while _AT_REST:
        index, at_rest = _AT_REST.pop()
        if at_rest:
            index.after_fork()
        elif child:
            index.be_orphan()
    _FORKING.release()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=lambda: _after_fork(child=False),
    after_in_child=lambda: _after_fork(child=True),
)
