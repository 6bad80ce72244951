"""Files touched: what the tools of a session were pointed at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from holdfast.model.events import Event
from holdfast.model.sessions import TouchedFile

from .view import NOTHING, PerSession, Rows, brief

#: the latest ones; a session that touches more is told so by the log
MOST = 200
#: how hosts name the argument that is a file
_ARGUMENTS = ("file_path", "path", "notebook_path", "filename", "file")
_LONGEST_PATH = 1_000
#: tools that only look; whatever else is pointed at a file may change it
_READERS = ("read", "view", "cat", "open", "grep", "glob", "ls", "list", "search", "find", "get")


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """A session's files by path."""

    files: dict[str, TouchedFile] = {}


class FileView(PerSession):
    """One row for each session."""

    name = "files"
    version = 1
    kinds = frozenset({"tool_call", "system_event"})
    row = Files

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Count what was touched; let go of what was longest not."""
        touched = list(_touched(event))
        if not touched:
            return NOTHING
        (key,) = self.keys(event)
        files = dict(rows[key].files) if rows[key] else {}
        for path, tool, changed in touched:
            before = files.get(path)
            files[path] = TouchedFile(
                path=path,
                tool=tool,
                times=(before.times if before else 0) + 1,
                at=event.timestamp,
                event_seq=event.event_seq,
                changed=changed or (before is not None and before.changed),
            )
        if len(files) > MOST:
            latest = sorted(files.values(), key=lambda file: (file.event_seq, file.path))[-MOST:]
            files = {file.path: file for file in latest}
        return {key: Files(files=files)}


def _touched(event: Event) -> Iterator[tuple[str, str, bool]]:
    """Each file of an event: its path, by what, and whether it may have changed."""
    said: dict[str, Any] = event.payload if isinstance(event.payload, dict) else {}
    if event.kind == "system_event":
        changes = said.get("file_changes")
        for path in changes[-MOST:] if isinstance(changes, list) else ():
            if _is_path(path):
                yield str(path), "change", True
        return
    tool, given = said.get("tool"), said.get("input")
    if not isinstance(tool, str) or not isinstance(given, dict):
        return
    for name in _ARGUMENTS:
        path = given.get(name)
        if _is_path(path):
            yield str(path), brief(tool, 100), not tool.lower().startswith(_READERS)
            return


def _is_path(given: Any) -> bool:
    return isinstance(given, str) and 0 < len(given) <= _LONGEST_PATH
