"""Weights are loaded by whoever needs them first, once, while others wait."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Once(Generic[Made]):
    """What `make` returns, made at the first call; when it raises, the next call tries again.

    A process forked meanwhile has a lock of its own, so it never waits for a thread it does not
    have; with `inherits=False` (threads inside, say) it also makes the value anew.
    """

    def __init__(self, make: Callable[[], Made], *, inherits: bool = True) -> None:
        self._make = make
        self._inherits = inherits
        self._start(None)

    def _start(self, made: Made | None) -> None:
        self._lock = threading.Lock()
        self._made = made
        self._process = os.getpid()

    def __call__(self) -> Made:
        if self._process != os.getpid():
            self._start(self._made if self._inherits else None)
        made = self._made
        if made is not None:
            return made
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made
