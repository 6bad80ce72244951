"""From anything a caller hands in to a payload the log can keep: faithful, or flagged, or refused.

JSON cannot say everything Python can, and a line cannot hold everything JSON can. Each value is
therefore kept as it is, or in a readable form with a note in `_as_given` that says where, why, and
what it was exactly, or refused with an error that names the place. Nothing is dropped in silence:

    lone surrogate, invalid UTF-8  ->  U+FFFD in the text, the exact bytes in the note (base64)
    NaN, Infinity, integer > 2**53 ->  a string
    text beyond the inline limit   ->  head and tail in the line, the whole body in a blob
    payload beyond its limit       ->  likewise, as one JSON body
    too deep, not JSON at all      ->  Unfit

Secrets are redacted here, in every string and key, before any byte reaches the disk: blobs included.
"""

from __future__ import annotations

import os
from binascii import b2a_base64
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from .line import canonical
from .parse import BAD_BYTES, NOTES, Note
from .redact import Redactor

_CHUNK = 1 << 20
_SAFE_INTEGER = 1 << 53
_MOST_KEYS = 4096
_LONGEST_NAMED = 1024
_HINTS = ("pass", "pwd", "secret", "token", "key", "auth", "cred", "sig", "private", "cookie")

Keep = Callable[[Iterable[bytes]], tuple[str, int]]
Path = tuple[object, ...]  # (parent path, key), resolved only when something is noted


class Unfit(ValueError):
    """This value cannot be written as JSON; the message names its place."""


class TooDeep(Unfit):
    """This payload is nested deeper than the limit."""


class Limits:
    """How much of an event stands in its line."""

    __slots__ = ("depth", "edge_chars", "payload_bytes", "text_chars")

    def __init__(
        self,
        text_chars: int = 128 << 10,
        payload_bytes: int = 1 << 20,
        edge_chars: int = 4 << 10,
        depth: int = 64,
    ) -> None:
        self.text_chars = text_chars
        self.payload_bytes = payload_bytes
        self.edge_chars = edge_chars
        self.depth = depth


class Shaper:
    """Shapes payloads for one log: with its redactor, its limits and its place for bodies."""

    def __init__(self, redactor: Redactor, keep: Keep, limits: Limits | None = None) -> None:
        self._redactor = redactor
        self._keep = keep
        self._limits = limits or Limits()
        self._known_keys: set[object] = set()  # keys repeat; one look at each is enough
        self._hinting: dict[str, bool] = {}
        self._cleaner: _Cleaner | None = None

    def shape(self, payload: dict[str, object], notes: list[Note] | None = None) -> bytes:
        """The canonical bytes of a payload."""
        if NOTES in payload:
            raise Unfit(f"/{NOTES} is a reserved key; name yours otherwise")
        found = _Found(notes or ())
        shaped = self._mapping(payload, (), 1, found)
        odd = [note for note in notes or () if note != BAD_BYTES]
        given = [self._mapping(note, ((), NOTES), 2, found) for note in odd]
        if given or found:
            shaped[NOTES] = given + found
        data = canonical(shaped)
        if len(data) <= self._limits.payload_bytes:
            return data
        return self._as_body(data, [note for note in found if "blob" in note])

    # ---- values ----------------------------------------------------------------------------

    def _value(self, value: object, path: Path, depth: int, notes: _Found) -> object:
        if isinstance(value, str):
            return self._text(str.__str__(value), path, notes)
        if value is None or value is True or value is False:
            return value
        if isinstance(value, int):
            return self._integer(value, path, notes)
        if isinstance(value, float):
            return self._float(value, path, notes)
        if isinstance(value, dict):
            return self._mapping(value, path, depth + 1, notes)
        if isinstance(value, list | tuple):
            self._check_depth(depth + 1, path)
            return [
                self._value(self._flagged(value, index), (path, index), depth + 1, notes)
                for index in range(len(value))
            ]
        return self._other(value, path, notes)

    def _other(self, value: object, path: Path, notes: _Found) -> object:
        if isinstance(value, bytes | bytearray | memoryview):
            return self._bytes(bytes(value), path, notes)
        if hasattr(value, "read"):
            return self._stream(_reads(value), path, notes)
        if isinstance(value, os.PathLike):
            return self._text(str(os.fspath(value)), path, notes)
        kind = type(value).__name__
        raise Unfit(f"{_pointer(path) or '/'} is a {kind}, which JSON cannot say; convert it first")

    def _mapping(
        self, value: dict[str, object], path: Path, depth: int, notes: _Found
    ) -> dict[str, object]:
        self._check_depth(depth, path)
        shaped: dict[str, object] = {}
        for key, item in value.items():
            name = self._key(key, (path, key), notes)
            while name in shaped or (name in value and name != key):
                if not isinstance(key, str):
                    raise Unfit(f"{_pointer((path, name))} is named twice once keys are text")
                name += "\ufffd"  # a mended or redacted key that meets another; it was noted
            shaped[name] = self._value(self._named(name, item), (path, name), depth, notes)
        return shaped

    def _named(self, name: str, value: object) -> object:
        """A value judged together with its key: `{"password": …}` says what the value alone does not."""
        if not isinstance(value, str) or len(value) > _LONGEST_NAMED or not self._hints(name):
            return value
        start = f'"{name}": "'
        probed = self._redactor.text(f'{start}{value}"')
        return probed[len(start) : -1] if probed.startswith(start) else value

    def _flagged(self, items: Sequence[object], index: int) -> object:
        """The same for an argument behind its flag: `["--password", …]`."""
        flag = items[index - 1] if index else None
        if isinstance(flag, str) and flag.startswith("-"):
            return self._named(flag.lstrip("-")[:64], items[index])
        return items[index]

    def _hints(self, name: str) -> bool:
        known = self._hinting.get(name)
        if known is None:
            lower = name.lower()
            known = any(hint in lower for hint in _HINTS)
            if len(self._hinting) < _MOST_KEYS:
                self._hinting[name] = known
        return known

    def _key(self, key: object, path: Path, notes: _Found) -> str:
        if key in self._known_keys:
            return str(key)
        if isinstance(key, str):
            name = self._text(str.__str__(key), path, notes)
            if name == key and len(name) < 64 and len(self._known_keys) < _MOST_KEYS:
                self._known_keys.add(name)
            return name
        if key is None or isinstance(key, bool | int | float):
            notes.append({"path": _pointer(path), "why": "key_not_text"})
            return self._text(str(key), path, notes)
        raise Unfit(f"{_pointer(path)}: a key must be text, not {type(key).__name__}")

    def _check_depth(self, depth: int, path: Path) -> None:
        if depth > self._limits.depth:
            raise TooDeep(f"{_pointer(path)[:200]} is nested deeper than {self._limits.depth}")

    def _integer(self, value: int, path: Path, notes: _Found) -> object:
        if -_SAFE_INTEGER <= value <= _SAFE_INTEGER:
            return int(value)
        notes.append({"path": _pointer(path), "why": "big_integer"})
        try:
            return str(int(value))
        except ValueError:  # beyond the interpreter's own limit for decimal digits
            return hex(value)

    def _float(self, value: float, path: Path, notes: _Found) -> object:
        if value - value == 0:
            return float(value)
        notes.append({"path": _pointer(path), "why": "not_finite"})
        return str(float(value))

    # ---- text ------------------------------------------------------------------------------

    def _text(self, text: str, path: Path, notes: _Found) -> str:
        if len(text) > self._limits.text_chars:
            pieces = (text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK))
            return self._body(pieces, "surrogatepass", path, notes)
        text = self._redactor.text(text)
        if not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError:
                return _readable(text, *notes.exact(text), path, notes)
        return text

    def _bytes(self, data: bytes, path: Path, notes: _Found) -> str:
        if len(data) > self._limits.text_chars:
            pieces = (data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK))
            return self._body(_decoded(pieces), "surrogateescape", path, notes)
        try:
            return self._text(data.decode("utf-8"), path, notes)
        except UnicodeDecodeError:
            text = self._redactor.text(data.decode("utf-8", "surrogateescape"))
            exact = text.encode("utf-8", "surrogateescape")
            return _readable(text, "invalid_utf8", exact, path, notes)

    def _stream(self, pieces: Iterator[bytes], path: Path, notes: _Found) -> str:
        """A short stream stands in the line like any text; a long one becomes a body."""
        begin = b""
        for piece in pieces:
            begin += piece
            if len(begin) > self._limits.text_chars:
                return self._body(_decoded(chain([begin], pieces)), "surrogateescape", path, notes)
        return self._bytes(begin, path, notes)

    # ---- bodies ----------------------------------------------------------------------------

    def _body(self, pieces: Iterable[str], errors: str, path: Path, notes: _Found) -> str:
        """Stream a long text into a blob, redacted on the way; its head and tail stay."""
        edges = _Edges(self._limits.edge_chars)
        digest, length = self._keep(
            text.encode("utf-8", errors) for text in edges.watch(self._redacted(pieces))
        )
        head, tail = _mended(edges.head), _mended(edges.tail)
        notes.append(
            {
                "path": _pointer(path),
                "why": "too_large",
                "blob": digest,
                "bytes": length,
                "head": len(head),
                "tail": len(tail),
            }
        )
        return f"{head}\n[… {length} bytes in all, kept as blob {digest} …]\n{tail}"

    def cleaned(self, value: object) -> object:
        """A value that JSON can say, without the secrets in it; its size and its numbers stay."""
        if self._cleaner is None:
            self._cleaner = _Cleaner(self._redactor, self._keep, _BOUNDLESS)
        return self._cleaner._value(value, (), 0, _Found(()))

    def redacted_bytes(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Any bytes, without the secrets in them; invalid UTF-8 passes through unchanged."""
        for text in self._redacted(_decoded(pieces)):
            yield text.encode("utf-8", "surrogateescape")

    def _redacted(self, pieces: Iterable[str]) -> Iterator[str]:
        stream = self._redactor.stream()
        for piece in pieces:
            yield stream.feed(piece)
        yield stream.finish()

    def _as_body(self, data: bytes, inner: list[Note]) -> bytes:
        """A payload too large as a whole, though no text in it is: its JSON becomes the body."""
        digest, length = self._keep([data])
        edge = self._limits.edge_chars
        note = {"path": "", "why": "too_large", "blob": digest, "bytes": length}
        head = data[:edge].decode("utf-8", "ignore")
        tail = data[-edge:].decode("utf-8", "ignore")
        return canonical({"head": head, "tail": tail, NOTES: [note, *inner]})


_BOUNDLESS = Limits(text_chars=1 << 62, payload_bytes=1 << 62, depth=400)


class _Cleaner(Shaper):
    """Redacts what is no payload of its own, but will be part of a text of one."""

    def _integer(self, value: int, path: Path, notes: _Found) -> object:  # noqa: ARG002
        return value


class _Found(list[Note]):
    """What was noted so far, and what a lone surrogate stands for in this payload."""

    def __init__(self, given: Sequence[Note]) -> None:
        super().__init__()
        self._bad_bytes = BAD_BYTES in given

    def exact(self, text: str) -> tuple[str, bytes]:
        """Why the text is odd, and its exact bytes: where bad bytes were read as surrogates, those."""
        try:
            if self._bad_bytes:
                return "invalid_utf8", text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            self._bad_bytes = False
        return "lone_surrogate", text.encode("utf-8", "surrogatepass")


class _Edges:
    """Remembers the first and the last characters of a text that streams past."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.head = ""
        self.tail = ""

    def watch(self, pieces: Iterable[str]) -> Iterator[str]:
        for piece in pieces:
            if len(self.head) < self._size:
                self.head += piece[: self._size - len(self.head)]
            self.tail = (self.tail + piece[-self._size :])[-self._size :]
            yield piece


def _reads(stream: object) -> Iterator[bytes]:
    read = stream.read  # type: ignore[attr-defined]
    while piece := read(_CHUNK):
        yield piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece


def _decoded(pieces: Iterable[bytes]) -> Iterator[str]:
    decoder = getincrementaldecoder("utf-8")("surrogateescape")
    for piece in pieces:
        yield decoder.decode(piece)
    yield decoder.decode(b"", True)


def _readable(text: str, why: str, exact: bytes, path: Path, notes: _Found) -> str:
    original = b2a_base64(exact, newline=False).decode("ascii")
    notes.append({"path": _pointer(path), "why": why, "base64": original})
    return _mended(text)


def _mended(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _pointer(path: Path) -> str:
    """A JSON pointer to the place."""
    parts: list[str] = []
    while path:
        parent, key = path
        escaped = str(key).replace("~", "~0").replace("/", "~1")
        parts.append("/" + _mended(escaped))
        path = parent  # type: ignore[assignment]
    return "".join(reversed(parts))
