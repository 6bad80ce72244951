"""The processes and files that hooks leave behind: which are alive, which are left over."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from holdfast.capture import resident
from holdfast.capture.disk import Disk
from holdfast.capture.layout import RESIDENT_LOCK, RESIDENT_SOCKET, RESIDENT_STARTED, SPOOL
from holdfast.capture.lock import Busy, Lock
from holdfast.capture.place import CONTEXTS, UNCLAIMED, waits_for

_PATIENCE = 1.0
_POLL = 0.05
#: so long one may take until it listens
_STARTS = 60.0


class Resident(msgspec.Struct, frozen=True, kw_only=True):
    """The process behind one project's hooks, or what one left."""

    folder: str
    #: somebody holds its lock
    alive: bool
    #: its socket is there
    listens: bool
    #: what it says of itself; nothing when it does not answer
    said: dict[str, object] = {}
    #: it took its lock a moment ago, and has no socket yet
    starting: bool = False

    @property
    def left_over(self) -> bool:
        """A socket nobody listens at."""
        return self.listens and not self.alive


def in_seconds(seconds: float) -> Callable[[], float]:
    """How much is left of a time that begins now."""
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()


def look(folder: str) -> Resident:
    """How it stands with the resident of a project."""
    listens = os.path.lexists(os.path.join(folder, RESIDENT_SOCKET))
    alive = held(_lock_of(folder))
    said: dict[str, object] = {}
    if alive and listens:
        with suppress(OSError, ValueError):
            said = resident.ask(folder, {"do": "status"}, in_seconds(_PATIENCE))
    starting = alive and not listens and _age(_lock_of(folder)) < _STARTS
    return Resident(folder=folder, alive=alive, listens=listens, said=said, starting=starting)


def _age(path: str) -> float:
    """How many seconds ago a file was written."""
    try:
        return abs(time.time() - os.stat(path).st_mtime)
    except FileNotFoundError:
        return 0.0


def held(path: str) -> bool:
    """Does a living process hold this lock? It cannot be a dead one's."""
    if not os.path.exists(path):
        return False
    lock = Lock(path, Disk())
    try:
        lock.acquire(0)
    except Busy:
        return True
    finally:
        lock.done()
    return False


def stop(folder: str) -> bool:
    """Ask it to end; one that does not answer is ended. False when it is still there."""
    try:
        resident.ask(folder, {"do": "stop"}, in_seconds(_PATIENCE))
    except (OSError, ValueError):
        _end(folder, signal.SIGTERM)
    if _is_gone(folder):
        return True
    _end(folder, signal.SIGKILL)
    return _is_gone(folder)


def _is_gone(folder: str) -> bool:
    """Does nobody hold the lock any more, now or in a moment?"""
    left = in_seconds(2 * _PATIENCE)
    while held(_lock_of(folder)):
        if left() <= 0:
            return False
        time.sleep(_POLL)
    return True


def process(folder: str) -> int:
    """The process that holds the lock, as it wrote down; 0 when it is none of ours."""
    try:
        number = int((Disk().get_file(_lock_of(folder)) or b"").split()[0])
        told = Path(f"/proc/{number}/cmdline").read_bytes()
    except (OSError, ValueError, IndexError):
        return 0
    return number if b"holdfast.doors.resident" in told else 0


def _end(folder: str, number: int) -> None:
    pid = process(folder)
    if pid and held(_lock_of(folder)):
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def tidy(folder: str) -> list[str]:
    """Remove what a dead resident left; what was removed."""
    gone = []
    if not held(_lock_of(folder)):
        for name in (RESIDENT_SOCKET, RESIDENT_STARTED):
            path = os.path.join(folder, name)
            if os.path.lexists(path):
                os.unlink(path)
                gone.append(path)
    return gone


def everywhere(home: str) -> list[Resident]:
    """Every project of a home with a resident, or with what one left."""
    place = os.path.join(home, CONTEXTS)
    names = sorted(os.listdir(place)) if os.path.isdir(place) else []
    folders = [os.path.join(place, name) for name in names if not name.startswith("~")]
    found = [look(folder) for folder in folders]
    return [one for one in found if one.alive or one.listens]


def _lock_of(folder: str) -> str:
    return os.path.join(folder, RESIDENT_LOCK)


def waiting(home: str) -> Iterator[tuple[str, int]]:
    """Each root nobody has opened here yet, and how many of its events wait."""
    place = os.path.join(home, UNCLAIMED)
    for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
        folder = os.path.join(place, name)
        events = os.path.join(folder, SPOOL)
        count = len(os.listdir(events)) if os.path.isdir(events) else 0
        root = waits_for(folder, Disk())
        if count and root:
            yield root, count
