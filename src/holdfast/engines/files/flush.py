"""The promise of mode `batched`: whatever was written is synced within the window.

One thread, started by the first relaxed append, asleep while there is nothing to sync.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from typing import Protocol
from weakref import WeakSet

from holdfast.errors import HoldfastError


class _Syncs(Protocol):
    def sync_quietly(self) -> None: ...


_open: WeakSet[_Syncs] = WeakSet()


def sync_at_exit(log: _Syncs) -> None:
    """An exit without close keeps the promise too; a log that is gone needs nothing."""
    if not _open:
        atexit.unregister(_sync_all)
        atexit.register(_sync_all)
    _open.add(log)


def _sync_all() -> None:
    for log in list(_open):
        log.sync_quietly()


class Flusher:
    """Calls `sync` at most `window` seconds after the first `soon`."""

    def __init__(self, sync: Callable[[], None], window: float) -> None:
        self._sync = sync
        self._window = window
        self._changed = threading.Condition()
        self._due: float | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        #: the last sync failed: until one succeeds, nothing may be promised for later
        self.trouble = False

    def soon(self) -> bool:
        """Something was written that is not synced. False when nobody can be set to sync it."""
        with self._changed:
            if self._closed:
                return False
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._run, name="holdfast-flush", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the process may have no more threads
                    return False
                self._thread = thread
            if self._due is None:
                self._due = time.monotonic() + self._window
                self._changed.notify()
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._due is None and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                left = (self._due or 0) - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                    continue
                self._due = None
            try:
                self._sync()
                self.trouble = False
            except HoldfastError:
                self.trouble = True
                self.soon()

    def close(self) -> None:
        """Stop; whoever closes the log syncs what is left."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()
