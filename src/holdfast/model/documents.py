"""Documents: files of the project that are found like memories, part by part, with their lines.

Only what was read from this project's own folder is a document: its events have the origin `document`.
An event that came from elsewhere and claims to be one changes nothing here.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from .events import Event

#: the origin of what was read from a file of the project
ORIGIN = "document"
EVENT = "document_indexed"
#: what says that content was taken out of the log
ERASURE = "subject_erased"
#: a longer path is refused, as it would be by most file systems
LONGEST_PATH = 1_000
#: versions of one document whose end is known beside the current one; of older ones the shelves know it
MOST_PAST = 500
#: why a document is out of use: only what a person removed stays away when it is looked for again
REMOVED, MISSING, REFUSED = "removed", "missing", "refused"
_PLACE = re.compile(r"(.+):([0-9]+)(?:\.[0-9]+)?-([0-9]+)")


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a document that can be understood and cited on its own."""

    text: str
    #: the headings, or the definition, it stands under
    title: str = ""
    #: the first and the last line of the file that it says something on, from 1 on
    line: int
    line_end: int
    #: where in its first line it begins; 0 unless another part has the beginning of that line
    column: int = 0


class DocumentInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A document as it is known now."""

    #: relative to the project's root, with forward slashes
    path: str
    #: what it was found by
    pattern: str
    #: of the file's bytes
    sha256: str
    #: the folder it was read below
    root: str = ""
    #: when the file was written, in microseconds since 1970, and its bytes
    written: int = 0
    size: int = 0
    lines: int
    parts: int
    #: when it was read, and by which event
    at: str
    event_id: str
    event_seq: int


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was not read, and why."""

    path: str
    why: str
    #: the trouble may pass, so what was read of it before still counts
    passing: bool = False


class DocumentReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the files that were looked at, by path."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    #: patterns that match no file
    unmatched: tuple[str, ...] = ()

    @property
    def read(self) -> int:
        """How many documents are known to be up to date by now."""
        return len(self.added) + len(self.changed) + len(self.unchanged)


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What an event says about a document, or about a pattern that is looked for."""

    #: empty when it is about the pattern alone
    path: str = ""
    pattern: str = ""
    sha256: str = ""
    root: str = ""
    written: int = 0
    size: int = 0
    lines: int = 0
    parts: int = 0
    #: why it is out of use from here on; empty when it is not
    gone: str = ""
    #: a person had everything read again, whatever was erased before
    refreshed: bool = False


def said(event: Event) -> Said | None:
    """What an event says about documents; None when that is nothing that can be used."""
    if event.kind != EVENT or event.origin != ORIGIN or event.erased:
        return None
    given = event.payload if isinstance(event.payload, dict) else {}
    path, pattern = _text(given.get("path")), _text(given.get("pattern"))
    gone = given.get("gone") is True
    if not (path or pattern) or (path and not gone and not isinstance(given.get("text"), str)):
        return None
    why = _text(given.get("why")) or MISSING
    return Said(
        path=path,
        pattern=pattern,
        sha256=_text(given.get("sha256")),
        root=_text(given.get("root")),
        written=_count(given.get("written")),
        size=_count(given.get("size")),
        lines=_count(given.get("lines")),
        parts=_count(given.get("parts")),
        gone=why if gone else "",
        refreshed=given.get("refreshed") is True,
    )


def _text(given: Any) -> str:
    return given if isinstance(given, str) and len(given) <= LONGEST_PATH else ""


def _count(given: Any) -> int:
    return given if type(given) is int and given >= 0 else 0


# ---- which version holds -----------------------------------------------------------------------


class Past(msgspec.Struct, frozen=True, array_like=True):
    """A version that was current once, and until when."""

    event_seq: int
    until: str


class Tracked(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known about the versions of the document at one path."""

    path: str
    current: DocumentInfo | None = None
    #: why there is no current one
    gone: str = ""
    past: tuple[Past, ...] = ()


def after(known: Tracked | None, event: Event, told: Said) -> Tracked:
    """What is known about a document once an event said something about it."""
    before = known or Tracked(path=told.path)
    past = tuple(
        one if one.until <= event.timestamp else Past(one.event_seq, event.timestamp)
        for one in before.past
    )
    if before.current is not None:
        past = (*past, Past(before.current.event_seq, event.timestamp))
    current = None
    if not told.gone:
        current = DocumentInfo(
            path=told.path,
            pattern=told.pattern,
            sha256=told.sha256,
            root=told.root,
            written=told.written,
            size=told.size,
            lines=told.lines,
            parts=told.parts,
            at=event.timestamp,
            event_id=event.event_id,
            event_seq=event.event_seq,
        )
    return Tracked(path=told.path, current=current, gone=told.gone, past=past[-MOST_PAST:])


def holds(known: Tracked, event_seq: int, as_of: str | None) -> bool:
    """Is the version that this event brought the one that counts, now or at a time after it came?"""
    if known.current is not None and known.current.event_seq == event_seq:
        return True
    if as_of is None:
        return False
    for one in known.past:
        if one.event_seq == event_seq:
            return as_of < one.until
    return len(known.past) == MOST_PAST and event_seq < known.past[0].event_seq


# ---- parts -------------------------------------------------------------------------------------


def part_id(event_id: str, part: Part) -> str:
    """The id a part is found under: the event that brought its version, and its lines."""
    column = f".{part.column}" if part.column else ""
    return f"{event_id}:{part.line}{column}-{part.line_end}"


def place_of(part: str) -> tuple[str, int, int]:
    """The event and the first and last line in the id of a part."""
    found = _PLACE.fullmatch(part)
    return (found[1], int(found[2]), int(found[3])) if found else (part, 0, 0)


def shown(text: str) -> str:
    """A part without the blank lines around it; its first line keeps its indentation."""
    body = text.rstrip()
    blank = len(body) - len(body.lstrip())
    return body[body.rfind("\n", 0, blank) + 1 :]
