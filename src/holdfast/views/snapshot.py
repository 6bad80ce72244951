"""A snapshot: the rows of the views at one position, as one JSON file for the day the index is gone.

`sha256` comes last and covers every byte before it, so a file that was cut or changed is not believed.
A snapshot is capped in size, so that writing one costs the same however large a project grows. Every
session is in it by name; the rest of what is known about a session comes in whole or not at all, open
sessions first, then the ones that ended latest. Those that did not fit are named, and whoever asks for
one of them gets it from the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256

import msgspec

from holdfast.model.events import Position
from holdfast.model.sessions import SessionInfo

from .every import shape
from .sessions import Sessions
from .view import View, session_of

FORMAT = 1
SESSIONS = Sessions()
_SUM = b',"sha256":"'
_SUM_LENGTH = len(_SUM) + 64 + len(b'"}\n')


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of every view at a position."""

    format: int
    project_id: str
    #: which views, in which version
    views: str
    position: Position
    #: the sessions of which only the name fitted, by key
    left_out: tuple[str, ...]
    #: view, key, row
    rows: dict[str, dict[str, msgspec.Raw]]

    def each(self) -> Iterator[tuple[str, str, bytes]]:
        """Every row."""
        for view, rows in self.rows.items():
            for key, row in rows.items():
                yield view, key, bytes(row)


def write(
    rows: Callable[[str, str], list[tuple[str, bytes]]],
    position: Position,
    project_id: str,
    views: tuple[View, ...],
    *,
    most: int,
    absent: frozenset[str] = frozenset(),
) -> bytes | None:
    """The file of a snapshot, of about `most` bytes at the most; None when not even names fit.

    `rows` gives the rows of a view whose keys begin with a prefix; of the sessions in `absent` it
    has the names only.
    """
    names = rows(SESSIONS.name, "")
    kept: dict[str, dict[str, bytes]] = {view.name: {} for view in views}
    kept[SESSIONS.name] = dict(names)
    room = most - sum(len(key) + len(row) for key, row in names)
    if room < 0:
        return None
    wanted = [key for key in _ranked(names) if key not in absent]
    fitting = 0
    for key in wanted:
        found = _details(rows, views, key)
        room -= sum(len(at) + len(row) for _, at, row in found)
        if room < 0:
            break
        fitting += 1
        for view, at, row in found:
            kept[view][at] = row
    return _sealed(kept, position, project_id, views, absent.union(wanted[fitting:]))


def digest(left_out: frozenset[str]) -> str:
    """Which sessions are left out, in few characters; empty for none."""
    said = "\n".join(sorted(left_out)).encode()
    return sha256(said).hexdigest()[:16] if left_out else ""


def _ranked(names: list[tuple[str, bytes]]) -> list[str]:
    """The sessions' keys, those most likely to be asked for first."""
    infos = [(key, msgspec.json.decode(row, type=SessionInfo)) for key, row in names]
    infos.sort(key=lambda pair: (pair[1].open, pair[1].last_seq), reverse=True)
    return [key for key, _ in infos]


def _details(
    rows: Callable[[str, str], list[tuple[str, bytes]]], views: tuple[View, ...], key: str
) -> list[tuple[str, str, bytes]]:
    """Every other row of one session."""
    below = key[:-1]  # its own key and all that begin with its parts
    return [
        (view.name, at, row)
        for view in views
        if view.name != SESSIONS.name
        for at, row in rows(view.name, below)
        if session_of(at) == key
    ]


def _sealed(
    kept: dict[str, dict[str, bytes]],
    position: Position,
    project_id: str,
    views: tuple[View, ...],
    left_out: frozenset[str],
) -> bytes:
    data = msgspec.json.encode(
        Snapshot(
            format=FORMAT,
            project_id=project_id,
            views=shape(views),
            position=msgspec.structs.replace(position, lacking=""),
            left_out=tuple(sorted(left_out)),
            rows={
                view: {key: msgspec.Raw(row) for key, row in sorted(found.items())}
                for view, found in kept.items()
            },
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
