"""An export file as it is read: its lines, its bodies, and what became of them.

Any line may be anything. One that is neither a whole record nor part of a body is counted and passed
over; nothing here raises because of a line, but for the first, which says that this is an export.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from typing import IO, Any, BinaryIO, TypeGuard

import msgspec

from holdfast.capture import line
from holdfast.errors import Invalid

from .holdfast import Holdfast

FORMAT = 1
#: how much is recorded at once
BATCH = 500
BATCH_BYTES = 16 << 20
_CHUNK = 768 << 10
_LONGEST_LINE = 256 << 20


class Imported(msgspec.Struct, kw_only=True):
    """What an import did."""

    events: int = 0
    already_there: int = 0
    bodies: int = 0
    #: lines that could not be taken: how many, and the first few; a body counts as its first line
    damaged: int = 0
    damaged_lines: list[int] = msgspec.field(default_factory=list)
    #: how many of them began a body; the events that refer to one were taken without it
    damaged_bodies: int = 0
    #: the file's last line was there and its counts agree
    complete: bool = False

    def leave_out(self, number: int) -> None:
        """Count a line that could not be taken."""
        self.damaged += 1
        if len(self.damaged_lines) < 20:
            self.damaged_lines.append(number)


def said_in(data: bytes) -> Any:
    """What these bytes say; None where they are not JSON."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def are_notes(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    """Is this what stands in `_as_given`?"""
    return isinstance(value, list) and all(isinstance(note, dict) for note in value)


class Lines:
    """An export file, line by line; its bodies are handed over on the way."""

    def __init__(self, source: BinaryIO, bodies: Bodies, done: Imported) -> None:
        self._source = source
        self._bodies = bodies
        self._done = done
        self._number = 0
        self._met = 0
        self._held: bytes | None = None

    def records(self) -> Iterator[tuple[int, bytes]]:
        """The whole records and their lines' numbers."""
        said = said_in(self._next() or b"")
        if not isinstance(said, dict) or said.get("holdfast_export") != FORMAT:
            raise Invalid("this is not an export of Holdfast; make one with `holdfast export`")
        while (raw := self._next()) is not None:
            self._done.complete = False
            if line.whole(raw):
                self._met += 1
                yield self._number, raw
            else:
                self._other(said_in(raw))

    def _next(self) -> bytes | None:
        raw, self._held = self._held, None
        if raw is None:
            raw = more = self._source.readline(_LONGEST_LINE)
            if not raw:
                return None
            while len(more) == _LONGEST_LINE and not more.endswith(b"\n"):
                raw, more = b"", self._source.readline(_LONGEST_LINE)  # too long to be one of ours
        self._number += 1
        return raw.rstrip(b"\r\n")

    def _other(self, said: Any) -> None:
        if isinstance(said, dict) and isinstance(said.get("body"), str):
            number, lines = self._number, self._lines_of(said)
            if not self._bodies.take(said["body"], map(_chunk, lines)):
                self._done.leave_out(number)
                self._done.damaged_bodies += 1
            for _ in lines:  # what is left of a damaged body is damaged with it
                continue
        elif isinstance(said, dict) and isinstance(said.get("holdfast_export_end"), dict):
            self._done.complete = said["holdfast_export_end"].get("events") == self._met
        else:
            self._done.leave_out(self._number)

    def _lines_of(self, said: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The lines of one body; the first line that is not of it is looked at again."""
        digest = said["body"]
        yield said
        while "part" in said and (raw := self._next()) is not None:
            said = said_in(raw)
            if not isinstance(said, dict) or said.get("body") != digest:
                self._held, self._number = raw, self._number - 1
                return
            yield said


def _chunk(said: dict[str, Any]) -> bytes:
    return base64.b64decode(said["part"] if "part" in said else said.get("last", 0), validate=True)


class Bodies:
    """The bodies of a file, each checked against its digest.

    They wait in a file without a name until an event that is taken refers to them: a stored body
    that no event refers to would never be erased again.
    """

    def __init__(self, hf: Holdfast, room: IO[bytes], done: Imported, *, verbatim: bool) -> None:
        self._hf = hf
        self._room = room
        self._done = done
        self._verbatim = verbatim
        self._waiting: dict[str, tuple[int, int]] = {}
        self._kept: dict[str, str] = {}

    def take(self, digest: str, chunks: Iterable[bytes]) -> bool:
        """Read a body; False when it is not what its digest says."""
        start, seen, whole = self._room.seek(0, os.SEEK_END), sha256(), False
        with suppress(ValueError, TypeError):  # not base64, or no text at all
            for chunk in chunks:
                self._room.write(chunk)
                seen.update(chunk)
            whole = seen.hexdigest() == digest
        if whole and not self._hf.blobs.sound(digest):
            self._waiting[digest] = (start, self._room.tell())
            return True
        self._room.truncate(start)
        if whole:
            self._kept[digest] = digest
        return whole

    def keep(self, digest: str) -> str | None:
        """Store a body; the digest it has now, None when it did not come or came damaged."""
        if digest in self._waiting:
            place = self._waiting.pop(digest)
            kept, _ = self._hf.keep_body(self._read(*place), verbatim=self._verbatim)
            self._kept[digest] = kept
            self._done.bodies += 1
            if not self._waiting:
                self._room.truncate(0)
        return self._kept.get(digest)

    def _read(self, start: int, end: int) -> Iterator[bytes]:
        self._room.seek(start)
        while start < end:
            chunk = self._room.read(min(_CHUNK, end - start))
            start += len(chunk)
            yield chunk
