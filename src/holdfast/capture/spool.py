"""Where an event waits when the log cannot take it now.

A hook that does not get the lock in time, or meets a full or failing disk, leaves its event here as a
file of its own and goes; the next process with time drains it. The file holds one record with
event_seq 0 (no place yet), checksummed like any other, and is named by the event's id, so the order of
names is the order of making and a second try overwrites itself.
"""

from __future__ import annotations

import os

from . import line
from .disk import Disk
from .layout import SPOOL


def spool(disk: Disk, folder: str, event_id: str, fields: bytes, payload: bytes) -> str:
    """Put one event by; returns the file's path."""
    place = os.path.join(folder, SPOOL)
    disk.make_folder(place)
    path = os.path.join(place, event_id + ".ndjson")
    disk.put_file(path, line.record(0, fields, payload))
    return path


def spooled(disk: Disk, folder: str) -> list[str]:
    """The files that wait, oldest first."""
    place = os.path.join(folder, SPOOL)
    try:
        names = disk.listdir(place)
    except FileNotFoundError:
        return []
    return [os.path.join(place, name) for name in sorted(names) if name.endswith(".ndjson")]


def unspool(data: bytes) -> tuple[bytes, bytes] | None:
    """Header fields and payload of a spooled record; None when it is not whole."""
    record = data.rstrip(b"\n")
    if not line.whole(record) or not record.startswith(line.head(0, b"")):
        return None
    head, payload = line.parts(record)
    return head[len(line.head(0, b"")) :], payload
