"""A snapshot: the rows of the views at one position, as one JSON file for the day the index is gone.

`sha256` comes last and covers every byte before it, so a file that was cut or changed is not believed.
A snapshot is capped in size, so that writing one costs about the same however large a project grows:
sessions by name, then what belongs to no session, all of it or nothing, then what is known about each
session, whole or not at all, open sessions first, then the ones used last. What did not fit is marked by
a hash, and whoever asks for it gets it from the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate

import msgspec

from holdfast.model.events import Position
from holdfast.ports.views import ViewStore

from . import extent
from .every import shape
from .sessions import Sessions
from .view import View, common_key, session_of

FORMAT = 1
#: sessions that are held whole: more are seldom at work, and fetching each takes its time
MOST_WHOLE = 500
SESSIONS = Sessions()
#: the session, so to speak, of what belongs to none
NOBODY = common_key()
_SUM = b',"sha256":"'
_SUM_LENGTH = len(_SUM) + 64 + len(b'"}\n')


class _Used(msgspec.Struct):
    """Of a session, how likely it is to be asked for."""

    last_seq: int
    ended_at: str | None = None


_used = msgspec.json.Decoder(_Used)


class Lacking(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions, by hash, of which something is not at hand; among them what belongs to none."""

    #: their name is all that is known
    details: frozenset[str] = frozenset()
    #: not even that
    names: frozenset[str] = frozenset()

    def digest(self) -> str:
        """All of it in few characters; empty when nothing is lacking."""
        return sha256(self.text().encode()).hexdigest()[:16] if self.details | self.names else ""

    def text(self) -> str:
        """As it is kept beside the rows."""
        return " ".join(sorted(self.details)) + "/" + " ".join(sorted(self.names))

    @classmethod
    def said(cls, text: str) -> Lacking:
        """What was kept beside the rows."""
        details, _, names = text.partition("/")
        return cls(details=frozenset(details.split()), names=frozenset(names.split()))


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of every view at a position."""

    format: int
    project_id: str
    #: which views, in which version
    views: str
    position: Position
    lacking: Lacking
    #: view, key, row
    rows: dict[str, dict[str, msgspec.Raw]]

    def each(self) -> Iterator[tuple[str, str, bytes]]:
        """Every row."""
        for view, rows in self.rows.items():
            for key, row in rows.items():
                yield view, key, bytes(row)


def write(
    store: ViewStore,
    position: Position,
    project_id: str,
    views: tuple[View, ...],
    *,
    most: int,
    lacking: Lacking | None = None,
) -> bytes:
    """The file of a snapshot, of about `most` bytes; `lacking` is what the store itself has not."""
    lacking = lacking or Lacking()
    known = _ranked(store.rows(SESSIONS.name))
    named = _fitting([len(key) + len(row) for key, row in known], most // 2)
    kept: dict[str, dict[str, bytes]] = {view.name: {} for view in views}
    kept[SESSIONS.name] = dict(known[:named])
    room = most - sum(len(key) + len(row) for key, row in known[:named])
    groups = [NOBODY, *(key for key, _ in known[:named])]
    whole = set()
    for key in groups[: MOST_WHOLE + 1]:
        if short(key) in lacking.details or (key == NOBODY and _far_too_large(store, room)):
            continue
        found = _belonging(store, key, views)
        size = sum(len(at) + len(row) for _, at, row in found)
        if size <= room:
            room -= size
            whole.add(short(key))
            for view, at, row in found:
                kept[view][at] = row
        elif key != NOBODY:
            break  # nor will the sessions behind it
    names = frozenset(short(key) for key, _ in known[named:]) | lacking.names
    details = (frozenset(map(short, groups)) | lacking.details) - whole - names
    left = Lacking(details=details, names=names)
    return _sealed(kept, msgspec.structs.replace(position, lacking=""), project_id, views, left)


def _far_too_large(store: ViewStore, room: int) -> bool:
    """Is what belongs to no session so much more than fits that it need not be read to see it?"""
    data = store.row(extent.ExtentView.name, extent.KEY)
    known = msgspec.json.decode(data, type=extent.Extent) if data else extent.Extent()
    return known.size > 2 * room


def _belonging(store: ViewStore, key: str, views: tuple[View, ...]) -> list[tuple[str, str, bytes]]:
    """The rows of a session, without its name."""
    others = [view.name for view in views if view.name != SESSIONS.name]
    return [row for row in store.rows_of(others, key[:-1]) if session_of(row[1]) == key]


@lru_cache(4096)
def short(key: str) -> str:
    """A session's key in few characters."""
    return sha256(key.encode()).hexdigest()[:16]


def _ranked(names: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """The sessions most likely to be asked for first."""

    def rank(pair: tuple[str, bytes]) -> tuple[bool, int]:
        used = _used.decode(pair[1])
        return used.ended_at is None, used.last_seq

    return sorted(names, key=rank, reverse=True)


def _fitting(sizes: list[int], room: int) -> int:
    """How many of these, from the first on, fit."""
    return sum(1 for total in accumulate(sizes) if total <= room)


def _sealed(
    kept: dict[str, dict[str, bytes]],
    position: Position,
    project_id: str,
    views: tuple[View, ...],
    lacking: Lacking,
) -> bytes:
    raw = {
        view: {key: msgspec.Raw(row) for key, row in sorted(found.items())}
        for view, found in kept.items()
    }
    made = Snapshot(
        format=FORMAT,
        project_id=project_id,
        views=shape(views),
        position=position,
        lacking=lacking,
        rows=raw,
    )
    data = msgspec.json.encode(made, order="deterministic")[:-1]
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
