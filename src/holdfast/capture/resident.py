"""Speaking with a project's resident process, and starting one.

One line of JSON there, one line back, one word of thanks: without that the resident knows that its
answer came too late.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from time import time

from .layout import RESIDENT_SOCKET, RESIDENT_STARTED

#: a longer path is more than the system takes for a socket
_LONGEST = 100
#: nobody starts another one so soon after the last
AGAIN = 10.0
_MOST_BYTES = 64 << 20

Json = dict[str, object]


def ask(folder: str, wanted: Json, left: Callable[[], float], most: int = _MOST_BYTES) -> Json:
    """What the resident of a project answers while time is left; OSError or ValueError when nothing."""
    from socket import AF_UNIX, SOCK_STREAM, socket

    path, held = os.path.join(folder, RESIDENT_SOCKET), -1
    line = socket(AF_UNIX, SOCK_STREAM)
    try:
        if len(os.fsencode(path)) > _LONGEST:
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            path = f"/proc/self/fd/{held}/{RESIDENT_SOCKET}"
        line.settimeout(max(left(), 0.001))
        line.connect(path)
        line.sendall(_bytes(wanted))
        parts, size = [b""], 0
        while not parts[-1].endswith(b"\n"):
            line.settimeout(max(left(), 0.001))
            parts.append(line.recv(1 << 18))
            size += len(parts[-1])
            if not parts[-1] or size > most:
                raise ConnectionError("the line was closed before the answer was whole")
        line.sendall(b"thanks\n")
    finally:
        line.close()
        if held >= 0:
            os.close(held)
    said = json.loads(b"".join(parts))
    if not isinstance(said, dict):
        raise ValueError("a resident answers with an object")
    return said


def _bytes(wanted: Json) -> bytes:
    """A question as it is sent: no longer than it must be, whatever its letters."""
    try:
        return json.dumps(wanted, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half of a pair of surrogates, which only an escape can say
        return json.dumps(wanted).encode() + b"\n"


def start(
    python: object, home: str, root: str, folder: str, *, project: str = "", again: float = AGAIN
) -> int:
    """Start a resident for the project, unless somebody just did; its process, or 0 for none.

    A project that is known by its id alone has no root. Whoever lives on waits for the process when it
    ends, or the system keeps its name.
    """
    stamp = os.path.join(folder, RESIDENT_STARTED)
    try:
        if abs(time() - os.stat(stamp).st_mtime) < again:
            return 0
    except FileNotFoundError:
        if not os.path.isdir(folder):
            return 0
    if not isinstance(python, str) or not os.path.isfile(python):
        return 0
    os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT, 0o600))
    os.utime(stamp)
    nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    words = [python, "-I", "-m", "holdfast.doors.resident", home, root]
    words += [project] if project else []
    return os.posix_spawn(python, words, os.environ, file_actions=nothing, setsid=True)
