"""Emptying the spool: events a hook could not append in time get their place now.

Each is checked against the ids in the log, because a writer may have died between its append and its
spool, or a drainer between its append and the removal of the file. What is not a whole record goes
to quarantine. A file is removed only after its event is on the disk.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.capture import line
from holdfast.capture.layout import SPOOL
from holdfast.capture.repair import damage_entry
from holdfast.capture.spool import spooled, unspool
from holdfast.capture.tail import quarantine
from holdfast.capture.writer import Writer

if TYPE_CHECKING:
    from .log import FileLog


def drain(log: FileLog, writer: Writer) -> int:
    """Append what waits; the spool's modification time once it is empty."""
    place = os.path.join(log.folder, SPOOL)
    paths = spooled(log.disk, log.folder)
    entries: list[tuple[bytes, bytes]] = []
    taken: set[str] = set()
    for path in paths:
        data = log.disk.get_file(path) or b""
        entry = unspool(data)
        if entry is None:
            name = quarantine(log.disk, log.folder, os.path.basename(path), 0, data)
            entries.append(damage_entry("torn_spool", SPOOL, 0, len(data), name))
            continue
        _, event_id = line.seq_and_id(data)
        if event_id not in taken and not log.present([event_id]):
            entries.append(entry)
            taken.add(event_id)
    if entries:
        writer.put(entries)
    elif paths:
        writer.sync()
    for path in paths:
        log.disk.unlink(path)
    if paths:
        log.disk.sync_folder(place)
    return log.disk.stat(place).st_mtime_ns
