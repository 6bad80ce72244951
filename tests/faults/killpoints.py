"""kill -9 at every system call of an operation; each is a process of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter

from holdfast.capture.disk import Disk
from holdfast.engines.files import FileLog

from .children import Say
from .logs import Findings, look
from .operations import OPERATIONS, Operation, check_after
from .tracing import Mark, Traced, Work, count_calls

#: a death before one of these leaves the disk as a death before the next of the others
READS = {"close", "fstat", "getdents64", "lseek", "newfstatat", "pread64"}


def main(name: str, reads: bool) -> dict[str, object]:
    """See tests.faults.start."""
    with tempfile.TemporaryDirectory(dir=_memory()) as place:
        found, points = kill_everywhere(OPERATIONS[name], place, reads=reads)
    return {**found.as_dict(), "points": points}


def _memory() -> str | None:
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


def kill_everywhere(
    operation: Operation, place: str, *, reads: bool
) -> tuple[Findings, dict[str, int]]:
    """The findings over all points, and how many there were of each call."""
    template = os.path.join(place, "template")
    operation.prepare(template, Disk())
    total = Findings()
    _import_everything(operation, _fresh(template, place))
    counted = count_calls(_work(operation, _fresh(template, place)), os.path.join(place, "trace"))
    if not reads:
        counted = Counter({call: n for call, n in counted.items() if call not in READS})
    for call, times in sorted(counted.items()):
        for nth in range(1, times + 1):
            # a tracer may attach a call too late, and a reader let go later makes one call less
            for _ in range(3 if nth < times else 1):
                killed, found = _kill(operation, _fresh(template, place), call, nth)
                if killed:
                    break
            if not killed and nth < times:
                found.wrong.append("was not killed")
            where = f"{operation.name}, {call} {nth} of {times}"
            for trouble in (found.lost, found.duplicated, found.spliced, found.wrong):
                trouble[:] = [f"{where}: {said}" for said in trouble]
            total.add(found)
    return total, dict(counted)


def _import_everything(operation: Operation, folder: str) -> None:
    """Once here, so that no child's first time counts among the calls of the operation."""
    log = FileLog(folder, operation.settings)
    operation.run(log, lambda _: None)
    log.close()


def _fresh(template: str, place: str) -> str:
    folder = os.path.join(place, "log")
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.exists(template):
        shutil.copytree(template, folder)
    return folder


def _names(operation: Operation) -> list[str]:
    return sorted(operation.offered)


def _work(operation: Operation, folder: str) -> Work:
    names = _names(operation)
    log = FileLog(folder, operation.settings)

    def run(mark: Mark, _: Say) -> None:
        operation.run(log, lambda name: mark(names.index(name)) if name in names else None)

    return run


def _kill(operation: Operation, folder: str, call: str, nth: int) -> tuple[bool, Findings]:
    inject = f"inject={call}:signal=KILL:when={nth}"
    traced = Traced(_work(operation, folder), "-e", f"trace={call}", "-e", inject)
    names = _names(operation)
    acked = {*operation.acked, *(names[number] for number in traced.wait())}
    if traced.child.status not in (-9, 0):
        return True, Findings(wrong=[f"ended with {traced.child.status}"])
    found = look(
        folder, acked, operation.offered, erased=operation.erased, dropped=operation.dropped
    )
    if operation.erased:
        log = FileLog(folder)
        operation.run(log, acked.add)
        log.close()
        check_after(operation, folder, acked)
    return traced.child.status == -9, found
