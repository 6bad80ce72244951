"""Folders of plain files beside the log that people and their tools read: copies of what left, logs.

All of it is made from the log. A file is replaced whole or grows at its end; nothing is synced, because
whoever finds it torn makes it again. Nothing is written while something is erased, nor from a log that
was changed since it was read. A folder may be moved; every place it ever had is noted in moved.json
before a byte is written there, so that an erase finds it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256

from holdfast.capture.disk import Disk
from holdfast.capture.layout import COLD, INDEX_LOCK, LOGS, MOVED
from holdfast.capture.lock import Lock
from holdfast.errors import Unavailable

from . import meta
from .trouble import translated

#: seconds to wait for whoever opens, writes or erases what is derived
_PATIENCE = 2.0
#: names that are safe everywhere as they are: ids of ours, and short words
_PLAIN = re.compile(r"[a-z]{2,8}_[0-9A-HJKMNP-TV-Z]{26}|[a-z0-9][a-z0-9_-]{0,99}")
_OTHER = re.compile(r"[^a-z0-9]+")
#: what may be removed from a folder that is not in ours
_ENDINGS = (".jsonl", ".tmp", ".cursor")


def safe(name: str) -> str:
    """The name of a file for any text: no two texts share one, none leads out of a folder."""
    if _PLAIN.fullmatch(name):
        return name
    known = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:40]
    return f"{_OTHER.sub('-', name.lower()[:60]).strip('-')[:40]}~{known}"


def _apart(project: str, folder: str) -> str:
    """The name of a project's folder where those of other homes may lie, of the same name too."""
    home = sha256(os.path.realpath(folder).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{safe(project)}~{home[:8]}"


class Beside:
    """One such folder of one project."""

    def __init__(
        self, folder: str, name: str, moved: str = "", project: str = "", disk: Disk | None = None
    ) -> None:
        self._folder = folder
        self._moved = bool(moved)
        self._disk = disk or Disk()
        #: where its files lie
        self.root = os.path.join(moved or folder, _apart(project, folder) if moved else name)

    def path(self, *names: str, ending: str) -> str:
        """Where a file of these names lies, the last one with this ending."""
        return os.path.join(self.root, *map(safe, names)) + ending

    @contextmanager
    def writing(self, generation: int, patience: float = _PATIENCE) -> Iterator[None]:
        """Nothing is erased meanwhile, and nothing was since the log was read."""
        with translated(f"writing to {self.root}"):
            lock = Lock(os.path.join(self._folder, INDEX_LOCK), self._disk)
            try:
                lock.acquire(patience)
                if meta.generation(self._disk, self._folder) != generation:
                    raise Unavailable("the log was changed while it was read")
                self._note_place()
                yield
            finally:
                lock.done()

    def _note_place(self) -> None:
        if not self._moved or self.root in (known := places(self._disk, self._folder)):
            return
        said = json.dumps([*known, self.root]).encode()
        self._disk.put_file(os.path.join(self._folder, MOVED), said)

    # ---- files -----------------------------------------------------------------------------

    def put(self, path: str, data: bytes) -> None:
        """Replace a whole file; a reader sees the old or the new one."""
        self._make(os.path.dirname(path))
        draft = self._disk.draft_name(path)
        try:
            fd = self._disk.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                self._disk.write_all(fd, data)
            finally:
                self._disk.let_go(fd)
            self._disk.replace(draft, path)
        except OSError:
            with suppress(OSError):
                self._disk.unlink(draft)
            raise

    def grow(self, path: str, size: int, data: bytes) -> None:
        """Add to a file behind its first bytes; whatever else stood there is gone."""
        self._make(os.path.dirname(path))
        fd = self._disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            if self._disk.fstat(fd).st_size != size:
                self._disk.ftruncate(fd, size)
            self._disk.write_all(fd, data)
        finally:
            self._disk.let_go(fd)

    def _make(self, folder: str) -> None:
        if not os.path.isdir(folder):
            self._disk.make_folder(folder)

    def get(self, path: str) -> bytes | None:
        """A whole file; None when there is none."""
        with translated(f"reading {path}"):
            return self._disk.get_file(path)

    def ending(self, path: str, size: int, most: int) -> tuple[int, bytes]:
        """How long a file is, and how its first so many bytes end; -1 when there is none."""
        with translated(f"reading {path}"):
            try:
                fd = self._disk.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return -1, b""
            try:
                there = self._disk.fstat(fd).st_size
                return there, self._disk.read_range(fd, max(0, size - most), size)
            finally:
                self._disk.let_go(fd)

    def remove(self, path: str) -> bool:
        """Take a file away; False when there was none."""
        with translated(f"removing {path}"):
            try:
                self._disk.unlink(path)
            except FileNotFoundError:
                return False
            return True

    def files(self, *names: str) -> list[str]:
        """Every file that lies here, or in the folder of these names."""
        return list(_files(os.path.join(self.root, *map(safe, names))))


def places(disk: Disk, folder: str) -> list[str]:
    """Where moved folders of a project lie or lay."""
    try:
        said = json.loads(disk.get_file(os.path.join(folder, MOVED)) or b"[]")
    except ValueError:
        return []
    return [one for one in said if isinstance(one, str)] if isinstance(said, list) else []


def drop(disk: Disk, folder: str) -> None:
    """Remove every file of these folders, wherever they lie."""
    for name in (COLD, LOGS):
        for path in _files(os.path.join(folder, name)):
            with suppress(FileNotFoundError):
                disk.unlink(path)
    drop_moved(disk, folder)


def drop_moved(disk: Disk, folder: str) -> None:
    """Remove those that do not lie in the project's own folder."""
    for root in places(disk, folder):
        for path in _files(root):
            if path.endswith(_ENDINGS):
                with suppress(FileNotFoundError):
                    disk.unlink(path)


def _files(root: str) -> Iterator[str]:
    for folder, _, names in os.walk(root, topdown=False):
        yield from (os.path.join(folder, name) for name in names)
