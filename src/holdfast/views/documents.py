"""Documents: one row for each path that was ever read, and one for each pattern that is looked for.

What counts as a document, and which of its versions holds when, is for `model/documents.py` to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from holdfast.model.documents import ERASURE, EVENT, DocumentInfo, Tracked, after, said
from holdfast.model.events import Event

from .view import NOTHING, Rows, common_key, within

if TYPE_CHECKING:
    from .runner import Reading


#: no path is empty
_ERASED = common_key("")


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern whose files are documents, the new ones too."""

    pattern: str
    since: str


class DocumentView:
    """One row for each path."""

    name = "documents"
    version = 2
    kinds = frozenset({EVENT, ERASURE})
    row = Tracked

    def keys(self, event: Event) -> tuple[str, ...]:
        """The document it is about; else the row that says whether something was erased."""
        told = said(event)
        if told is None and event.kind == EVENT:
            return ()
        return (common_key(told.path if told is not None else ""),)

    def apply(self, rows: Rows, event: Event) -> Rows:
        """A new version, or none any more."""
        told = said(event)
        if told is None:
            return {_ERASED: Tracked(path="", gone=ERASURE)}
        if not told.path:
            lifted = told.refreshed and rows[_ERASED] is not None
            return {_ERASED: None} if lifted else NOTHING
        key = common_key(told.path)
        return {key: after(rows[key], event, told)}


class PatternView:
    """One row for each pattern."""

    name = "document_patterns"
    version = 1
    kinds = frozenset({EVENT})
    row = Watched

    def keys(self, event: Event) -> tuple[str, ...]:
        """The pattern it names, unless a document that is gone does."""
        told = said(event)
        return () if told is None or not told.pattern else (common_key(told.pattern),)

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Look for it from here on, or no longer."""
        told = said(event)
        if told is None or (told.path and told.gone):
            return NOTHING
        key = common_key(told.pattern)
        if told.gone:
            return {key: None} if rows[key] is not None else NOTHING
        if rows[key] is not None:
            return NOTHING
        return {key: Watched(pattern=told.pattern, since=event.timestamp)}


DOCUMENTS, PATTERNS = DocumentView(), PatternView()
_COMMON = within(None, None, None)


def tracked(reading: Reading, path: str) -> Tracked | None:
    """What is known about the document at a path."""
    found: Tracked | None = reading.row(DOCUMENTS, common_key(path))
    return found


def some(reading: Reading, paths: Iterable[str]) -> dict[str, Tracked]:
    """The same of these, as far as they were ever read."""
    found = ((path, tracked(reading, path)) for path in paths)
    return {path: one for path, one in found if one is not None}


def every(reading: Reading) -> dict[str, Tracked]:
    """The same of every path."""
    return {one.path: one for one in reading.rows(DOCUMENTS, _COMMON) if one.path}


def erased(reading: Reading) -> bool:
    """Was something erased since the last refresh that a person asked for?"""
    return reading.row(DOCUMENTS, _ERASED) is not None


def current(reading: Reading) -> list[DocumentInfo]:
    """The documents there are now, by path."""
    found = (one.current for one in every(reading).values())
    return sorted((one for one in found if one is not None), key=lambda one: one.path)


def patterns(reading: Reading) -> list[str]:
    """What is looked for."""
    return sorted(one.pattern for one in reading.rows(PATTERNS, _COMMON))
