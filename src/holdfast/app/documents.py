"""Documents: files of the project that recall finds, read in by patterns and kept up to date.

The log is the truth. Each version of a file is one event that holds its text, and so is its end.
Patterns are remembered by these events, so that another day finds the files that came since. Whoever
begins a session or asks something gets what the files say by then: how a file looks from outside tells
whether it may have changed, its hash decides.
"""

from __future__ import annotations

import builtins
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from holdfast.documents.find import Finder, fits, meant, normal
from holdfast.documents.seen import Seen, untouched
from holdfast.errors import Invalid, NotFound
from holdfast.model.documents import (
    REMOVED,
    DocumentInfo,
    DocumentReport,
    Tracked,
)
from holdfast.recall.pages import milliseconds
from holdfast.views import documents as views

from .inspecting import Inspection, Progress

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: files that are looked at before a question is answered, all of them in turn
_IN_TURN = 100


class Documents:
    """The documents of one project: `hf.documents`."""

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf
        self._seen = Seen()
        #: what is looked at next; None before everything was looked at once
        self._turns: deque[DocumentInfo] | None = None

    # ---- what a person asks for ------------------------------------------------------------

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
        work = self._work(place, self._every(), progress)
        found = {path: one for one in reversed(wanted) for path in matched[one]}
        taken = {path for path in sorted(found) if work.take(path, found[path])}
        work.watch([one for one in wanted if not taken.isdisjoint(matched[one])])
        return work.report(finder.left_out, [one for one in wanted if not matched[one]])

    def refresh(
        self, *, root: str | os.PathLike[str] | None = None, progress: Progress | None = None
    ) -> DocumentReport:
        """Look at everything again: read what is new or changed, take out of use what is gone."""
        place = self._root(root)
        work, finder = self._work(place, self._every(), progress), Finder(place)
        found = {path: one.current.pattern for path, one in work.known.items() if one.current}
        patterns = self.patterns()
        for pattern in patterns:
            new = (path for path in finder.files(pattern) if path not in found)
            found |= {path: pattern for path in new if not work.has(path)}
        for path in sorted(found):
            work.take(path, found[path])
        for pattern in patterns[:1] if self._hf.views.read(views.erased) else ():
            work.tell({"pattern": pattern, "refreshed": True})
        return work.report(finder.left_out, [])

    def remove(self, patterns: str | Iterable[str]) -> DocumentReport:
        """Take documents out of use, and stop looking for them: by path, folder or pattern.

        Files stay as they are. NotFound when no document and no pattern is meant.
        """
        wanted = [normal(one, self._hf.project.root) for one in _each(patterns)]
        work = self._work("", self._every())
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

    # ---- what happens by itself ------------------------------------------------------------

    def follow(self) -> None:
        """See what became of every file, and what is new: as a refresh, reading what looks changed.

        A file is looked for where it was read. Where that folder is gone itself, the project's own
        may have it; nothing is said to be gone for that. Once something was erased from the log, only a
        refresh reads files again. Trouble is told in the notices, not raised.
        """
        self._turns = deque()
        if not self._hf.project.root:
            return
        known, patterns, erased = self._hf.views.read(
            lambda one: (views.every(one), views.patterns(one), views.erased(one))
        )
        if not known and not patterns:
            return
        current = [one.current for one in known.values() if one.current is not None]
        work = self._work(self._hf.project.root, known, barred=erased)
        self._see(work, [one for one, home in self._homes(current) if not self._same(one, home)])
        finder = Finder(self._hf.project.root)
        for pattern in patterns:
            for path in finder.files(pattern):
                if not work.has(path):
                    work.take(path, pattern)
        report = work.report([], [])
        self._turns = deque(self.list() if report.added or work.stale else current)

    def keep_up(self) -> None:
        """Before a question: everything once, then some files each time, those that waited longest."""
        if self._turns is None:
            self.follow()
            return
        some = [self._turns.popleft() for _ in range(min(_IN_TURN, len(self._turns)))]
        self._turns.extend(some)
        self.look(one.path for one, home in self._homes(some) if not self._same(one, home))

    def look(self, paths: Iterable[str]) -> frozenset[str]:
        """Those of these documents whose files say something else by now, or are gone.

        What they say is recorded, unless nothing can be recorded just now.
        """
        wanted = {*paths}
        if not wanted or not self._hf.project.root:
            return frozenset()
        known, erased = self._hf.views.read(
            lambda one: (views.some(one, wanted), views.erased(one))
        )
        current = [one.current for one in known.values() if one.current is not None]
        doubtful = [one for one, home in self._homes(current) if not self._compared(one, home)]
        if not doubtful:
            return frozenset()
        work = self._work(self._hf.project.root, known, barred=erased)
        self._see(work, doubtful)
        work.report([], [])
        return frozenset(work.stale)

    def _see(self, work: Inspection, some: Iterable[DocumentInfo]) -> None:
        for one, home in self._homes(some):
            if home == one.root or os.path.lexists(f"{home}/{one.path}"):
                work.take(one.path, one.pattern, home)

    def _same(self, one: DocumentInfo, home: str) -> bool:
        """Does its file look as it did when it was read, or when it was compared since?"""
        place, read_at = f"{home}/{one.path}", milliseconds(one.at) * 1_000
        return untouched(place, one.written, one.size, read_at) or self._compared(one, home)

    def _compared(self, one: DocumentInfo, home: str) -> bool:
        """Was its file found to hold what was read, and does it look as it did then?"""
        return self._seen.holds(f"{home}/{one.path}", one.event_id)

    def _homes(self, some: Iterable[DocumentInfo]) -> Iterator[tuple[DocumentInfo, str]]:
        """The folder below which each document is looked for; those that have none are passed over."""
        homes: dict[str, str] = {}
        for one in some:
            if one.root not in homes:
                there = filter(os.path.isdir, (one.root, self._hf.project.root))
                homes[one.root] = next(there, "")
            if homes[one.root]:
                yield one, homes[one.root]

    # ----------------------------------------------------------------------------------------

    def _every(self) -> Mapping[str, Tracked]:
        self._turns = None
        return self._hf.views.read(views.every)

    def _work(
        self,
        root: str,
        known: Mapping[str, Tracked],
        progress: Progress | None = None,
        *,
        barred: bool | None = None,
    ) -> Inspection:
        asked = barred is None
        return Inspection(
            self._hf, root, known, self._seen, progress, asked=asked, barred=bool(barred)
        )

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


def _each(patterns: str | Iterable[str]) -> list[str]:
    given = [patterns] if isinstance(patterns, str) else patterns
    if not isinstance(given, Iterable) or not (found := [*given]):
        raise Invalid("name at least one pattern, like docs/**/*.md")
    return found
