"""What a writer says in the log about damage it mended."""

from __future__ import annotations

from .line import canonical, middle
from .stamp import fresh_id, timestamp


def damage_entry(
    reason: str, segment: str, offset: int, length: int, kept_as: str | None
) -> tuple[bytes, bytes]:
    """A `damage_found` event: header fields and payload, ready to be put."""
    fields: tuple[object, ...]
    fields = (fresh_id("evt"), None, None, None, "damage_found@1", timestamp(), "system", 2, [])
    found = {
        "reason": reason,
        "segment": segment,
        "offset": offset,
        "bytes": length,
        "quarantine": kept_as,
    }
    return middle(fields), canonical(found)
