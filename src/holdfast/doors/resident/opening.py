"""Finding a project that no cache names: one never opened on this machine, one known by its id."""

from __future__ import annotations

import os

import holdfast
from holdfast.app import hooking
from holdfast.app.open import locate, must_exist, project_folder
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


def kept(home: str, project: str) -> str:
    """The folder of a project that is known by its id; NotFound when nothing is kept for it."""
    must_exist(home, project)
    found, chosen = locate(home, project)
    return project_folder(chosen, found.id)
