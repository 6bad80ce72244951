"""A write that stops after K bytes because the process is gone: the shim in torn.c, preloaded."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from typing import Any

from holdfast.capture.disk import Disk
from holdfast.engines.files import FileLog

from .children import Say, spawn
from .logs import Findings, look
from .operations import OPERATIONS, Operation


def main(shim: str, name: str, cuts: list[int] | None = None, **_: Any) -> dict[str, object]:
    """See tests.faults.start; every cut of every write when none are given."""
    operation = OPERATIONS[name]
    total, torn = Findings(), 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as at:
        template = os.path.join(at, "template")
        operation.prepare(template, Disk())
        for nth in range(1, 50):
            for keep in cuts or range(0, 400, 7):
                found = _tear(shim, operation, template, at, nth, keep)
                if found is None:
                    return {**total.as_dict(), "torn": torn}
                torn += 1
                total.add(found)
    return {**total.as_dict(), "torn": torn}


def _tear(
    shim: str, operation: Operation, template: str, at: str, nth: int, keep: int
) -> Findings | None:
    folder = os.path.join(at, "log")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)

    def work(say: Say) -> None:
        log = FileLog(folder, operation.settings)
        ctypes.CDLL(shim).torn_arm(ctypes.c_long(nth), ctypes.c_size_t(keep))
        operation.run(log, say)

    child = spawn(work)
    acked = {*operation.acked, *child.wait()}
    if child.status == 0:
        return None
    found = look(
        folder, acked, operation.offered, erased=operation.erased, dropped=operation.dropped
    )
    for trouble in (found.lost, found.duplicated, found.spliced, found.wrong):
        trouble[:] = [f"{operation.name}, write {nth} after {keep} bytes: {t}" for t in trouble]
    if child.status != -9:
        found.wrong.append(f"ended with {child.status}")
    return found
