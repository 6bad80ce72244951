"""snapshot.json and the one before it: each replaced whole, so a reader sees old or new, never half."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from holdfast.capture.disk import Disk
from holdfast.capture.layout import SNAPSHOT, SNAPSHOT_BEFORE

from .trouble import translated


class FileSnapshots:
    """The snapshots of one project's folder."""

    def __init__(self, folder: str, disk: Disk | None = None) -> None:
        self._newest = os.path.join(folder, SNAPSHOT)
        self._before = os.path.join(folder, SNAPSHOT_BEFORE)
        self._disk = disk or Disk()

    def save(self, data: bytes) -> None:
        """Keep this one and the one before it; a crash in between leaves at least one whole."""
        with translated("saving a snapshot"):
            if os.path.exists(self._newest):
                try:
                    self._disk.replace(self._newest, self._before)
                except FileNotFoundError:  # another process did the same just now
                    self._disk.sweep(os.path.dirname(self._newest))
            self._disk.put_file(self._newest, data)

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
