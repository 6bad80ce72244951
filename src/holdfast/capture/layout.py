"""Where things lie in a project's folder, and what the names of its segments say.

    events.ndjson                        the active segment
    events-000000000001.ndjson           sealed; the number is its first event_seq
    events-000000000901-failed-4096.ndjson   sealed after a failed sync: only 4096 bytes count
    events.carried                       what such a segment hands on, for a moment
    index.db, snapshot.json, prepared/   derived from the log: may go at any time
    cold-storage/, logs/                 likewise; moved.json names where else they lie or lay
    manager.json                         where those lie and which there are, as somebody said once
    resident.*                           of the process that answers hooks

A failed segment carries its length in its name because after a failed sync the disk may hold more
or less than was acknowledged: the name is what was known.
"""

from __future__ import annotations

import json
import os
import re

ACTIVE = "events.ndjson"
CARRIED = "events.carried"
META = "meta.json"
LOCK = "lock"
QUARANTINE = "quarantine"
SPOOL = "spool"
BLOBS = "blobs"
INDEX = "index.db"
INDEX_LOCK = "index.lock"
VECTORS = "vectors"
SNAPSHOT = "snapshot.json"
SNAPSHOT_BEFORE = "snapshot.before.json"
PREPARED = "prepared"
COLD = "cold-storage"
LOGS = "logs"
MOVED = "moved.json"
MANAGER = "manager.json"
RESIDENT_LOCK = "resident.lock"
RESIDENT_SOCKET = "resident.sock"
RESIDENT_STARTED = "resident.started"

_SEALED = re.compile(r"events-([0-9]{1,18})(?:-failed-([0-9]{1,18}))?\.ndjson")


_META_TYPES = {"generation": int, "retained_through": int, "integrity_mode": str, "erasing": dict}
_INTENT = ("event_ids", "bodies", "pseudonym", "subject")


class Segment:
    """One sealed file of the log: its path, its first seq, and how many of its bytes count."""

    __slots__ = ("first_seq", "length", "name", "path")

    def __init__(self, folder: str, name: str, first_seq: int, length: int | None) -> None:
        self.path = os.path.join(folder, name)
        self.name = name
        self.first_seq = first_seq
        self.length = length


def sealed_name(first_seq: int, failed_at: int | None = None) -> str:
    """The name a segment gets when it is closed."""
    failed = "" if failed_at is None else f"-failed-{failed_at}"
    return f"events-{first_seq:012d}{failed}.ndjson"


def sealed_segments(folder: str, names: list[str]) -> list[Segment]:
    """The sealed segments among the names of a folder, in order."""
    found = []
    for name in names:
        match = _SEALED.fullmatch(name)
        if match:
            length = int(match[2]) if match[2] else None
            found.append(Segment(folder, name, int(match[1]), length))
    # a failed segment and its successor may begin at the same seq; the failed one came first
    return sorted(found, key=lambda segment: (segment.first_seq, segment.length is None))


def read_meta(data: bytes | None) -> dict[str, object]:
    """What meta.json says; an empty dict when it is missing or unreadable."""
    try:
        meta = json.loads(data or b"{}")
    except ValueError:
        return {}
    if not isinstance(meta, dict) or not all(
        isinstance(meta.get(name, kind()), kind) for name, kind in _META_TYPES.items()
    ):
        return {}
    intent = meta.get("erasing")
    return meta if intent is None or set(_INTENT) <= set(intent) else {}


def new_meta(project_id: str, project_root: str, created_at: str, mode: str) -> dict[str, object]:
    """The first meta.json of a project."""
    return {
        "schema_version": 2,
        "project_id": project_id,
        "project_root": project_root,
        "created_at": created_at,
        "last_compacted_at": None,
        "integrity_mode": mode,
        "generation": 1,
    }
