"""Starting a project's memory anew."""

from __future__ import annotations

import os
import shutil

from holdfast.capture.disk import Disk
from holdfast.capture.layout import LOCK
from holdfast.capture.lock import Lock
from holdfast.capture.stamp import timestamp
from holdfast.engines.files.beside import drop_moved, places
from holdfast.engines.files.trouble import translated
from holdfast.errors import Conflict, Denied, NotFound

from .open import chain_files, locate, project_folder


def reset(
    home: str | None = None,
    project: str | None = None,
    *,
    force: bool,
    purge: bool = False,
) -> str:
    """Set a project's data aside, or with `purge` remove it for good; where it is now."""
    found, chosen = locate(home, project)
    project_id, folder = found.id, project_folder(chosen, found.id)
    if not os.path.isdir(folder):
        raise NotFound(f"{project_id} has no data in {chosen.home}")
    if not force:
        raise Denied(f"this takes away all of {project_id}'s memory; say --force if you mean it")
    disk = Disk()
    stamp = timestamp().replace(":", "").replace(".", "")
    aside = os.path.join(chosen.home, "set-aside", f"{os.path.basename(folder)}-{stamp}")
    with translated("setting the project aside"):
        disk.make_folder(os.path.dirname(aside))
        lock = Lock(os.path.join(folder, LOCK), disk)
        try:
            lock.acquire(chosen.log.lock_timeout)  # nobody is in the middle of a write
            if not lock.still_the_one():
                raise Conflict(f"{project_id} was set aside by somebody else just now")
            disk.replace(folder, aside)
        finally:
            lock.done()
        disk.sync_folder(os.path.dirname(folder))
        for ending in (".anchors", ".chain.key"):  # they speak of the old log
            kept = chain_files(chosen, project_id) + ending
            if os.path.exists(kept):
                disk.replace(kept, f"{kept}.{stamp}")
        drop_moved(disk, aside)  # made from the log, and of nobody's use without it
        if purge:
            shutil.rmtree(aside)
    return "" if purge else aside


def left_behind(aside: str) -> list[str]:
    """The folders elsewhere whose copies and logs were removed, being of no use without the log."""
    with translated("reading where copies lay"):
        return places(Disk(), aside)
