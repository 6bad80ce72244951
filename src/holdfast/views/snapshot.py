"""A snapshot: every row of the views at one position, as one JSON file for the day the index is gone.

`sha256` comes last and covers every byte before it, so a file that was cut or changed is not believed.
A snapshot is capped in size: open sessions come first, then the ones that ended latest; the sessions
that did not fit are named, and whoever asks for one of those gets it from the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256

import msgspec

from holdfast.model.events import Position
from holdfast.model.sessions import SessionInfo

from .every import shape
from .view import View, session_of

FORMAT = 1
_SUM = b',"sha256":"'
_SUM_LENGTH = len(_SUM) + 64 + len(b'"}\n')


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of every view at a position."""

    format: int
    project_id: str
    #: which views, in which version
    views: str
    position: Position
    #: the sessions that did not fit, by key
    left_out: tuple[str, ...]
    #: view, key, row
    rows: dict[str, dict[str, msgspec.Raw]]

    def each(self) -> Iterator[tuple[str, str, bytes]]:
        """Every row."""
        for view, rows in self.rows.items():
            for key, row in rows.items():
                yield view, key, bytes(row)


def write(
    rows: Iterable[tuple[str, str, bytes]],
    position: Position,
    project_id: str,
    views: tuple[View, ...],
    *,
    most: int,
) -> bytes:
    """The file of a snapshot, of at most about `most` bytes."""
    kept, left_out = _fitting(list(rows), most)
    found: dict[str, dict[str, msgspec.Raw]] = {view.name: {} for view in views}
    for view, key, row in kept:
        found[view][key] = msgspec.Raw(row)
    data = msgspec.json.encode(
        Snapshot(
            format=FORMAT,
            project_id=project_id,
            views=shape(views),
            position=position,
            left_out=tuple(sorted(left_out)),
            rows=found,
        )
    )[:-1]
    return data + _SUM + sha256(data).hexdigest().encode() + b'"}\n'


def read(data: bytes, project_id: str, views: tuple[View, ...]) -> Snapshot | str:
    """The snapshot in a file, or why it is not one."""
    body, end = data[:-_SUM_LENGTH], data[-_SUM_LENGTH:]
    if end != _SUM + sha256(body).hexdigest().encode() + b'"}\n':
        return "it is damaged"
    try:
        found = msgspec.json.decode(body + b"}", type=Snapshot)
    except msgspec.DecodeError as exc:
        return f"it is of another format: {exc}"
    if found.format != FORMAT or found.views != shape(views):
        return "it was made by another version"
    if found.project_id != project_id:
        return f"it belongs to {found.project_id}"
    return found


def _fitting(
    rows: list[tuple[str, str, bytes]], most: int
) -> tuple[list[tuple[str, str, bytes]], set[str]]:
    """As many sessions as fit, whole, and those that do not."""
    sizes: dict[str, int] = {}
    for _, key, row in rows:
        session = session_of(key)
        sizes[session] = sizes.get(session, 0) + len(key) + len(row) + 8
    if sum(sizes.values()) <= most:
        return rows, set()
    infos = {
        key: msgspec.json.decode(row, type=SessionInfo)
        for view, key, row in rows
        if view == "sessions"
    }
    left_out, room = set(), most
    for key in sorted(sizes, key=lambda key: _rank(infos.get(key)), reverse=True):
        room -= sizes[key]
        if room < 0:
            left_out.add(key)
    return [row for row in rows if session_of(row[1]) not in left_out], left_out


def _rank(info: SessionInfo | None) -> tuple[bool, int]:
    return (info.open, info.last_seq) if info else (False, 0)
