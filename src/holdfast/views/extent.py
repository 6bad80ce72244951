"""How much is remembered: enough to see without reading it whether all of it would fit somewhere."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.model.events import Event

from .items import KEPT
from .view import Rows, common_key

KEY = common_key("extent")
#: what a memory's row takes beside what its event says
_BESIDE = 300


class Extent(msgspec.Struct, frozen=True, kw_only=True):
    """About how many memories there are, and about how many bytes their rows and those of items take."""

    memories: int = 0
    size: int = 0


class ExtentView:
    """One row for the whole project."""

    name = "extent"
    version = 2
    kinds = frozenset({"memory_learned", "memory_revised", "item_saved"})
    row = Extent

    def keys(self, event: Event) -> tuple[str, ...]:  # noqa: ARG002  (the same for all of them)
        """The one row."""
        return (KEY,)

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Add what it brings."""
        known: Extent = rows[KEY] or Extent()
        length = _length(event.payload)
        kept = min(length, KEPT) if event.kind == "item_saved" else length
        size = known.size + _BESIDE + kept
        learned = event.kind == "memory_learned"
        return {KEY: Extent(memories=known.memories + learned, size=size)}


def _length(payload: Any) -> int:
    """Of the texts in a payload, and in the changes it names."""
    if not isinstance(payload, dict):
        return 0
    said = [*payload.values()]
    if isinstance(payload.get("changes"), dict):
        said += payload["changes"].values()
    return sum(len(text) for text in said if isinstance(text, str))
