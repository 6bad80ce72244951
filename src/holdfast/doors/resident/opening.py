"""Opening a project that was never opened on this machine."""

from __future__ import annotations

import os

import holdfast
from holdfast.app import hooking
from holdfast.capture.disk import Disk
from holdfast.capture.place import CACHE, Place, find
from holdfast.errors import NotFound


def claimed(home: str, root: str) -> Place:
    """Make hooks know the project, and hand it what waits for it."""
    with holdfast.open(home, path=root) as hf:
        hooking.note(hf.settings, hf.project)
        hf.record([])  # takes what waits
    place = find(os.path.join(home, CACHE), root, Disk())
    if place is None:
        raise NotFound(f"{root} is in no project")
    return place
