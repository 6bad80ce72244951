"""Erasing while somebody reads: what was folded before is not written down after."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from holdfast.engines.files import FileLog, FileSnapshots, meta
from holdfast.engines.reference.views import MemoryViews
from holdfast.engines.sqlite import Index, SqliteViews
from holdfast.errors import HoldfastError
from holdfast.model.settings import LogSettings, ViewSettings
from holdfast.views.every import shape
from holdfast.views.runner import Runner
from tests.faults.disks import HookedDisk
from tests.faults.index_children import (
    INDEX_FILES,
    SECRET,
    SNAPSHOTS,
    fill,
    ongoing,
    opened,
    right,
    wrong,
)
from tests.faults.logs import entry, subject


class Interrupted(HookedDisk):
    """Before the nth call, something else happens."""

    def __init__(self, nth: int, happens: Callable[[], None]) -> None:
        super().__init__()
        self.left = nth
        self._happens = happens

    def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Count down to it."""
        self.left -= 1
        if self.left == 0:
            self._happens()
        return real(*args)


def _holds(path: str) -> bool:
    return os.path.isfile(path) and SECRET.encode() in Path(path).read_bytes()


@pytest.mark.parametrize("index", ["current", "stale", "none"])
def test_an_erase_at_any_moment_of_a_readers_work_leaves_nothing_behind(
    place: Path, index: str
) -> None:
    template, said = place / "template", []
    with opened(template) as hf:
        fill(hf, sessions=3, turns=1)
        hf.sessions()
        gone = ongoing(hf, "s1").decision(SECRET).event_id
        ongoing(hf, "s1").gate(3, passed=True)
        if index == "stale":
            hf.log.append([entry("later")])
    for name in (*INDEX_FILES, *SNAPSHOTS) if index == "none" else ():
        (template / "contexts-v2" / "p" / name).unlink(missing_ok=True)
    for nth in range(1, 400):
        home = place / "home"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(template, home)
        folder = str(home / "contexts-v2" / "p")
        eraser = FileLog(folder, LogSettings(lock_timeout=0.02))

        def happens(eraser: FileLog = eraser) -> None:
            with suppress(HoldfastError):  # the reader holds a lock just now: it is finished later
                eraser.erase([gone], subject=subject("x1", [gone]))

        disk = Interrupted(nth, happens)
        runner = Runner(
            FileLog(folder, disk=disk),
            SqliteViews(
                Index(folder, project_id="p", disk=disk),
                shape=shape(),
                generation=partial(meta.generation, disk, folder),
            ),
            FileSnapshots(folder, disk=disk),
            spare=MemoryViews,
            project_id="p",
            settings=ViewSettings(),
        )
        runner.state_hash()
        runner.export()
        if disk.left > 0:
            runner.close()
            break
        eraser.append([entry("afterwards")])
        kept = [name for name in os.listdir(folder) if _holds(os.path.join(folder, name))]
        if kept:
            said.append(f"call {nth}: what was erased is still in {', '.join(sorted(kept))}")
        if runner.state_hash() != right(folder).hash:
            said.append(f"call {nth}: the reader's rows are no fold of the log")
        runner.close()
        eraser.close()
        with opened(home) as hf:
            said += wrong(hf, f"call {nth}")
    assert disk.left > 0, "the reader never came to its end"
    assert nth > 10
    assert not said, f"{len(said)}\n" + "\n".join(said[:30])
