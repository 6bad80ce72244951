"""What a host's hook was told: read, understood, recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from holdfast.capture.disk import Disk
from holdfast.capture.parse import Note, parse
from holdfast.capture.place import Place, find
from holdfast.capture.redact import WINDOW, cut
from holdfast.capture.stamp import fresh_id

from . import run
from .caught import Caught, Json, record, text

#: beyond this nobody waits for an answer
_MOST_ASKED = 4 << 20
_HEAD = 4_096
_FIELD = r'"%s"\s*:\s*("(?:[^"\\]|\\.)++")'
_SHORT = (
    "session_id",
    "agent_id",
    "agent_type",
    "cwd",
    "hook_event_name",
    "tool_name",
    "tool_use_id",
)
#: where a tool is told of a file that may be on the deny-list
_ABOUT = ("command", "file_path", "notebook_path", "path")
#: no call of a hook is more events than this
_MOST_EVENTS = 4

Events = Callable[[Json], list[Caught]]


class Host:
    """How one host speaks: what its input means, and in which folder it works."""

    __slots__ = ("events", "folder")

    def __init__(self, events: Events, folder: Callable[[Json], str]) -> None:
        self.events = events
        self.folder = folder


class Told:
    """What was said, and where it belongs."""

    __slots__ = ("events", "place", "report", "said")

    def __init__(self, said: Json, place: Place, events: list[Caught]) -> None:
        self.said = said
        self.place = place
        self.events = events
        #: where a process of its own says that it has recorded all of it
        self.report = -1

    @property
    def seconds(self) -> float:
        """How long the hook may take in all."""
        given = self.place.known.get("deadline_ms")
        return given / 1000 if type(given) is int and given > 0 else run.DEADLINE

    def kept(self, event: Caught) -> bool:
        """Is it certain that all of an event can be had from the project's log?"""
        return event.kept or (self.report >= 0 and run.went_well(self.report, self.seconds))


def listen(cache: str, host: Host, *, asks: bool = False) -> Told | None:
    """Take in what is on standard input and record it; None when there is nothing more to do.

    What is long, or not all said in time, is heard out and worked on in a process of its own. Whoever
    `asks` goes on with what is long meanwhile, unless it is too long, and knows the events by the ids
    they are recorded under.
    """
    run.stands()
    run.deadline(run.DEADLINE)
    heard = run.heard(_MOST_ASKED if asks else run.LARGE)
    if heard.more and _is_whole(heard.data()):
        heard.more = False  # a host that never closes the pipe
    ids, report = [fresh_id("evt") for _ in range(_MOST_EVENTS)], -1

    def understood() -> tuple[Told | None, list[Note]]:
        found, notes = _understood(cache, host, heard)
        for event, event_id in zip(found.events if found else (), ids, strict=False):
            event.event_id = event_id
        return found, notes

    def heard_out() -> bool:
        run.rest(heard)
        return _record(*understood())

    if heard.size > run.LARGE or heard.more:
        report = run.apart(heard_out)
        if not asks or heard.more:
            return None
    told, notes = understood()
    if told is not None:
        run.deadline(told.seconds)
        told.report = report if report >= 0 else _record_in_time(told, notes)
    return told


def _is_whole(data: bytes) -> bool:
    """Is this JSON already, though more might come?"""
    if not data.rstrip().endswith(b"}"):
        return False
    return all(note.get("why") != "not_json" for note in parse(data)[1])


def _understood(cache: str, host: Host, heard: run.Heard) -> tuple[Told | None, list[Note]]:
    short = heard.size > run.MOST_BYTES
    said, notes = parse(_in_short(heard.data(), heard.size) if short else heard.data())
    place = find(cache, host.folder(said), Disk())
    return (None if place is None else Told(said, place, host.events(said))), notes


def _record_in_time(told: Told, notes: list[Note]) -> int:
    """A short input may tell of a long output, kept in a file by the host; where it is reported then."""
    try:
        if any(len(text(event.payload.get("text"))) > run.LARGE for event in told.events):
            return run.apart(lambda: _record(told, notes))
        _record(told, notes)
    except OSError as exc:
        run.complain(exc)  # what cannot be written is lost; what can be said is not
    return -1


def _record(told: Told | None, notes: list[Note]) -> bool:
    """Whether all of it can be had from the log afterwards."""
    if told is None:
        return False
    record(told.place, told.events, notes, Disk())
    return all(event.kept for event in told.events)


def _in_short(data: bytes, size: int) -> bytes:
    """Something longer than is ever taken in: whose it is, how long, and how it begins."""
    head = cut(data[: _HEAD + 4 * WINDOW].decode("utf-8", "replace"), _HEAD)
    start = data[: 1 << 20].decode("utf-8", "replace")
    fields: Json = _fields(start, _SHORT)
    fields["tool_input"] = _fields(start, _ABOUT)
    told = f"[{size} bytes, which is more than is kept; they begin so]\n{head}"
    fields |= {"tool_response": told, "prompt": told, "error": told, "last_assistant_message": told}
    return json.dumps(fields).encode()


def _fields(start: str, names: tuple[str, ...]) -> Json:
    found: Json = {}
    for name in names:
        seen = re.search(_FIELD % name, start)
        if seen:
            found[name] = _string(seen[1])
    return found


def _string(quoted: str) -> str:
    try:
        return str(json.loads(quoted, strict=False))
    except ValueError:
        return quoted
