"""Reading one file: its text and its hash, or why it is none of a document's."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from hashlib import sha256

import msgspec

from holdfast.model.documents import LONGEST_PATH, LeftOut

from .find import LEADS_OUT, inside
from .seen import Look, look_of

#: why a file is not read, given its path and where it really lies; empty when it may be
Refusal = Callable[[str, str], str]
#: a picture or a program shows what it is in so many bytes
_FIRST, _CHUNK = 1 << 13, 1 << 20
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a file."""

    text: str
    #: of its bytes
    sha256: str
    #: how the file looked before it was read
    look: Look


class Reader:
    """Reads files below one root."""

    def __init__(self, root: str, refusal: Refusal, most_bytes: int) -> None:
        self._root = root
        self._real = os.path.realpath(root)
        self._refusal = refusal
        self._most = most_bytes

    def read(self, path: str) -> Content | LeftOut | None:
        """A file of the project; None when it is not there."""
        place = os.path.realpath(os.path.join(self._root, path))
        why = self._refused(path, place)
        if why:
            return LeftOut(path=_sayable(path), why=why)
        try:
            data, look = self._bytes(place)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as exc:
            return LeftOut(path=path, why=f"it cannot be read: {exc.strerror}", passing=True)
        if isinstance(data, str):
            return LeftOut(path=path, why=data)
        text = _decoded(data)
        if text is None:
            return LeftOut(path=path, why="it is not text, or not in UTF-8")
        return Content(text=text, sha256=sha256(data).hexdigest(), look=look)

    def _refused(self, path: str, place: str) -> str:
        if _sayable(path) != path:
            return "its name is not UTF-8"
        if len(path) > LONGEST_PATH:
            return f"its path has more than {LONGEST_PATH:,} characters"
        if not inside(place, self._real):
            return LEADS_OUT
        return self._refusal(path, place)

    def _bytes(self, place: str) -> tuple[bytes | str, Look]:
        """What is in a file, or why that is not for us; of what is not text, the beginning."""
        fd = os.open(place, _OPEN)
        try:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode):
                return "it is not a file", look_of(about)
            size, data = about.st_size, bytearray()
            while max(size, len(data)) <= self._most and b"\0" not in data[:_FIRST]:
                chunk = os.read(fd, _CHUNK if data else _FIRST)
                if not chunk:
                    break
                data += chunk
        finally:
            os.close(fd)
        size = max(size, len(data))
        if size > self._most:
            why = f"it has {size:,} bytes; recall.document_bytes allows {self._most:,}"
            return why, look_of(about)
        return bytes(data), look_of(about)


def _decoded(data: bytes) -> str | None:
    """Its text with one kind of line end, as every editor shows it; None for what is no text."""
    try:
        text = None if b"\0" in data else data.decode("utf-8-sig")
        return text if text is None else text.replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None


def _sayable(path: str) -> str:
    return path.encode("utf-8", "replace").decode("utf-8")
