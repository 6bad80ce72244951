"""Documents: files of the project that recall finds, read in by patterns and kept up to date.

The log is the truth. Each version of a file is one event that holds its text, and so is its end.
Patterns are remembered by these events, so that another day finds the files that came since.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.capture.redact import Redactor
from holdfast.documents.find import Finder, fits, inside, meant, normal
from holdfast.documents.read import Content, Reader
from holdfast.documents.split import parts
from holdfast.errors import Invalid, NotFound
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


class Documents:
    """The documents of one project: `hf.documents`."""

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf

    def add(
        self,
        patterns: str | Iterable[str],
        *,
        root: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> DocumentReport:
        """Read in the files that match, and look for them again at each refresh.

        Patterns are relative to the project's root, or to `root` for a project opened by its id. What
        did not change since it was read makes no event. NotFound when nothing matches at all.
        """
        place = self._root(root)
        wanted = builtins.list(dict.fromkeys(meant(one, place) for one in _each(patterns)))
        finder = Finder(place)
        matched = {pattern: finder.files(pattern) for pattern in wanted}
        if not any(matched.values()) and not finder.left_out:
            names = ", ".join(wanted)
            raise NotFound(f"nothing matches {names}; patterns are relative to {place}")
        work = _Work(self._hf, place, progress)
        found = {path: one for one in reversed(wanted) for path in matched[one]}
        taken = {path for path in sorted(found) if work.take(path, found[path])}
        work.watch([one for one in wanted if not taken.isdisjoint(matched[one])])
        return work.report(finder.left_out, [one for one in wanted if not matched[one]])

    def refresh(
        self, *, root: str | os.PathLike[str] | None = None, progress: Progress | None = None
    ) -> DocumentReport:
        """Look at everything again: read what is new or changed, take out of use what is gone."""
        place = self._root(root)
        work, finder = _Work(self._hf, place, progress), Finder(place)
        found = {path: one.current.pattern for path, one in work.known.items() if one.current}
        for pattern in self.patterns():
            new = (path for path in finder.files(pattern) if path not in found)
            found |= {path: pattern for path in new if not work.was_removed(path)}
        for path in sorted(found):
            work.take(path, found[path])
        return work.report(finder.left_out, [])

    def remove(self, patterns: str | Iterable[str]) -> DocumentReport:
        """Take documents out of use, and stop looking for them: by path, folder or pattern.

        Files stay as they are. NotFound when no document and no pattern is meant.
        """
        wanted = [normal(one, self._hf.project.root) for one in _each(patterns)]
        work = _Work(self._hf, "", None)
        known = [path for path, one in work.known.items() if one.current]
        gone = [path for path in known if any(fits(one, path) for one in wanted)]
        dropped = [p for p in self.patterns() if any(fits(one, p) for one in wanted)]
        if not gone and not dropped:
            raise NotFound(f"no document is {', '.join(wanted)}; list those there are")
        for path in sorted(gone):
            work.end(path, REMOVED)
        for pattern in dropped:
            work.tell({"pattern": pattern, "gone": True, "why": REMOVED})
        return work.report([], [])

    def list(self) -> builtins.list[DocumentInfo]:
        """The documents there are, by path."""
        return self._hf.views.read(views.current)

    def patterns(self) -> builtins.list[str]:
        """What is looked for at each refresh."""
        return self._hf.views.read(views.patterns)

    def _root(self, given: str | os.PathLike[str] | None) -> str:
        if given is None and not self._hf.project.root:
            raise Invalid(
                f"{self._hf.project.id} was opened by its id, so the folder of its documents is not "
                "known; open the project from its folder, or say root="
            )
        place = os.path.abspath(self._hf.project.root if given is None else os.fspath(given))
        if not os.path.isdir(place):
            raise NotFound(f"there is no folder {place}")
        return place


class _Work:
    """One look at files: what each has become, recorded as it goes."""

    def __init__(self, hf: Holdfast, root: str, progress: Progress | None) -> None:
        self._hf = hf
        self._progress = progress
        #: finds what spans lines and which files are never read; it writes nothing, so it needs no key
        self._redactor = Redactor(b"", hf.settings.record.deny_paths)
        self._reader = Reader(root, self._refusal, hf.settings.recall.document_bytes)
        self.known: Mapping[str, Tracked] = hf.views.read(views.every)
        self._looked_at = 0
        self._drafts: list[Draft] = []
        self._waiting = 0
        self._told: set[str] = set()
        self._left: list[LeftOut] = []
        self._done: dict[str, list[str]] = {
            what: [] for what in ("added", "changed", "unchanged", "gone")
        }

    def was_removed(self, path: str) -> bool:
        """Did a person take this one out of use?"""
        return path in self.known and self.known[path].gone == REMOVED

    def take(self, path: str, pattern: str) -> bool:
        """Read one file, and record it if it is not what was read before; False if it is none for us."""
        found, known = self._reader.read(path), self.known.get(path)
        current = known.current if known is not None else None
        taken = False
        if isinstance(found, Content):
            taken = self._take_in(path, pattern, found, current)
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

    def _take_in(
        self, path: str, pattern: str, found: Content, current: DocumentInfo | None
    ) -> bool:
        if current is not None and current.sha256 == found.sha256:
            self._done["unchanged"].append(path)
            return True
        said = self._said(path, pattern, found)
        if isinstance(said, LeftOut):
            self._leave(said, current)
            return False
        self.tell(said)
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

    def tell(self, payload: dict[str, Any]) -> None:
        """An event about documents, recorded soon."""
        self._drafts.append(Draft(type=EVENT, payload=payload, origin=ORIGIN))
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
        if self._drafts:
            self._hf.record(self._drafts)
        self._drafts, self._waiting = [], 0

    def _said(self, path: str, pattern: str, found: Content) -> dict[str, Any] | LeftOut:
        """What the event of a new version says."""
        text = redacted(self._hf, self._with_its_lines(found.text))
        said = {
            "path": path,
            "pattern": pattern,
            "sha256": found.sha256,
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


def _each(patterns: str | Iterable[str]) -> list[str]:
    given = [patterns] if isinstance(patterns, str) else patterns
    if not isinstance(given, Iterable) or not (found := [*given]):
        raise Invalid("name at least one pattern, like docs/**/*.md")
    return found
