"""What hooks need to know about a project, written where they find it without reading settings."""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec

from holdfast import settings as settings_file
from holdfast.capture import place
from holdfast.capture.disk import Disk
from holdfast.capture.lock import Lock
from holdfast.model.projects import Project
from holdfast.model.settings import Settings

_LOCK = "hooks.lock"
_PATIENCE = 5.0


def cache_file(chosen: Settings) -> str:
    """The file the hooks of this home read."""
    return os.path.join(chosen.home, place.CACHE)


def note(chosen: Settings, project: Project | None = None, *, for_all: bool = False) -> None:
    """Let hooks know a project, and the user's settings; writes only what is not known yet.

    What holds for all projects is known by the user's settings file. Under another one than hooks know,
    as in somebody's test, only the project is noted, unless this is asked for.
    """
    disk, path = Disk(), cache_file(chosen)
    if _with(chosen, project, place.read(path, disk), for_all) is None:
        return
    disk.make_folder(chosen.home)
    lock = Lock(os.path.join(chosen.home, _LOCK), disk)
    try:
        lock.acquire(_PATIENCE)
        said = _with(chosen, project, place.read(path, disk), for_all)
        if said is not None:
            disk.put_file(path, msgspec.json.format(msgspec.json.encode(said), indent=1))
    finally:
        lock.done()


def refresh(chosen: Settings, project: Project) -> None:
    """The same, where hooks are in use; a home that cannot be written keeps what it has."""
    if project.root and os.path.exists(cache_file(chosen)):
        try:
            note(chosen, project)
        except (PermissionError, TimeoutError):
            return  # read-only, or somebody else is at it: hooks look at the files themselves then


def _with(
    chosen: Settings, project: Project | None, known: dict[str, Any], for_all: bool
) -> dict[str, Any] | None:
    """What the cache should say; None when it says so already."""
    told = known.get("projects")
    roots = dict(told) if isinstance(told, dict) else {}
    if project is not None:
        roots[project.root] = {
            "id": project.id,
            "stamp": place.identity(project.root),
            "deny_paths": list(chosen.record.deny_paths),
        }
    ours = for_all or _config_of(known) in ("", str(settings_file.config_file()))
    said = {**(_for_all(chosen) if ours else known), "projects": roots}
    if said == known:
        return None
    return {**said, "projects": {root: of for root, of in roots.items() if os.path.isdir(root)}}


def _config_of(known: dict[str, Any]) -> str:
    """The settings file the cache speaks of; empty when it speaks of none."""
    config = known.get("config")
    return str(config[0]) if isinstance(config, list) and len(config) == 2 else ""


def _for_all(chosen: Settings) -> dict[str, Any]:
    """What holds for every project of this user."""
    config = str(settings_file.config_file())
    return {
        "v": 1,
        "python": sys.executable,
        "keys": chosen.keys,
        "config": [config, place.stamp(config)],
        "deadline_ms": chosen.hooks.deadline_ms,
        "record": msgspec.to_builtins(settings_file.load(chosen.home).record),
    }
