"""meta.json: what a project's folder is, and what is under way in it.

It is replaced whole, never edited, so the intent of an erase and the new generation become true in
one step. A process that dies afterwards leaves the intent behind, and the next one finishes it.
"""

from __future__ import annotations

import os
from typing import Any

from holdfast.capture.disk import Disk
from holdfast.capture.layout import META, read_meta
from holdfast.capture.line import canonical
from holdfast.errors import Unavailable

SCHEMA = 2


def load(disk: Disk, folder: str) -> dict[str, Any]:
    """What meta.json says, once it is known to be of this format."""
    meta: dict[str, Any] = read_meta(disk.get_file(os.path.join(folder, META)))
    version = meta.get("schema_version", SCHEMA)
    if version != SCHEMA:
        raise Unavailable(
            f"{folder} holds a context of format {version}; this Holdfast reads and writes format "
            f"{SCHEMA} only and leaves it untouched. "
            + (
                "Upgrade Holdfast."
                if isinstance(version, int) and version > SCHEMA
                else "Move it aside to start anew."
            )
        )
    return meta


def save(disk: Disk, folder: str, meta: dict[str, Any]) -> None:
    """Replace meta.json."""
    disk.put_file(os.path.join(folder, META), canonical(meta) + b"\n")
