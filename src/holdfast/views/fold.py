"""Folding: events in, changed rows out. No engine, no order but the one the events come in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any

import msgspec

from holdfast.errors import Damaged
from holdfast.model.events import Event

from .every import VIEWS
from .view import PerSession, View, session_keys

_encoder = msgspec.json.Encoder(order="sorted")
Load = Callable[[str, str], bytes | None]
#: a row as it is kept: its view, its key, its canonical bytes, None when it is gone
Change = tuple[str, str, bytes | None]


_Interested = tuple[View, dict[str, Any], set[str], bool]


class Fold:
    """The rows that changed since a position; those that did not are loaded when they are needed."""

    def __init__(self, load: Load, views: tuple[View, ...] = VIEWS) -> None:
        self._load = load
        self._views = views
        self._rows: dict[str, dict[str, Any]] = {view.name: {} for view in views}
        self._by_kind: dict[str, list[_Interested]] = {}
        self._changed: dict[str, set[str]] = {view.name: set() for view in views}

    def apply(self, event: Event) -> None:
        """Take one event in. What was erased changes no row."""
        if event.erased:
            return
        kind = event.kind
        interested = self._by_kind.get(kind)
        if interested is None:
            interested = self._by_kind[kind] = self._interested_in(kind)
        session = session_keys(event.user, event.agent, event.session_id)
        for view, rows, changed, by_session in interested:
            keys = session if by_session else view.keys(event)
            if not keys:
                continue
            for key in keys:
                if key not in rows:
                    data = self._load(view.name, key)
                    rows[key] = None if data is None else decoded(view, data)
            for key, row in view.apply(rows, event).items():
                rows[key] = row
                changed.add(key)

    def _interested_in(self, kind: str) -> list[_Interested]:
        return [
            (
                view,
                self._rows[view.name],
                self._changed[view.name],
                getattr(type(view), "keys", None) is PerSession.keys,  # the same for all of these
            )
            for view in self._views
            if view.kinds is None or kind in view.kinds
        ]

    def changes(self) -> Iterator[Change]:
        """Every row that changed, in order, as it is kept."""
        for view, keys in self._changed.items():
            rows = self._rows[view]
            for key in sorted(keys):
                row = rows[key]
                yield view, key, None if row is None else _encoder.encode(row)


def decoded(view: View, data: bytes) -> Any:
    """A row that was kept."""
    try:
        return msgspec.json.decode(data, type=view.row)
    except msgspec.DecodeError as exc:
        raise Damaged(f"a row of {view.name} is not one: {exc}") from exc


def state_hash(rows: Iterable[tuple[str, str, bytes]]) -> str:
    """SHA-256 over (view, key, canonical row), sorted."""
    digest = sha256()
    for view, key, row in sorted(rows):
        digest.update(msgspec.json.encode([view, key]) + b" " + row + b"\n")
    return digest.hexdigest()
