"""Holding the log: one writer at a time, among threads, processes and forked children.

    with writer.hold(): …

Taking the lock and finding everything settled are one step: whoever holds, may write.
"""

from __future__ import annotations

import os
from _thread import RLock  # `threading` itself costs a hook a millisecond

from .disk import Disk
from .layout import LOCK
from .lock import Lock


class Held:
    """The lock between threads, the lock between processes, and what a fork does to both."""

    def __init__(self, folder: str, disk: Disk, lock_timeout: float) -> None:
        self.folder = folder
        self.disk = disk
        self.lock_timeout = lock_timeout
        self._fd = -1
        self._open()

    def _open(self) -> None:
        self._pid = os.getpid()
        self._threads = RLock()
        self._depth = 0
        self._lock = Lock(os.path.join(self.folder, LOCK), self.disk)

    def _settle(self, timeout: float = 0.0) -> None:
        """Under the lock: see what changed, and mend it."""

    def _forget(self) -> None:
        """Drop what is known; the next hold looks again."""

    def enter(self, timeout: float) -> None:
        """Take the lock between threads, then the one between processes."""
        if self._pid != os.getpid():
            self._leave_parent()
        self._threads.acquire()
        self._depth += 1
        if self._depth > 1:
            return
        try:
            self._lock.acquire(timeout)
            try:
                self._settle(timeout)
            except BaseException:
                self._forget()
                self._lock.release()
                raise
        except BaseException:
            self._depth -= 1
            self._threads.release()
            raise

    def exit(self) -> None:
        """Let the next writer in."""
        self._depth -= 1
        if self._depth == 0:
            self._lock.release()
        self._threads.release()

    def _leave_parent(self) -> None:
        """After a fork: descriptors shared with the parent share its lock, so open our own."""
        if self._fd >= 0:
            self.disk.let_go(self._fd)
            self._fd = -1
        self._lock.close()
        self._open()
