"""index.db: opening it, and replacing it when it is not ours, not whole or not of this shape.

Everything in it is derived from the log, so the remedy for any trouble is a new file. Opening and
replacing happen under `index.lock`; whoever has the old file open notices by its inode and opens the
new one. SQLite itself leaves the journal alone when a file was replaced under it, so a late closer
harms nobody.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote

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


class Index:
    """One project's index.db. Any number may be open, in any number of processes and threads."""

    def __init__(
        self, folder: str, *, project_id: str, busy_ms: int = 2_000, disk: Disk | None = None
    ) -> None:
        self.path = os.path.join(folder, INDEX)
        self._folder = folder
        self._project_id = project_id
        self._busy_ms = busy_ms
        self._disk = disk or Disk()
        self._connection: sqlite3.Connection | None = None
        self._inode = self._pid = 0
        #: how often it was opened; what somebody learnt about an earlier file may not hold for this
        self.opened = 0
        self._own_threads()

    def _own_threads(self) -> None:
        """A lock of this process; that of a parent may be held by its threads."""
        self._pid = os.getpid()
        self._threads = threading.RLock()
        if self._connection is not None:
            _OF_A_PARENT.append(self._connection)  # neither used nor closed on this side of a fork
        self._connection = None

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection]:
        """The open file, for one thread at a time."""
        if self._pid != os.getpid():
            self._own_threads()
        with self._threads, translated(self.path):
            if self._connection is None or (not _under_way(self._connection) and self._replaced()):
                self._close()
                self._connection = self._open()
                self.opened += 1
            yield self._connection

    @contextmanager
    def transaction(self, how: str) -> Iterator[sqlite3.Connection]:
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

    def _replaced(self) -> bool:
        try:
            return self._disk.stat(self.path).st_ino != self._inode
        except FileNotFoundError:
            return True

    # ---- opening ---------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        try:
            with self._alone():
                return self._open_for_writing()
        except (Unavailable, OSError, sqlite3.Error) as exc:
            damaged = isinstance(exc, sqlite3.Error) and not passing(exc)
            if damaged or not os.path.exists(self.path):
                raise
            return self._open_for_reading()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        lock = Lock(os.path.join(self._folder, INDEX_LOCK), self._disk)
        try:
            lock.acquire(self._busy_ms / 1000)
            yield
        finally:
            lock.close()

    def _open_for_writing(self) -> sqlite3.Connection:
        # a file that is there is opened by SQLite alone: closing it ourselves would, as POSIX has
        # it, drop the locks of every other connection of this process
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with suppress(FileExistsError):
            self._disk.let_go(self._disk.open(self.path, flags, 0o600))
        db = self._connect("rw")
        try:
            self._leave_newer(db)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute("PRAGMA cell_size_check=ON")
            db.execute("PRAGMA secure_delete=ON")  # what was erased is not left in free pages
            self._make(db)
            self._check(db)
        except BaseException:
            db.close()
            raise
        return db

    def _connect(self, mode: str) -> sqlite3.Connection:
        address = f"file:{quote(os.path.abspath(self.path))}?{_MODES[mode]}"
        self._inode = self._disk.stat(self.path).st_ino
        return sqlite3.connect(
            address,
            uri=True,
            isolation_level=None,
            timeout=self._busy_ms / 1000,
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
        """What is not ours is Damaged and goes."""
        version = self._leave_newer(db)
        if version != SCHEMA:
            raise Damaged(f"it is of schema {version}, not {SCHEMA}")
        found = db.execute("SELECT value FROM facts WHERE name='project'").fetchone()
        if found != (self._project_id,):
            raise Damaged(f"it belongs to {found[0] if found else 'nobody'}")

    def _open_for_reading(self) -> sqlite3.Connection:
        """A home we may not write: what is there, as it is."""
        for mode in ("ro", "immutable"):
            db = self._connect(mode)
            try:
                self._check(db)
                return db
            except sqlite3.OperationalError as exc:
                db.close()
                if not passing(exc):
                    raise
            except BaseException:
                db.close()
                raise
        raise Unavailable(f"{self.path} cannot be read here")

    # ---- letting go ------------------------------------------------------------------------

    def discard(self) -> None:
        """Remove the file, whatever state it is in; the next use makes a new one."""
        with self._threads, translated(self.path):
            self._close()
            with self._alone():
                self._remove()

    def _remove(self) -> None:
        for name in (self.path, self.path + "-wal", self.path + "-shm"):
            with suppress(FileNotFoundError):
                self._disk.unlink(name)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Let go of the file."""
        if self._pid == os.getpid():
            with self._threads, translated(self.path):
                self._close()


_OF_A_PARENT: list[sqlite3.Connection] = []
_MODES = {"rw": "mode=rw", "ro": "mode=ro", "immutable": "mode=ro&immutable=1"}


def _under_way(db: sqlite3.Connection) -> bool:
    return db.in_transaction
