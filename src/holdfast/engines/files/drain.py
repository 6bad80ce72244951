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
from holdfast.capture.repair import quarantine
from holdfast.capture.spool import spooled, unspool
from holdfast.capture.writer import Writer

if TYPE_CHECKING:
    from .log import FileLog


def drain(log: FileLog, writer: Writer) -> int:
    """Append what waits; the spool's modification time when it was last seen empty."""
    place = os.path.join(log.folder, SPOOL)
    while True:
        seen = log.disk.stat(place).st_mtime_ns
        paths = spooled(log.disk, log.folder)
        if not paths:
            return seen
        _take(log, writer, paths)
        for path in paths:
            log.disk.unlink(path)
        log.disk.sync_folder(place)


def _take(log: FileLog, writer: Writer, paths: list[str]) -> None:
    entries: dict[str, tuple[bytes, bytes]] = {}
    for path in paths:
        data = log.disk.get_file(path) or b""
        entry = unspool(data)
        if entry is None:
            origin = (os.path.basename(path), 0, 0)
            quarantine(log.disk, log.folder, origin, data, "torn_spool")
        else:
            entries.setdefault(line.seq_and_id(data)[1], entry)
    known = log.present(list(entries))
    writer.put([entry for event_id, entry in entries.items() if event_id not in known])
    writer.sync()
    writer.speak_of_damage()
