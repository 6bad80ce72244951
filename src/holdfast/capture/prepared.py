"""What lies ready to be said when nobody can be asked: a page for the next session of an agent, and what
came too late for a session's hook.

Derived, and gone with an erase. A file is known by a checksum of whom it is for, and says for whom, so
that no name reaches the file system and nobody is given what is another's.
"""

from __future__ import annotations

import json
import os
from zlib import crc32

from .disk import Disk
from .layout import PREPARED


def path(folder: str, whom: tuple[str, ...]) -> str:
    """Where what is prepared for somebody lies."""
    return os.path.join(folder, PREPARED, f"{crc32(json.dumps(whom).encode()):08x}.json")


def prepare(folder: str, whom: tuple[str, ...], text: str, disk: Disk) -> None:
    """Lay something ready; what lay there before is replaced."""
    disk.make_folder(os.path.join(folder, PREPARED))
    disk.put_file(path(folder, whom), json.dumps({"for": whom, "text": text}).encode())


def prepared(folder: str, whom: tuple[str, ...], disk: Disk) -> str:
    """What lies ready for somebody; empty when nothing does."""
    return _said(path(folder, whom), whom, disk)


def _said(file: str, whom: tuple[str, ...], disk: Disk) -> str:
    try:
        said = json.loads(disk.get_file(file) or b"{}")
    except (OSError, ValueError, RecursionError):
        return ""
    if not isinstance(said, dict) or said.get("for") != list(whom):
        return ""
    text = said.get("text")
    return text if isinstance(text, str) else ""


def take(folder: str, whom: tuple[str, ...], disk: Disk) -> str:
    """The same, once: whoever takes it away says it.

    It is read when it is out of the way, so that nothing laid there meanwhile goes unseen.
    """
    place = path(folder, whom)
    if not _said(place, whom, disk):
        return ""
    aside = disk.draft_name(place)
    try:
        disk.replace(place, aside)
    except OSError:
        return ""  # somebody else was faster, or it would be said again and again
    text = _said(aside, whom, disk)
    if not text:
        _put_back(aside, place, disk)
    try:
        disk.unlink(aside)
    except OSError:
        return text  # it lies where nobody looks for it
    return text


def _put_back(aside: str, place: str, disk: Disk) -> None:
    """What was laid there for another a moment ago, unless something newer lies there by now."""
    try:
        disk.link(aside, place)
    except FileExistsError:
        return
