"""What a hook heard, as events of a session, and putting them into the project's log."""

from __future__ import annotations

from holdfast.capture.catch import Catcher
from holdfast.capture.disk import Disk
from holdfast.capture.origin import person
from holdfast.capture.parse import Note
from holdfast.capture.place import Place, say_whose
from holdfast.capture.stamp import fresh_id

Json = dict[str, object]

#: how long the log's lock is waited for, once
_PATIENCE = 0.2


class Caught:
    """One event before it is recorded."""

    __slots__ = ("agent", "beside", "event_id", "kept", "kind", "origin", "payload", "session")

    def __init__(
        self,
        kind: str,
        origin: str,
        session: str | None,
        agent: str,
        payload: Json,
        beside: object = None,
    ) -> None:
        self.kind = kind
        self.origin = origin
        self.session = session
        self.agent = agent
        self.payload = {name: value for name, value in payload.items() if value not in (None, "")}
        #: what it was about, where that is not part of it
        self.beside = beside
        #: so that a reference can name it before it is recorded
        self.event_id = fresh_id("evt")
        #: all of it is in the project's log, or waits to get there
        self.kept = False


def record(place: Place, events: list[Caught], notes: list[Note], disk: Disk) -> None:
    """Append what was heard, or put it by."""
    if not events:
        return
    if not place.claimed:
        say_whose(place, disk)
    catcher = Catcher(
        place.folder,
        place.key(disk),
        disk=disk,
        chain=place.chain(disk),
        limits=place.limits(),
        deny_paths=place.deny_paths,
        waiting=not place.claimed,
    )
    user, patience = person(), _PATIENCE
    for event in events:
        appended = catcher.catch(
            event.kind,
            event.payload,
            who=(event.session, event.agent, user),
            origin=event.origin,
            beside=event.beside,
            notes=notes,
            timeout=patience,
            event_id=event.event_id,
        )
        event.kept = place.claimed and not catcher.withheld
        if not appended:
            patience = 0.0  # the deadline has no room for waiting twice


def text(value: object) -> str:
    """A field that should be a text."""
    return value if isinstance(value, str) else ""
