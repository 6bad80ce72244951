"""One thread at a time, also after a fork."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .trouble import translated


class Alone:
    """Something in memory that was read from files and can be read again."""

    def __init__(self) -> None:
        self._pid, self._lock = os.getpid(), threading.RLock()
        self._forget()

    def _forget(self) -> None:
        """Begin with nothing in memory."""

    @contextmanager
    def _alone(self, doing: str) -> Iterator[None]:
        """Nobody else is at work. A forked process starts with nothing: a thread of its parent may
        hold the lock for ever, in the middle of a change."""
        if self._pid != os.getpid():
            self._pid, self._lock = os.getpid(), threading.RLock()
            self._forget()
        with self._lock, translated(doing):
            yield
