"""A view: a keyed reducer. Everything derived from the log is made of these.

`keys` says which rows an event concerns, from the event alone; `apply` gives the rows it changes. Both
are pure: no clock, no randomness, no disk, no setting, nothing but their arguments, so the same events
give the same rows anywhere. A row is a frozen struct; `apply` returns new ones and changes none.

The first elements of every key are the user, the agent and the session, so whoever reads must say whose
rows are meant, and an event that carries another owner's session id cannot reach that owner's rows. They
are null in the keys of what belongs to no session; such a row itself says who may see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from holdfast.model.events import Event

Rows = Mapping[str, Any]
#: what `apply` says when nothing changed
NOTHING: Mapping[str, Any] = {}


class View(Protocol):
    """One kind of derived rows."""

    @property
    def name(self) -> str:
        """What its rows are kept under."""
        ...

    @property
    def version(self) -> int:
        """Raised with every change of what `apply` gives; the index is then rebuilt."""
        ...

    @property
    def kinds(self) -> frozenset[str] | None:
        """The event types it looks at; None for all."""
        ...

    @property
    def row(self) -> type[msgspec.Struct]:
        """What a row is."""
        ...

    def keys(self, event: Event) -> tuple[str, ...]:
        """The rows this event may change; none when it does not concern this view after all."""
        ...

    def apply(self, rows: Rows, event: Event) -> Rows:
        """The rows it changes; `rows` holds those of `keys`, None where there is none."""
        ...


class PerSession:
    """The part most views share: one row for each session."""

    def keys(self, event: Event) -> tuple[str, ...]:
        """The row of the event's session."""
        return session_keys(event.user, event.agent, event.session_id)


@lru_cache(4096)
def session_keys(user: str | None, agent: str | None, session_id: str | None) -> tuple[str, ...]:
    """The key of a session's row; made once for each, as every event of the session asks for it.

    What concerns no session has no such row.
    """
    return () if session_id is None else (_text([user, agent, session_id]),)


def session_key(user: str | None, agent: str | None, session_id: str) -> str:
    """The same as one text."""
    return session_keys(user, agent, session_id)[0]


def common_key(*parts: str | None) -> str:
    """The key of a row that belongs to no session."""
    return _text([None, None, None, *parts])


def place_key(event: Event) -> tuple[str, ...]:
    """The key of a row of its own for one event of a session."""
    if event.session_id is None:
        return ()
    return (_text([event.user, event.agent, event.session_id, f"{event.event_seq:012d}"]),)


def within(*parts: str | None) -> str:
    """How the keys begin that lie below these parts: a user's, an agent's, a session's."""
    return _text(list(parts))[:-1] + ("," if parts else "")


def session_of(key: str) -> str:
    """The key of the session a row belongs to."""
    parts = msgspec.json.decode(key)
    return key if len(parts) == 3 else _text(parts[:3])


def session_within(prefix: str) -> str | None:
    """The one session all keys with this beginning belong to; None when there may be several."""
    try:
        parts = msgspec.json.decode(prefix.removesuffix(",") + "]")
    except msgspec.DecodeError:
        return None
    return _text(parts[:3]) if len(parts) >= 3 else None


def brief(text: str, most: int) -> str:
    """The beginning of a text; the rest is in the event."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _text(parts: list[Any]) -> str:
    return msgspec.json.encode(parts).decode()
