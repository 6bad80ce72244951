"""Where a hook's events go: the project around a folder.

A hook has no time to read TOML, ask git or compute platform folders. `holdfast init` and every open of a
project write what it needs into one JSON file, `<home>/hooks.json`:

    {"v": 1, "python": …, "keys": …, "config": [path, stamp], "record": {…},
     "projects": {root: {"id": …, "stamp": …, "deny_paths": […]}}}

The nearest folder upwards that has a marker or a git repository decides, as everywhere. A stamp says
which state of a TOML file an entry speaks of: when the file changed since, what it denies is read from
itself; of a root without a marker it says which repository: another one in its place is another project.
Events of a repository that was never opened here wait below `<home>/unclaimed`; a folder that is in no
project has no events.
"""

from __future__ import annotations

import json
import os
import re
import stat
from zlib import crc32

from .chain import Chain, load_key
from .disk import Disk
from .layout import BLOBS, SPOOL
from .shape import Limits

CACHE = "hooks.json"
CONTEXTS = "contexts-v2"
UNCLAIMED = "unclaimed"
MARKER = ".holdfast.toml"
_ROOT = "root"
_LONGEST = 4 << 20
_ID = re.compile(rb'^[ \t]*project_id[ \t]*=[ \t]*"([A-Za-z0-9][A-Za-z0-9._-]{0,127})"', re.M)

Json = dict[str, object]


class Place:
    """One project's folder and how its events are shaped."""

    __slots__ = ("claimed", "deny_paths", "folder", "home", "known", "root")

    def __init__(
        self,
        home: str,
        known: Json,
        root: str,
        folder: str,
        deny_paths: list[str],
        *,
        claimed: bool,
    ) -> None:
        self.home = home
        self.known = known
        self.root = root
        self.folder = folder
        self.deny_paths = tuple(deny_paths)
        #: somebody has opened it here, so it has a log
        self.claimed = claimed

    def key(self, disk: Disk) -> bytes:
        """What secrets are fingerprinted with; nobody's, where there is none to be had."""
        keys = self.known.get("keys")
        try:
            return (
                load_key(os.path.join(str(keys), "fingerprint.key"), disk)
                if keys
                else os.urandom(32)
            )
        except OSError:
            return os.urandom(32)

    def chain(self, disk: Disk) -> Chain | None:
        """The chain of a log that has one."""
        keys = self.known.get("keys")
        place = os.path.join(str(keys), os.path.basename(self.folder))
        if not keys or not self.claimed or not os.path.exists(place + ".chain.key"):
            return None
        try:
            return Chain(load_key(place + ".chain.key", disk), place + ".anchors", disk)
        except OSError:
            return (
                None  # then the log refuses what is not chained, and the event waits in the spool
            )

    def limits(self) -> Limits:
        """How much of an event stands in its line."""
        said = self.known.get("record")
        given = said if isinstance(said, dict) else {}
        names = ("text_chars", "payload_bytes", "edge_chars", "depth")
        return Limits(**{n: given[n] for n in names if type(given.get(n)) is int and given[n] > 1})


def find(cache: str, start: str, disk: Disk) -> Place | None:
    """The place of the project a folder belongs to; None when it belongs to none."""
    home, known = os.path.dirname(os.path.abspath(cache)), read(cache, disk)
    folder = os.path.abspath(start)
    while True:
        marked = stamp(os.path.join(folder, MARKER))
        if marked is not None or os.path.exists(os.path.join(folder, ".git")):
            return _place(home, known, folder, marked, disk)
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _place(home: str, known: Json, root: str, marked: object, disk: Disk) -> Place | None:
    entry = _dict(_dict(known.get("projects")).get(root))
    denied = [
        *_texts(_dict(known.get("record")).get("deny_paths")),
        *_texts(entry.get("deny_paths")),
    ]
    config = known.get("config")
    if isinstance(config, list) and len(config) == 2 and stamp(str(config[0])) != config[1]:
        denied += _denied_in(str(config[0]))
    current = entry.get("stamp") == (marked or repository(root))
    if marked is not None and not current:
        denied += _denied_in(os.path.join(root, MARKER))
    project_id = entry.get("id") if current else None
    if not isinstance(project_id, str) and marked is not None:
        found = _ID.search((disk.get_file(os.path.join(root, MARKER)) or b"")[:_LONGEST])
        if found is None:
            return None  # a marker that names nobody; `holdfast doctor` says so
        project_id = found[1].decode()
    if not isinstance(project_id, str):
        return Place(home, known, root, unclaimed(home, root), denied, claimed=False)
    folder = os.path.join(home, CONTEXTS, project_id)
    return Place(home, known, root, folder, denied, claimed=True)


def read(cache: str, disk: Disk) -> Json:
    """What the cache says; nothing when it is missing or unreadable."""
    try:
        said = json.loads((disk.get_file(cache) or b"{}")[:_LONGEST])
    except (OSError, ValueError, RecursionError):
        return {}
    return _dict(said)


def stamp(path: str) -> list[int] | None:
    """Which state of a file this is; None when it is not there, or no file."""
    try:
        seen = os.stat(path)
    except (OSError, ValueError):
        return None
    return [seen.st_mtime_ns, seen.st_size] if stat.S_ISREG(seen.st_mode) else None


def identity(root: str) -> list[int] | None:
    """Which project lies in a root: its marker as it is, else its repository."""
    return stamp(os.path.join(root, MARKER)) or repository(root)


def repository(root: str) -> list[int] | None:
    """Which git repository lies in a root, as far as can be told without git; None for none."""
    git = os.path.join(root, ".git")
    try:
        seen = os.stat(git)
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(seen.st_mode):  # a worktree's says where the rest of it is
        return stamp(git)
    return [seen.st_dev, seen.st_ino, *(stamp(os.path.join(git, "config")) or ())]


def _denied_in(path: str) -> list[str]:
    """What a settings file denies; it changed since the cache was written, which is seldom."""
    import tomllib

    try:
        with open(path, "rb") as file:
            said = tomllib.load(file)
    except (OSError, ValueError, RecursionError):
        return []
    return _texts(_dict(said.get("record")).get("deny_paths"))


def _dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


# ---- projects that nobody has opened here yet ------------------------------------------------


def unclaimed(home: str, root: str) -> str:
    """Where the events of such a project wait."""
    return os.path.join(home, UNCLAIMED, f"{crc32(os.fsencode(root)):08x}")


def say_whose(place: Place, disk: Disk) -> None:
    """Write down whose the waiting events are."""
    path = os.path.join(place.folder, _ROOT)
    if not os.path.exists(path):
        disk.make_folder(place.folder)
        disk.put_file(path, os.fsencode(place.root))


def waits_for(folder: str, disk: Disk) -> str:
    """The root whose events wait in a folder; empty when nobody said."""
    return os.fsdecode(disk.get_file(os.path.join(folder, _ROOT)) or b"")


def claim(home: str, root: str, folder: str, disk: Disk) -> int:
    """Hand what waits for a root over to its project, which drains it; how many events."""
    waiting = unclaimed(home, root)
    if disk.get_file(os.path.join(waiting, _ROOT)) != os.fsencode(root):
        return 0
    # first which events, then the bodies: an event that comes meanwhile keeps its body beside it
    events = os.path.join(waiting, SPOOL)
    names = _whole(events, disk)
    bodies = os.path.join(waiting, BLOBS)
    for group in disk.listdir(bodies) if os.path.isdir(bodies) else ():
        if not group.startswith("."):
            body = os.path.join(bodies, group)
            _move(body, os.path.join(folder, BLOBS, group), _whole(body, disk), disk)
    return _move(events, os.path.join(folder, SPOOL), names, disk) if names else 0


def _whole(folder: str, disk: Disk) -> list[str]:
    """The files of a folder; drafts stay with whoever writes them."""
    if not os.path.isdir(folder):
        return []
    return [name for name in disk.listdir(folder) if not name.startswith(".")]


def _move(source: str, target: str, names: list[str], disk: Disk) -> int:
    """Files of a folder into another; how many this process moved."""
    disk.make_folder(target)
    moved = 0
    for name in names:
        try:
            disk.replace(os.path.join(source, name), os.path.join(target, name))
        except FileNotFoundError:
            continue  # somebody else claims it at the same time
        moved += 1
    disk.sync_folder(target)
    return moved
