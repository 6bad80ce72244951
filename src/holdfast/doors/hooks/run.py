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
#: so long the host is kept; what it has not said by then is heard out apart
_LISTENS = 0.3
#: apart: a host that says nothing for so long is done, and nobody is listened to for longer than that
_HEARS_OUT, _HEARS_AT_MOST = 5.0, 30.0
#: a host that does not read what is said is left after this
_SAYS = 1.0
#: what a pipe takes without a reader
_PIPE = 60_000
#: what is kept of the deadline for saying something
_RESERVE = 0.06
#: of a slow start so much is taken off the time for an answer, so that some is left
_MOST_STARTUP = 0.2
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


def startup() -> float:
    """How long the process took until this was loaded: the host waits since then."""
    try:
        from time import CLOCK_BOOTTIME, clock_gettime

        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        age = clock_gettime(CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (ImportError, OSError, ValueError, IndexError):
        return 0.0  # this system does not say
    return min(max(0.0, age - (monotonic() - _began)), _MOST_STARTUP)


class Heard:
    """Standard input, as far as it came; kept up to a limit, counted beyond it."""

    __slots__ = ("_parts", "more", "size")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.size = 0
        #: may more come?
        self.more = True

    def listen(self, most: int, patience: Callable[[], float]) -> None:
        """Read on until it ends, more than `most` came, or nothing came for too long."""
        while self.size <= most and select.select([0], [], [], patience())[0]:
            part = _read()
            if not part:
                self.more = False
                return
            if self.size < MOST_BYTES:
                self._parts.append(part)
            self.size += len(part)

    def data(self) -> bytes:
        """What is kept of it."""
        return b"".join(self._parts)[:MOST_BYTES]


def _read() -> bytes:
    """A piece of standard input; nothing from a terminal that belongs to somebody else by now."""
    try:
        return os.read(0, 1 << 20)
    except OSError:
        return b""


def heard(most: int) -> Heard:
    """What the host says at once."""
    said = Heard()
    said.listen(most, lambda: left(_LISTENS))
    return said


def rest(said: Heard) -> None:
    """In a process of its own there is time to hear a host out."""
    if said.more:
        said.listen(1 << 62, lambda: min(_HEARS_OUT, left(_HEARS_AT_MOST)))
    os.dup2(1, 0)


def apart(work: Callable[[], bool]) -> int:
    """Do something in a process of its own, which no host waits for; where it says that it went well."""
    report, done = os.pipe()
    if os.fork():
        os.close(done)
        return report
    try:
        os.close(report)
        os.setsid()
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, _LARGE_DEADLINE)
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in (1, 2):
            os.dup2(nothing, fd)
        if work():
            os.write(done, b"y")
    finally:
        os._exit(0)


def went_well(report: int, seconds: float) -> bool:
    """Did what is done apart go well, and that in time to say so?"""
    ready = select.select([report], [], [], max(0.0, left(seconds) - _RESERVE - startup()))[0]
    return bool(ready) and os.read(report, 1) == b"y"


def say(text: str) -> None:
    """Print all of it at once, or nothing: the deadline does not cut it in two."""
    data = text.encode("utf-8", "replace")
    if len(data) > _PIPE:
        _widen(len(data))
    signal.setitimer(signal.ITIMER_REAL, _SAYS)
    while data:
        data = data[os.write(1, data) :]


def _widen(size: int) -> None:
    """Make room in the pipe, so that a host that reads only once we are gone gets all of it."""
    import fcntl

    try:
        fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, size)
    except (AttributeError, OSError):
        return  # no pipe, or a system that does not know how


def complain(exc: BaseException) -> None:
    """A word on standard error, for whoever looks there."""
    os.write(2, f"holdfast: {type(exc).__name__}: {exc}\n".encode("utf-8", "replace")[:500])
