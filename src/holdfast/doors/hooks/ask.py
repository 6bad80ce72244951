"""Asking the project's resident process, and what is done when it does not answer.

One line of JSON there, one line back, one word of thanks: without that the resident knows that its
answer came too late, and lays it ready for the next hook of the same session. Nobody there: one is
started, and what lies ready is said instead.
"""

from __future__ import annotations

import json
import os
from time import time

from holdfast.capture import prepared
from holdfast.capture.disk import Disk
from holdfast.capture.layout import RESIDENT_SOCKET, RESIDENT_STARTED
from holdfast.capture.place import Place

from . import run
from .caught import Json

#: what is kept of the deadline for saying what lies ready
_RESERVE = 0.06
#: nobody starts another one so soon after the last
_AGAIN = 10.0
_MOST_BYTES = 1 << 20


def answer(place: Place, wanted: Json, seconds: float) -> Json | None:
    """What the resident answers within the deadline; None when it does not."""
    from socket import AF_UNIX, SOCK_STREAM, socket

    os.chdir(place.folder)  # a socket's whole path may be longer than the system takes
    line = socket(AF_UNIX, SOCK_STREAM)
    try:
        line.settimeout(max(run.left(seconds) - _RESERVE, 0.001))
        line.connect(RESIDENT_SOCKET)
        line.sendall(json.dumps(wanted).encode() + b"\n")
        said = b""
        while not said.endswith(b"\n"):
            line.settimeout(max(run.left(seconds) - _RESERVE, 0.001))
            part = line.recv(1 << 16)
            said += part
            if not part or len(said) > _MOST_BYTES:
                return None
        line.sendall(b"thanks\n")
        found = json.loads(said)
    finally:
        line.close()
    return found if isinstance(found, dict) else None


def words(place: Place, wanted: Json, seconds: float) -> str:
    """What is to be said at this moment: the resident's answer, else what lies ready, else nothing."""
    try:
        found = answer(place, wanted, seconds) if place.claimed else None
    except TimeoutError:
        found = None  # it is at work on something else, or hangs
    except (OSError, ValueError, RecursionError):
        found = None
        start(place)
    if found is not None:
        told = found.get("text")
        return told if isinstance(told, str) else ""
    if not place.claimed:
        start(place)
    return ready(place, wanted)


def ready(place: Place, wanted: Json) -> str:
    """What came too late the last time; at a session's start the page that lies ready."""
    user, agent, session = (str(wanted.get(name)) for name in ("user", "agent", "session"))
    late = prepared.take(place.folder, (user, agent, session), Disk())
    if late or wanted.get("at") != "start":
        return late
    return prepared.prepared(place.folder, (user, agent), Disk())


def start(place: Place) -> None:
    """Start a resident for the project, unless somebody just did."""
    stamp = os.path.join(place.folder, RESIDENT_STARTED)
    try:
        if abs(time() - os.stat(stamp).st_mtime) < _AGAIN:
            return
    except FileNotFoundError:
        if not os.path.isdir(place.folder):
            return
    os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT, 0o600))
    os.utime(stamp)
    python = place.known.get("python")
    if not isinstance(python, str) or not os.path.isfile(python):
        return
    nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    words = [python, "-I", "-m", "holdfast.doors.resident", place.home, place.root]
    os.posix_spawn(python, words, os.environ, file_actions=nothing, setsid=True)
