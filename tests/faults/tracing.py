"""strace on a child that waits until it is attached, so that only what it does then is counted."""

from __future__ import annotations

import mmap
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from .children import Child, Say, spawn

Mark = Callable[[int], None]
Work = Callable[[Mark, Say], None]

#: between these nothing on a disk changes: memory, signals, time, and the wait for the start itself
SILENT = {
    "brk", "clock_gettime", "clock_nanosleep", "exit_group", "futex", "getpid", "getrandom",
    "gettid", "getuid", "getegid", "geteuid", "getgid", "madvise", "mmap", "mprotect", "mremap",
    "munmap", "prctl", "read", "restart_syscall", "rt_sigaction", "rt_sigprocmask",
    "sched_getaffinity", "set_robust_list", "rseq",
}  # fmt: skip


class Traced:
    """A child that runs `work` under strace once it is attached.

    What it marks costs no system call, so it does not show among those that are counted.
    """

    def __init__(self, work: Work, *options: str) -> None:
        self._marks = mmap.mmap(-1, 256)
        waiting, go = os.pipe()

        def run(say: Say) -> None:
            os.read(waiting, 1)
            work(self._mark, say)

        self.child: Child = spawn(run)
        tracing = ["strace", "-p", str(self.child.pid), "-qq", *options]
        self._strace = subprocess.Popen(tracing, stderr=subprocess.DEVNULL)
        _until_traced(self.child.pid)
        os.write(go, b"!")
        os.close(go)
        os.close(waiting)

    def _mark(self, number: int) -> None:
        self._marks[number] = 1

    def wait(self) -> list[int]:
        """What it marked before it ended."""
        self.child.wait()
        self._strace.wait()
        marked = [number for number in range(256) if self._marks[number]]
        self._marks.close()
        return marked


def _until_traced(pid: int) -> None:
    status = Path(f"/proc/{pid}/status")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if "TracerPid:\t0\n" not in status.read_text():
            return
        time.sleep(0.001)
    raise RuntimeError("strace did not attach")


def count_calls(work: Work, where: str) -> Counter[str]:
    """How often each system call is made that may matter to a disk."""
    traced = Traced(work, "-o", where)
    traced.wait()
    assert traced.child.status == 0, f"the run to be counted failed: {traced.child.status}"
    names = re.findall(r"^(?:\d+ +)?(\w+)\(", Path(where).read_text(), re.MULTILINE)
    return Counter(name for name in names if name not in SILENT)
