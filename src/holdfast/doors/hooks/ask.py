"""Asking what is worth saying, and what is said when nobody answers in time.

The resident keeps an answer that came too late for the next hook of the same session. Nobody there: one
is started, and what lies ready is said instead.
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


def words(place: Place, wanted: Json, seconds: float) -> str:
    """What is to be said at this moment: the resident's answer, else what lies ready, else nothing."""
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
        return ready(place, wanted)  # it is at work on something else, or hangs
    except (OSError, ValueError, RecursionError):
        _start(place)
    return ready(place, wanted)


def ready(place: Place, wanted: Json) -> str:
    """What came too late the last time; at a session's start the page that lies ready."""
    user, agent, session = (str(wanted.get(name)) for name in ("user", "agent", "session"))
    late = prepared.take(place.folder, (user, agent, session), Disk())
    if late or wanted.get("at") != "start":
        return late
    return prepared.prepared(place.folder, (user, agent), Disk())


def _start(place: Place) -> None:
    try:
        resident.start(place.known.get("python"), place.home, place.root, place.folder)
    except OSError as exc:
        run.complain(exc)  # where none can be started, what lies ready is said all the same
