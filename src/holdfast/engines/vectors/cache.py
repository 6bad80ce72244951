"""What a slow embedder made, by the text it was made of, so that no text is embedded twice.

One file, `<project>/vectors/<embedder>/texts.cache`, only ever added to. A record is a mark, a checksum,
the first 16 bytes of the text's SHA-256, and the row in float16. Any number of processes may add to it,
each batch with one write to the end. Whatever is not a whole record (a write cut short, or run into by
another; damage) is passed over up to the next mark, and its text is embedded again.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from holdfast.capture.disk import Disk
from holdfast.errors import Invalid

from .alone import Alone
from .names import folder_of

_NAME = "texts.cache"
_MARK = b"\xffhfv"
_KEY = 16
#: of a record: the mark, the checksum of what follows, the key, and then the row
_KEY_AT, _ROW_AT = 8, 8 + _KEY
_BLOCK = 1 << 22


def key_of(text: str) -> bytes:
    """What a text is known by."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:_KEY]


class VectorCache(Alone):
    """One embedder's rows by text, for one project."""

    def __init__(self, folder: str, name: str, dims: int, *, disk: Disk | None = None) -> None:
        super().__init__()
        self._folder, self._dims = folder_of(folder, name), dims
        self._path = os.path.join(self._folder, _NAME)
        self._size = _ROW_AT + 2 * dims
        self._disk = disk or Disk()

    def get(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """The row of each text, None where it is not known."""
        with self._alone("reading remembered vectors"), self._followed() as fd:
            return [self._row(fd, key_of(text)) for text in texts]

    def put(self, texts: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Remember these rows; one that is zero or no finite number is none."""
        with self._alone("remembering vectors"):
            given = np.asarray(rows)
            if given.shape != (len(texts), self._dims):
                raise Invalid(f"{len(texts)} texts do not fit vectors of shape {given.shape}")
            data = b"".join(self._records(texts, given))
            if not data:
                return
            fd = self._open_to_add()
            try:
                self._disk.write_all(fd, data)
            finally:
                self._disk.let_go(fd)

    def keep_only(self, keys: Collection[bytes]) -> None:
        """Let go of every row but those of these keys; no byte of the others is left.

        Nobody adds meanwhile: whoever calls this holds the lock of the project's index.
        """
        with self._alone("letting go of remembered vectors"), self._followed() as fd:
            self._disk.sweep(self._folder)
            if fd is not None:
                self._rewrite(
                    fd, sorted(self._places[key] for key in self._places.keys() & set(keys))
                )
                self._forget()

    def _forget(self) -> None:
        self._places: dict[bytes, int] = {}
        self._inode = self._read_to = 0

    def _records(self, texts: Iterable[str], rows: NDArray[np.floating]) -> Iterator[bytes]:
        with np.errstate(all="ignore"):
            half = rows.astype("<f2")
        usable = np.isfinite(half).all(axis=1) & half.any(axis=1)
        for text, row, good in zip(texts, half, usable, strict=True):
            if good:
                body = key_of(text) + row.tobytes()
                yield _MARK + crc32(body).to_bytes(4, "little") + body

    def _row(self, fd: int | None, key: bytes) -> NDArray[np.float32] | None:
        place = self._places.get(key)
        if fd is None or place is None:
            return None
        data = self._disk.read_range(fd, place, place + self._size)
        if not self._whole(data, 0) or not data.startswith(key, _KEY_AT):
            return None
        return np.frombuffer(data, "<f2", self._dims, _ROW_AT).astype(np.float32)

    @contextmanager
    def _followed(self) -> Iterator[int | None]:
        """The file, open, with every record in it known; None when there is no file."""
        try:
            fd = self._disk.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            self._forget()
            yield None
            return
        try:
            found = self._disk.fstat(fd)
            if found.st_ino != self._inode or found.st_size < self._read_to:
                self._forget()
                self._inode = found.st_ino
            while data := self._disk.read_range(fd, self._read_to, self._read_to + _BLOCK):
                passed = self._index(data, self._read_to)
                self._read_to += passed
                if not passed:
                    break
            yield fd
        finally:
            self._disk.let_go(fd)

    def _index(self, data: bytes, start: int) -> int:
        """Note where the records of these bytes begin; how many bytes need no second look."""
        at = 0
        while at + self._size <= len(data):
            if self._whole(data, at):
                self._places[data[at + _KEY_AT : at + _ROW_AT]] = start + at
                at += self._size
            else:
                at = data.find(_MARK, at + 1)
                if at < 0:
                    return len(data) - len(_MARK) + 1
        return at

    def _whole(self, data: bytes, at: int) -> bool:
        """Does a record begin here, every byte as it was written?"""
        end = at + self._size
        if not data.startswith(_MARK, at) or len(data) < end:
            return False
        return crc32(data[at + _KEY_AT : end]).to_bytes(4, "little") == data[at + 4 : at + _KEY_AT]

    def _rewrite(self, fd: int, places: Iterable[int]) -> None:
        """The file with only these records; a reader sees the old one or the new."""
        draft = self._disk.draft_name(self._path)
        new = self._disk.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            for place in places:
                self._disk.write_all(new, self._disk.read_range(fd, place, place + self._size))
            self._disk.fsync(new)
        finally:
            self._disk.let_go(new)
        self._disk.replace(draft, self._path)
        self._disk.sync_folder(self._folder)

    def _open_to_add(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            return self._disk.open(self._path, flags, 0o600)
        except FileNotFoundError:
            self._disk.make_folder(self._folder)
            return self._disk.open(self._path, flags, 0o600)
