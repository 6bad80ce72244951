"""One look at the files of a project: what each has become since it was read, recorded as it goes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.capture.redact import Redactor
from holdfast.documents.find import inside
from holdfast.documents.read import Content, Reader
from holdfast.documents.seen import Look, Seen
from holdfast.documents.split import parts
from holdfast.errors import HoldfastError
from holdfast.model.documents import (
    EVENT,
    MISSING,
    ORIGIN,
    REFUSED,
    REMOVED,
    DocumentInfo,
    DocumentReport,
    LeftOut,
    Tracked,
)
from holdfast.model.events import Draft
from holdfast.views import documents as views

from .telling import redacted

if TYPE_CHECKING:
    from .holdfast import Holdfast

Progress = Callable[[int], None]
#: recorded together, sharing one sync: so many characters, or so many files
_CHARACTERS_AT_ONCE, _FILES_AT_ONCE = 4 << 20, 200
_BARRED = (
    "something was erased from the log, and files could bring it back: documents that changed are out "
    "of use until `holdfast docs refresh` reads them again"
)


class Inspection:
    """Looks at files one after the other; what it makes of them is in its report."""

    def __init__(
        self,
        hf: Holdfast,
        root: str,
        known: Mapping[str, Tracked],
        seen: Seen,
        progress: Progress | None,
        *,
        asked: bool = True,
        barred: bool = False,
    ) -> None:
        self._hf = hf
        self._root = root
        self._progress = progress
        #: finds what spans lines and which files are never read; it writes nothing, so it needs no key
        self._redactor = Redactor(b"", hf.settings.record.deny_paths)
        self._readers: dict[str, Reader] = {}
        self.known = known
        self._seen = seen
        #: when nobody asked for it, what cannot be recorded is told of and left for another time
        self._asked = asked
        #: nothing is read in: what was erased might come back
        self._barred = barred
        self._looked_at = 0
        self._drafts: list[tuple[Draft, str, Look | None]] = []
        self._waiting = 0
        self._told: set[str] = set()
        self._left: list[LeftOut] = []
        self._done: dict[str, list[str]] = {
            what: [] for what in ("added", "changed", "unchanged", "gone")
        }

    @property
    def stale(self) -> list[str]:
        """Documents that are not what was known of them."""
        return [*self._done["changed"], *self._done["gone"]]

    def has(self, path: str) -> bool:
        """Is this one known already, or did a person take it out of use?"""
        return path in self.known and (
            self.known[path].current is not None or self.known[path].gone == REMOVED
        )

    def take(self, path: str, pattern: str, root: str = "") -> bool:
        """Read one file, and record it if it is not what was read before; False if it is none for us."""
        root = root or self._root
        found, known = self._reader(root).read(path), self.known.get(path)
        current = known.current if known is not None else None
        taken = False
        if isinstance(found, Content):
            taken = self._take_in(path, pattern, root, found)
        elif isinstance(found, LeftOut):
            self._leave(found, current)
        elif current is not None:
            self.end(path, MISSING)
        else:
            self._left.append(LeftOut(path=path, why="it is a link to nothing", passing=True))
        self._looked_at += 1
        if self._progress is not None:
            self._progress(self._looked_at)
        return taken

    def _reader(self, root: str) -> Reader:
        if root not in self._readers:
            most = self._hf.settings.recall.document_bytes
            self._readers[root] = Reader(root, self._refusal, most)
        return self._readers[root]

    def _take_in(self, path: str, pattern: str, root: str, found: Content) -> bool:
        known, place = self.known.get(path), os.path.join(root, path)
        current = known.current if known is not None else None
        if current is not None and current.sha256 == found.sha256:
            self._seen.note(place, current.event_id, found.look)
            self._done["unchanged"].append(path)
            return True
        said = self._said(path, pattern, root, found)
        if isinstance(said, LeftOut):
            self._leave(said, current)
            return False
        if self._barred:
            self._hf.library.tell(_BARRED)
        else:
            self.tell(said, place, found.look)
        self._done["added" if current is None else "changed"].append(path)
        return True

    def _leave(self, left: LeftOut, current: DocumentInfo | None) -> None:
        """What is not read any more is out of use, unless the trouble may pass."""
        self._left.append(left)
        if current is not None and not left.passing:
            self.end(left.path, REFUSED)

    def end(self, path: str, why: str) -> None:
        """A document is out of use from here on."""
        self.tell({"path": path, "gone": True, "why": why})
        self._done["gone"].append(path)

    def watch(self, patterns: Sequence[str]) -> None:
        """Look for these from now on; most are named by the documents they brought."""
        watched = {*self._hf.views.read(views.patterns), *self._told}
        for pattern in patterns:
            if pattern not in watched:
                self.tell({"pattern": pattern})

    def tell(self, payload: dict[str, Any], place: str = "", look: Look | None = None) -> None:
        """An event about documents, recorded soon; where its file lies, and how it looked."""
        self._drafts.append((Draft(type=EVENT, payload=payload, origin=ORIGIN), place, look))
        self._told.add(payload.get("pattern", ""))
        self._waiting += len(payload.get("text", ""))
        if self._waiting >= _CHARACTERS_AT_ONCE or len(self._drafts) >= _FILES_AT_ONCE:
            self._flush()

    def report(self, left_out: Sequence[LeftOut], unmatched: Sequence[str]) -> DocumentReport:
        """Record what waits, and say what became of everything."""
        self._flush()
        return DocumentReport(
            **{what: tuple(paths) for what, paths in self._done.items()},
            left_out=(*left_out, *self._left),
            unmatched=tuple(unmatched),
        )

    def _flush(self) -> None:
        waiting, self._drafts, self._waiting = self._drafts, [], 0
        paths = [draft.payload["path"] for draft, _, _ in waiting if "path" in draft.payload]
        now = self._hf.views.read(partial(views.some, paths=paths)) if paths else {}
        new = [one for one in waiting if not _known(now, one[0].payload)]
        try:
            events = self._hf.record([draft for draft, _, _ in new]) if new else []
        except HoldfastError as exc:
            if self._asked:
                raise
            self._hf.library.tell(f"documents have changed, which cannot be recorded: {exc}")
            return
        for event, (_, place, look) in zip(events, new, strict=True):
            if look is not None:
                self._seen.note(place, event.event_id, look)

    def _said(self, path: str, pattern: str, root: str, found: Content) -> dict[str, Any] | LeftOut:
        """What the event of a new version says."""
        text = redacted(self._hf, self._with_its_lines(found.text))
        said = {
            "path": path,
            "pattern": pattern,
            "sha256": found.sha256,
            "root": os.path.realpath(root),
            "written": found.look.written // 1_000,
            "size": found.look.size,
            "lines": text.count("\n") + bool(text and not text.endswith("\n")),
            "parts": sum(bool(part.text.strip()) for part in parts(path, text)),
            "text": text,
        }
        limits = self._hf.settings.record
        in_line = len(text) <= limits.text_chars
        if in_line and len(msgspec.json.encode(said)) > limits.payload_bytes:
            return LeftOut(path=path, why="it is larger than record.payload_bytes allows")
        return said

    def _with_its_lines(self, text: str) -> str:
        """The same with as many lines once secrets that span several are taken out of it."""
        made, at = "", 0
        for left, right, _ in self._redactor.spans(text) if "-----BEGIN " in text else ():
            secret = text[left:right]
            mark = redacted(self._hf, secret)
            made += text[at:left] + mark + "\n" * (secret.count("\n") - mark.count("\n"))
            at = right
        return made + text[at:]

    def _refusal(self, path: str, place: str) -> str:
        """Why a file of the project is not read; empty for one that is."""
        if self._redactor.denied(path) or self._redactor.denied(place):
            return "it is one of the files that hold secrets (record.deny_paths and its like)"
        if redacted(self._hf, path) != path:
            return "its name looks like a secret"
        if inside(place, os.path.realpath(self._hf.settings.home)):
            return "it is part of Holdfast's own data"
        return ""


def _known(now: Mapping[str, Tracked], payload: dict[str, Any]) -> bool:
    """Did another process say the same while this one looked?"""
    found = now.get(payload.get("path", ""))
    if found is None:
        return False
    if payload.get("gone"):
        return found.current is None
    return found.current is not None and found.current.sha256 == payload["sha256"]
