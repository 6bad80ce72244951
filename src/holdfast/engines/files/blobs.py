"""Bodies in files named by their hash; checked again whenever they are read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import sha256

from holdfast.capture.blob import blob_path, keep_blob
from holdfast.capture.disk import Disk
from holdfast.errors import Damaged, Invalid, NotFound

from .trouble import translated

_CHUNK = 1 << 20


class FileBlobs:
    """The bodies of one project."""

    def __init__(self, folder: str, *, disk: Disk | None = None) -> None:
        self._folder = folder
        self._disk = disk or Disk()

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        """Store a body; its hash and length."""
        with translated("keeping a large body"):
            return keep_blob(self._disk, self._folder, chunks)

    def read(self, digest: str) -> Iterator[bytes]:
        """The body in pieces; raises at the end if they are not what the name says."""
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            raise Invalid(f"{digest!r} is not the hash of a body")
        seen, at = sha256(), 0
        with translated("reading a body"):
            try:
                fd = self._disk.open(blob_path(self._folder, digest), os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                raise NotFound(f"no body {digest} is kept here") from None
            try:
                while chunk := self._disk.pread(fd, _CHUNK, at):
                    seen.update(chunk)
                    at += len(chunk)
                    yield chunk
            finally:
                self._disk.let_go(fd)
        if seen.hexdigest() != digest:
            raise Damaged(f"body {digest} is not what it was")

    def sound(self, digest: str) -> bool:
        """Is the body there, every byte as it was?"""
        try:
            for _ in self.read(digest):
                continue
        except (NotFound, Damaged):
            return False
        return True
