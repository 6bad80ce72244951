"""A log open in a parent, used by it and by the children it forks."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.engines.files import FileLog
from holdfast.errors import Unavailable
from holdfast.model.settings import LogSettings

from .children import Say, spawn
from .logs import entry


def main(folder: str, what: str = "share") -> dict[str, object]:
    """See tests.faults.start."""
    return {"share": _share, "killed holder": _killed_holder}[what](folder)


def _share(folder: str) -> dict[str, object]:
    log = FileLog(folder)
    log.append([entry("before"), entry("before2")])
    log.append([entry("relaxed")], durable=False)

    def child(name: str, say: Say) -> None:
        signal.alarm(15)  # a lock that another thread held at the fork is held for ever
        for n in range(60):
            log.append([entry(f"{name}-{n}", 50 + n)], durable=n % 4 != 0)
            say(f"{name}-{n}")

    with _busy_flusher(log):
        children = [spawn(lambda say: child("a", say)), spawn(lambda say: child("b", say))]
    acked = ["before", "before2", "relaxed"]
    for n in range(60):
        log.append([entry(f"parent-{n}")])
        acked.append(f"parent-{n}")
    for one in children:
        acked += one.wait()
        assert one.status == 0, one
    log.close()
    return {"acked": acked}


@contextmanager
def _busy_flusher(log: FileLog) -> Iterator[None]:
    """Its thread is awake: it holds the lock it shares with whoever appends."""
    holds, done = threading.Event(), threading.Event()

    def hold() -> None:
        with log._flusher._changed:
            holds.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait()
    yield
    done.set()
    thread.join()


def _killed_holder(folder: str) -> dict[str, object]:
    """A process is killed while it holds the lock; the next one does not wait for it."""
    FileLog(folder).append([entry("before")])

    def hold(say: Say) -> None:
        with FileLog(folder).writer().hold():
            say("held")
            time.sleep(600)

    holder = spawn(hold)
    assert os.read(holder.fd, 5) == b"held\n"
    lock = os.open(os.path.join(folder, "lock"), os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        raise AssertionError("nobody holds the lock")
    except BlockingIOError:
        pass
    waiting = FileLog(folder, LogSettings(lock_timeout=0.05))
    try:
        waiting.append([entry("refused")])
        raise AssertionError("two hold the lock")
    except Unavailable:
        pass
    holder.kill()
    holder.wait()
    waiting.append([entry("after")])
    waiting.close()
    return {"acked": ["before", "after"]}
