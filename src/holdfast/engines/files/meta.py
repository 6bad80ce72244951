"""meta.json: what a project's folder is, and what is under way in it.

It is replaced whole, never edited, so the intent of an erase and the new generation become true in
one step. A process that dies afterwards leaves the intent behind, and the next one finishes it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from holdfast.capture.disk import Disk
from holdfast.capture.layout import META, read_meta
from holdfast.capture.line import canonical, chain_of, is_of
from holdfast.capture.repair import quarantine
from holdfast.errors import Unavailable
from holdfast.model.events import Damage, Event

from .decode import decode
from .pieces import Piece, pieces

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


def generation(disk: Disk, folder: str) -> int | None:
    """Which generation the log is of; None while an erase is under way."""
    state = load(disk, folder)
    return None if "erasing" in state else int(state.get("generation", 1))


def save(disk: Disk, folder: str, meta: dict[str, Any]) -> None:
    """Replace meta.json."""
    disk.put_file(os.path.join(folder, META), canonical(meta) + b"\n")


def begin(disk: Disk, folder: str, meta: dict[str, Any]) -> dict[str, Any]:
    """The first meta.json of a folder, or the one somebody else made just before.

    One that cannot be read is kept in quarantine and made anew: what it knew is in the log, but for
    the generation, which must not repeat one of before; the time never does.
    """
    disk.make_folder(folder)
    path = os.path.join(folder, META)
    if disk.make_file(path, canonical(meta) + b"\n"):
        return meta
    known = load(disk, folder)
    if known:
        return known
    quarantine(disk, folder, (META, 0, 0), disk.get_file(path) or b"", "unreadable")
    save(disk, folder, {**meta, **_known_from(pieces(disk, folder))})
    return load(disk, folder)


def _known_from(found: Iterator[Piece | Damage]) -> dict[str, Any]:
    """What the log itself says of its meta.json: is it chained, how far was it dropped."""
    known: dict[str, Any] = {"generation": time.time_ns() // 1_000_000}
    for piece in found:
        if isinstance(piece, Damage):
            continue
        known.setdefault("integrity_mode", "chained" if chain_of(piece.record) else "crc")
        if is_of(piece.record, "baseline"):
            event = decode(piece)
            said = event.payload if isinstance(event, Event) else {}
            known["retained_through"] = int(said.get("dropped_through", 0))
            known["retained_link"] = said.get("dropped_link")
    return known
