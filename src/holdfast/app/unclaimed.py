"""Events that hooks caught in a repository nobody has opened here, and what becomes of them.

Opening the repository takes them in. When it is gone, or is no repository any more, somebody has to say
which project they belong to, or that nobody wants them.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from holdfast import settings
from holdfast.capture import place
from holdfast.capture.disk import Disk
from holdfast.engines.files.trouble import translated
from holdfast.errors import Conflict, HoldfastError, NotFound

from . import project as projects
from . import residents
from .open import locate, project_folder
from .open import open as open_project


def remedy(root: str) -> str:
    """What to do about the events that wait for a root."""
    if not _is_there(root):
        take, drop = (f"holdfast doctor --{what} {root}" for what in ("take", "drop"))
        return f"{take} in the project it is now, or {drop}"
    if _opens(root):
        return f"open it once: holdfast status in {root}"
    return f"holdfast init in {root}"


def _is_there(root: str) -> bool:
    """Would hooks still find this root?"""
    return any(os.path.exists(os.path.join(root, name)) for name in (place.MARKER, ".git"))


def _opens(root: str) -> bool:
    try:
        return projects.find(Path(root)).root == root
    except HoldfastError:
        return False


def take(
    root: str, home: str | None = None, project: str | None = None, path: str | None = None
) -> str:
    """Take what waits for a root that is gone into a project; what was done."""
    found, chosen = locate(home, project, path)
    root = _waiting_for(chosen.home, root)
    if _is_there(root):
        raise Conflict(f"{root} is still there, so its events are its own: {remedy(root)}")
    with open_project(home, project=project, path=path) as hf:
        with translated("taking in what waits"):
            count = place.claim(chosen.home, root, project_folder(chosen, found.id), Disk())
        hf.record([])
    return f"took {count} events of {root} into {found.id}"


def drop(root: str, home: str | None = None) -> str:
    """Remove what waits for a root; what was done."""
    home = settings.place(home)
    root = _waiting_for(home, root)
    count = dict(residents.waiting(home))[root]
    with translated("dropping what waits"):
        shutil.rmtree(place.unclaimed(home, root))
    return f"dropped {count} events of {root}"


def _waiting_for(home: str, root: str) -> str:
    roots = dict(residents.waiting(home))
    for given in (root, os.path.abspath(root)):
        if given in roots:
            return given
    raise NotFound(f"nothing waits for {root} in {home}; holdfast doctor shows what does")
