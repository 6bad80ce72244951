"""Forked children that write and say over a pipe what was acknowledged to them."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

_libc = ctypes.CDLL(None)
Say = Callable[[str], None]


@dataclass
class Child:
    """A process at work, and what it has said so far."""

    pid: int
    fd: int
    said: list[str] = field(default_factory=list)
    status: int | None = None

    def kill(self) -> None:
        """No goodbye."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> list[str]:
        """Everything it said before it ended; a word cut short was not said."""
        parts = []
        while part := os.read(self.fd, 1 << 16):
            parts.append(part)
        os.close(self.fd)
        _, status = os.waitpid(self.pid, 0)
        self.status = os.waitstatus_to_exitcode(status)
        self.said = b"".join(parts).decode().split("\n")[:-1]
        return self.said


def spawn(work: Callable[[Say], None]) -> Child:
    """Fork; the child does the work and leaves without any clean-up."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid, reading)
    code = 0
    try:
        _libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: nobody outlives the run
        os.close(reading)
        work(lambda word: _say(writing, word))
    except BaseException:  # noqa: BLE001  (the parent hears of it through the status)
        traceback.print_exc()
        sys.stderr.flush()
        code = 1
    os._exit(code)


def _say(fd: int, word: str) -> None:
    os.write(fd, word.encode() + b"\n")


def sizes(rng: random.Random) -> int:
    """Mostly small, now and then 20 kB."""
    return rng.choice((10, 40, 200, 1000, 5000, 20_000))
