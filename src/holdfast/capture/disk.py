"""The system calls of the log, in one place.

Everything that reaches the disk goes through a `Disk`, so a test can hand in one that fails the Nth
call, tears a write or kills the process between two calls. There is no other indirection: each name
is the call of the same name.
"""

from __future__ import annotations

import errno
import fcntl
import os
from _thread import get_ident


def _full_sync(fd: int) -> None:  # pragma: no cover
    """On macOS a plain fsync stops at the drive's cache; this reaches the medium."""
    fcntl.fcntl(fd, getattr(fcntl, "F_FULLFSYNC", 51))


def _left_behind(maker: list[str]) -> bool:
    """Is nobody left who could finish this draft of (thread, process)?"""
    try:
        thread, process = map(int, maker)
        if process == os.getpid():
            return thread == get_ident()  # we are here, so we are not there
        os.kill(process, 0)
    except (ProcessLookupError, ValueError):
        return True
    except PermissionError:
        return False
    return False


class Disk:
    """The real thing. Tests subclass it."""

    open = staticmethod(os.open)
    close = staticmethod(os.close)
    write = staticmethod(os.write)
    pwrite = staticmethod(os.pwrite)
    pread = staticmethod(os.pread)
    fstat = staticmethod(os.fstat)
    stat = staticmethod(os.stat)
    fsync = staticmethod(os.fsync)
    fdatasync = staticmethod(_full_sync if hasattr(fcntl, "F_FULLFSYNC") else os.fdatasync)
    ftruncate = staticmethod(os.ftruncate)
    replace = staticmethod(os.replace)
    link = staticmethod(os.link)
    unlink = staticmethod(os.unlink)
    mkdir = staticmethod(os.mkdir)
    listdir = staticmethod(os.listdir)
    flock = staticmethod(fcntl.flock)

    def let_go(self, fd: int) -> None:
        """Close a descriptor for good: it is gone whatever close says, and nothing rests on it,
        because what must survive was synced before."""
        try:
            self.close(fd)
        except OSError as exc:
            if exc.errno == errno.EBADF:
                raise  # that is a mistake of ours, not trouble with a disk

    def write_all(self, fd: int, data: bytes) -> None:
        """Write every byte or raise; a short write goes on where it stopped."""
        written = self.write(fd, data)
        if written == len(data):
            return
        view = memoryview(data)[written:]
        while view:
            view = view[self.write(fd, view) :]

    def read_range(self, fd: int, start: int, end: int) -> bytes:
        """The bytes from start to end, fewer only where the file is shorter."""
        parts = []
        while start < end:
            part = self.pread(fd, min(end - start, 1 << 20), start)
            if not part:
                break
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def sync_folder(self, path: str) -> None:
        """Make creations and renames in a folder survive a power cut."""
        fd = self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.fsync(fd)
        finally:
            self.let_go(fd)

    def make_folder(self, path: str) -> None:
        """The folder, private to its owner, and its parents; durable in its parent.

        Also when it is there already: whoever made it may have died before the sync.
        """
        parent = os.path.dirname(path)
        if not os.path.isdir(path):
            if parent:
                self.make_folder(parent)
            try:
                self.mkdir(path, 0o700)
            except FileExistsError:
                if not os.path.isdir(path):
                    raise
        try:
            self.sync_folder(parent or ".")
        except PermissionError:
            return  # somebody else's folder, and so not made by us

    def put_file(self, path: str, data: bytes) -> None:
        """Replace a whole file: a reader, and a machine after a power cut, sees old or new."""
        self.replace(self._draft(path, data), path)
        self.sync_folder(os.path.dirname(path))

    def make_file(self, path: str, data: bytes) -> bool:
        """The same for a file nobody may have made yet; False when somebody was first."""
        draft = self._draft(path, data)
        try:
            self.link(draft, path)
        except FileExistsError:
            return False
        finally:
            self.unlink(draft)
        self.sync_folder(os.path.dirname(path))
        return True

    def draft_name(self, path: str) -> str:
        """Where a file is made before it takes its name; says whose it is."""
        folder, name = os.path.split(path)
        return os.path.join(folder, f".{name}.{get_ident()}.{os.getpid()}.tmp")

    def sweep(self, folder: str) -> None:
        """Remove the drafts of processes that are gone."""
        try:
            names = self.listdir(folder)
        except FileNotFoundError:
            return
        for name in names:
            if name.startswith(".") and _left_behind(name.split(".")[-3:-1]):
                self.unlink(os.path.join(folder, name))

    def _draft(self, path: str, data: bytes) -> str:
        draft = self.draft_name(path)
        fd = self.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            self.write_all(fd, data)
            self.fsync(fd)
        finally:
            self.let_go(fd)
        return draft

    def get_file(self, path: str) -> bytes | None:
        """A whole small file, or None when there is none."""
        try:
            fd = self.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            return self.read_range(fd, 0, 1 << 62)
        finally:
            self.let_go(fd)
