"""snapshot.json and the one before it: each replaced whole, so a reader sees old or new, never half."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from holdfast.capture.disk import Disk
from holdfast.capture.layout import INDEX_LOCK, SNAPSHOT, SNAPSHOT_BEFORE
from holdfast.capture.lock import Lock
from holdfast.errors import Unavailable

from . import meta
from .trouble import translated

#: seconds to wait for whoever opens, writes or erases what is derived
_PATIENCE = 2.0


class FileSnapshots:
    """The snapshots of one project's folder."""

    def __init__(self, folder: str, disk: Disk | None = None) -> None:
        self._folder = folder
        self._newest = os.path.join(folder, SNAPSHOT)
        self._before = os.path.join(folder, SNAPSHOT_BEFORE)
        self._disk = disk or Disk()

    def save(self, data: bytes, generation: int) -> None:
        """Keep this one and the one before it; a crash in between leaves at least one whole."""
        with translated("saving a snapshot"), self._no_erase(generation):
            self._disk.sweep(self._folder)  # of those who were killed here
            with suppress(FileNotFoundError):
                self._disk.replace(self._newest, self._before)
            self._disk.put_file(self._newest, data)

    @contextmanager
    def _no_erase(self, generation: int) -> Iterator[None]:
        """Nothing is erased meanwhile, and nothing was since the data was read."""
        lock = Lock(os.path.join(self._folder, INDEX_LOCK), self._disk)
        try:
            lock.acquire(_PATIENCE)
            if meta.generation(self._disk, self._folder) != generation:
                raise Unavailable("the log was changed while it was read")
            yield
        finally:
            lock.done()

    def load(self) -> Iterator[bytes]:
        """What is kept, newest first."""
        for path in (self._newest, self._before):
            with translated("reading a snapshot"):
                data = self._disk.get_file(path)
            if data is not None:
                yield data

    def drop(self) -> None:
        """Remove them all."""
        with translated("removing snapshots"):
            for path in (self._newest, self._before):
                with suppress(FileNotFoundError):
                    self._disk.unlink(path)
