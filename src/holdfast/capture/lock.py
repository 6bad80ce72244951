"""The writers' lock, and the durable mark inside it.

The lock is flock on a file that is never renamed or removed, so it dies with its holder and no
stale one can exist. The file's bytes hold the durable mark: which inode is the active segment, how
many of its bytes a sync has covered, and how those end. The mark needs no sync itself: it is for the
next process after a kill, when the page cache lives on; after a power cut what the disk holds is the
truth, and a mark that does not fit the file is no mark.
"""

from __future__ import annotations

import fcntl
import os
import time

from .disk import Disk

_MARK = b"%020d %020d %b\n"
#: how many bytes before the mark are noted with it
END_BYTES = 12


class Busy(TimeoutError):
    """Another process held the log's lock for longer than this one may wait."""


class Lock:
    """Exclusive between processes; a Writer adds the lock between threads."""

    def __init__(self, path: str, disk: Disk) -> None:
        self._disk = disk
        self._path = path
        self._fd = -1
        self._open()

    def _open(self) -> None:
        if self._fd < 0:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._fd = self._disk.open(self._path, flags, 0o600)

    def acquire(self, timeout: float) -> None:
        """Take the lock or raise Busy; waits in short steps so that a deadline can be kept."""
        self._open()
        deadline = time.monotonic() + timeout
        pause = 0.0002
        while True:
            try:
                self._disk.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Busy(f"{self._path} is held by another process") from None
                time.sleep(min(pause, left))
                pause = min(pause * 1.5, 0.005)

    def still_the_one(self) -> bool:
        """Is the file we hold the one others would take? Not after the folder was set aside."""
        try:
            return self._disk.stat(self._path).st_ino == self._disk.fstat(self._fd).st_ino
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Let the next writer in; if the lock will not open, its descriptor goes with it."""
        if self._fd < 0:
            return
        try:
            self._disk.flock(self._fd, fcntl.LOCK_UN)
        except OSError:
            self.close()

    def mark(self, inode: int, durable: int, tail: bytes) -> None:
        """Write down how much of the active segment is on the disk for certain, and its end."""
        self._disk.pwrite(
            self._fd, _MARK % (inode, durable, tail.hex().ljust(2 * END_BYTES).encode()), 0
        )

    def write(self, note: bytes) -> None:
        """Leave a word in a lock file that holds no mark."""
        self._disk.ftruncate(self._fd, 0)
        self._disk.pwrite(self._fd, note, 0)

    def durable(self, inode: int) -> tuple[int, bytes]:
        """How many bytes of this inode a sync has covered, and how they end; 0 when unknown."""
        parts = self._disk.pread(self._fd, 128, 0).split()
        try:
            marked, durable, tail = int(parts[0]), int(parts[1]), bytes.fromhex(parts[2].decode())
        except (IndexError, ValueError):
            return 0, b""
        return (durable, tail) if marked == inode else (0, b"")

    def done(self) -> None:
        """Release and close: a child that was forked meanwhile holds the descriptor, not the lock."""
        self.release()
        self.close()

    def close(self) -> None:
        """Give the descriptor back; a lock still held goes with it."""
        if self._fd >= 0:
            self._disk.let_go(self._fd)
        self._fd = -1
