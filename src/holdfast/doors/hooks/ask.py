"""Asking what is worth saying, and what is said when nobody answers in time.

What came too late the last time is said first, whatever becomes of this question. Nobody there: one is
started, and at a session's start the page that lies ready is said.
"""

from __future__ import annotations

from holdfast.capture import prepared, resident
from holdfast.capture.disk import Disk
from holdfast.capture.place import Place

from . import run
from .caught import Json

#: what is kept of the deadline for saying what lies ready
_RESERVE = 0.06
#: a longer answer takes longer to read than there is time
_MOST_BYTES = 1 << 20
_BETWEEN = "\n\n"
#: in fewer characters nothing is worth asking for
_LEAST = 200


def words(place: Place, wanted: Json, seconds: float, room: int = _MOST_BYTES) -> str:
    """What is to be said at this moment, in so many characters: what came too late, then the answer."""
    late = too_late(place, wanted)
    left = room - len(late.encode("utf-16-le", "surrogatepass")) // 2 - len(_BETWEEN)
    if left < _LEAST:
        return late
    return _BETWEEN.join(filter(None, (late, _asked(place, {**wanted, "room": left}, seconds))))


def too_late(place: Place, wanted: Json) -> str:
    """What came too late for the hook before."""
    return prepared.take(place.folder, _whose(wanted), Disk())


def _asked(place: Place, wanted: Json, seconds: float) -> str:
    try:
        if place.claimed:
            kept = _RESERVE + run.startup()
            found = resident.ask(
                place.folder, wanted, lambda: run.left(seconds) - kept, _MOST_BYTES
            )
            told = found.get("text")
            return told if isinstance(told, str) else ""
        _start(place)
    except TimeoutError:
        return _page(place, wanted)  # it is at work on something else, or hangs
    except (OSError, ValueError, RecursionError):
        _start(place)
    return _page(place, wanted)


def _page(place: Place, wanted: Json) -> str:
    """At a session's start the page that lies ready: its own where it goes on, else the latest."""
    if wanted.get("at") != "start":
        return ""
    whose = _whose(wanted)
    goes_on = wanted.get("source") in ("resume", "compact")
    return prepared.prepared(place.folder, (*whose, "page") if goes_on else whose[:2], Disk())


def _whose(wanted: Json) -> tuple[str, ...]:
    return tuple(str(wanted.get(name)) for name in ("user", "agent", "session"))


def _start(place: Place) -> None:
    try:
        resident.start(place.known.get("python"), place.home, place.root, place.folder)
    except OSError as exc:
        run.complain(exc)  # where none can be started, what lies ready is said all the same
