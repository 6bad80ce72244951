"""What a host's hook was told: read, understood, recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from holdfast.capture.disk import Disk
from holdfast.capture.parse import Note, parse
from holdfast.capture.place import Place, find

from . import run
from .caught import Caught, Json, record

#: beyond this nobody waits for an answer
_MOST_ASKED = 4 << 20
_HEAD = 4_096
_FIELD = r'"%s"\s*:\s*"([^"\\]{1,300})"'

Events = Callable[[Json], list[Caught]]


class Host:
    """How one host speaks: what its input means, and in which folder it works."""

    __slots__ = ("events", "folder")

    def __init__(self, events: Events, folder: Callable[[Json], str]) -> None:
        self.events = events
        self.folder = folder


class Told:
    """What was said, and where it belongs."""

    __slots__ = ("events", "place", "said")

    def __init__(self, said: Json, place: Place, events: list[Caught]) -> None:
        self.said = said
        self.place = place
        self.events = events

    @property
    def seconds(self) -> float:
        """How long the hook may take in all."""
        given = self.place.known.get("deadline_ms")
        return given / 1000 if type(given) is int and given > 0 else run.DEADLINE


def listen(cache: str, host: Host, *, asks: bool = False) -> Told | None:
    """Take in what is on standard input and record it; None when there is nothing more to do.

    A long input is worked on in a process of its own. Whoever `asks` goes on with it meanwhile.
    """
    run.stands()
    run.deadline(run.DEADLINE)
    data, size = run.heard()
    if size > run.LARGE:
        run.apart(lambda: _record(*_understood(cache, host, data, size)))
        if not asks or size > _MOST_ASKED:
            return None
    told, notes = _understood(cache, host, data, size)
    if told is not None:
        run.deadline(told.seconds)
        if size <= run.LARGE:
            _record(told, notes)
    return told


def _understood(cache: str, host: Host, data: bytes, size: int) -> tuple[Told | None, list[Note]]:
    said, notes = parse(data if size <= run.MOST_BYTES else _in_short(data, size))
    place = find(cache, host.folder(said), Disk())
    return (None if place is None else Told(said, place, host.events(said))), notes


def _record(told: Told | None, notes: list[Note]) -> None:
    if told is not None:
        record(told.place, told.events, notes, Disk())


def _in_short(data: bytes, size: int) -> bytes:
    """Something longer than is ever taken in: whose it is, how long, and how it begins."""
    head = data[:_HEAD].decode("utf-8", "replace")
    fields = {}
    for name in ("session_id", "cwd", "hook_event_name", "tool_name", "tool_use_id"):
        found = re.search(_FIELD % name, data[: 1 << 20].decode("utf-8", "replace"))
        if found:
            fields[name] = found[1]
    told = f"[{size} bytes, which is more than is kept; they begin so]\n{head}"
    fields |= {"tool_response": told, "prompt": told, "error": told, "last_assistant_message": told}
    return json.dumps(fields).encode()
