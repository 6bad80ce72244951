"""How a hook runs: what it reads, how long it stays, how it goes."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from time import monotonic

#: before the settings are known
DEADLINE = 0.5
#: of standard input, so much is taken in
MOST_BYTES = 64 << 20
#: with more than this the work goes on in a process of its own, and the host does not wait for it
LARGE = 256 << 10
_LARGE_DEADLINE = 60.0
#: a host that never closes the pipe has said all it has to say by then
_LISTENS = 0.3
_began = monotonic()


def stands() -> None:
    """See that 0, 1 and 2 are taken, so that no file of ours is opened as one of them."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        continue
    os.close(fd)


def deadline(seconds: float) -> None:
    """Leave so many seconds after the start, whatever is being done then."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, max(left(seconds), 0.001))


def left(seconds: float) -> float:
    """How much of so many seconds since the start is left."""
    return max(0.0, seconds - (monotonic() - _began))


def heard() -> tuple[bytes, int]:
    """What stands on standard input, as far as it came and is kept, and how long all of it was."""
    parts: list[bytes] = []
    kept = size = 0
    while select.select([0], [], [], left(_LISTENS))[0]:
        part = os.read(0, 1 << 20)
        if not part:
            break
        size += len(part)
        if kept < MOST_BYTES:
            parts.append(part)
            kept += len(part)
    return b"".join(parts)[:MOST_BYTES], size


def apart(work: Callable[[], None]) -> None:
    """Do something in a process of its own, which no host waits for."""
    if os.fork():
        return
    try:
        os.setsid()
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, _LARGE_DEADLINE)
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nothing, fd)
        work()
    finally:
        os._exit(0)


def say(text: str) -> None:
    """Print all of it at once, or nothing: the deadline does not cut it in two."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(1, data) :]


def complain(exc: BaseException) -> None:
    """A word on standard error, for whoever looks there."""
    os.write(2, f"holdfast: {type(exc).__name__}: {exc}\n".encode("utf-8", "replace")[:500])
