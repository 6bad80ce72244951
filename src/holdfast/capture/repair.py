"""Damaged bytes: a copy is kept, the log says so once, whoever dies in between.

A copy is first put into quarantine under a name that ends in `.new`; then the log gets a `damage_found`
event that names it; then the copy takes its final name. A process that dies on the way leaves a `.new`,
and the next writer says what was not said yet. The name holds everything the event needs: the
event before, offset, checksum, reason and segment.
"""

from __future__ import annotations

import os
import re
from zlib import crc32

from .disk import Disk
from .layout import QUARANTINE, sealed_segments
from .line import canonical, middle
from .stamp import fresh_id, timestamp

_NEW = ".new"
_NAME = re.compile(r"[0-9]+@([0-9]+)-[0-9a-f]{8}\.([a-z_]+)\.(.+)")


class NoRoom(OSError):
    """There is no room to keep a copy of damaged bytes, so the log stays as it is, read-only."""


def quarantine(
    disk: Disk, folder: str, origin: tuple[str, int, int], data: bytes, reason: str
) -> str:
    """Keep a copy of damaged bytes from (segment, offset, event before); its name.

    The same damage is kept once, also when its segment has got another name since.
    """
    place = os.path.join(folder, QUARANTINE)
    segment, offset, before = origin
    mark = f"{before}@{offset}-{crc32(data):08x}.{reason}."
    try:
        disk.make_folder(place)
        kept = [name for name in disk.listdir(place) if name.startswith(mark)]
        if not kept:
            disk.put_file(os.path.join(place, mark + segment + _NEW), data)
        disk.sync_folder(place)
    except OSError as exc:
        raise NoRoom(exc.errno, f"cannot keep a copy of damaged bytes in {place}: {exc}") from exc
    return kept[0].removesuffix(_NEW) if kept else mark + segment


def unsaid(disk: Disk, folder: str) -> list[str]:
    """The copies the log may not have spoken of yet."""
    try:
        names = disk.listdir(os.path.join(folder, QUARANTINE))
    except FileNotFoundError:
        return []
    return sorted(name.removesuffix(_NEW) for name in names if name.endswith(_NEW))


def not_in(disk: Disk, folder: str, names: list[str], active: bytes) -> list[str]:
    """Those the log has not spoken of: neither in the active segment nor in the one before, where a
    repair that was not finished would be spoken of."""
    recent = active
    for segment in sealed_segments(folder, disk.listdir(folder))[-1:]:
        recent += disk.get_file(segment.path) or b""
    return [name for name in names if b'"quarantine":"%b"' % name.encode() not in recent]


def said(disk: Disk, folder: str, names: list[str]) -> None:
    """The log has spoken of these."""
    for name in names:
        path = os.path.join(folder, QUARANTINE, name)
        disk.replace(path + _NEW, path)


def damage_entry(disk: Disk, folder: str, name: str) -> tuple[bytes, bytes]:
    """The `damage_found` event for a copy: header fields and payload, ready to be put."""
    match = _NAME.fullmatch(name)
    size = disk.stat(os.path.join(folder, QUARANTINE, name + _NEW)).st_size
    found: dict[str, object] = {"quarantine": name, "bytes": size}
    if match:
        found.update(offset=int(match[1]), reason=match[2], segment=match[3])
    fields: tuple[object, ...]
    fields = (fresh_id("evt"), None, None, None, "damage_found@1", timestamp(), "system", 2, [])
    return middle(fields), canonical(found)
