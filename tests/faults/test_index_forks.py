"""Forks while the index is at work: nobody keeps a lock that is not theirs, nobody hangs."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.capture.disk import Disk
from holdfast.capture.layout import INDEX_LOCK
from holdfast.capture.lock import Lock
from tests.contract.entries import erasure

pytestmark = pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)


def fork_that_waits() -> int:
    """A child that does nothing and holds whatever it inherited."""
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    return child


def end(children: list[int]) -> None:
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def run_beside(work: Callable[[], object], until: threading.Event) -> threading.Thread:
    def loop() -> None:
        while not until.is_set():
            work()

    thread = threading.Thread(target=loop)
    thread.start()
    return thread


def test_a_child_keeps_no_lock_of_what_its_parent_was_writing(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana") as hf:
        s = hf.session(agent="coder").start()
        over = threading.Event()
        gates = run_beside(lambda: s.gate(1, passed=True), over)
        children = [fork_that_waits() for _ in range(40)]
        over.set()
        gates.join()
        try:
            lock = Lock(os.path.join(hf.folder, INDEX_LOCK), Disk())
            lock.acquire(0)
            lock.done()
            event = s.user("erase this")
            hf.log.erase([event.event_id], subject=erasure([event.event_id]))
            s.user("recording goes on")
            assert hf.rebuild() == hf.state_hash()
        finally:
            end(children)


def test_several_threads_may_fork_at_once(tmp_path: Path) -> None:
    projects = [holdfast.open(tmp_path, project=f"p{n}", user="ana") for n in range(4)]
    sessions = [hf.session(agent="coder").start() for hf in projects]
    over = threading.Event()
    readers = [run_beside(s.state, over) for s in sessions]
    status: list[int] = []

    def fork_some() -> None:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                os._exit(0)
            status.append(os.waitpid(child, 0)[1])

    forkers = [threading.Thread(target=fork_some) for _ in range(4)]
    for thread in forkers:
        thread.start()
    for thread in forkers:
        thread.join()
    over.set()
    for thread in readers:
        thread.join()
    assert status == [0] * 40
    for hf, s in zip(projects, sessions, strict=True):
        s.user("still here")
        assert hf.rebuild() == hf.state_hash()
        hf.close()


def test_a_child_reads_and_records_like_its_parent(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana") as hf:
        s = hf.session(agent="coder").start()
        s.gate(1, passed=True)
        child = os.fork()
        if child == 0:
            s.decision("in the child")
            os._exit(0 if len(s.state().decisions) == 1 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert [d.text for d in s.state().decisions] == ["in the child"]
        assert hf.rebuild() == hf.state_hash()
