"""Settings that cannot hold together, though each of them is fine by itself.

What always holds: only what contradicts itself is one. What nobody turned gives way where that can be:
a trigger below the usual target is compacted below it. Where the one only comes before the other,
nothing is wrong: `flash_at` below `compact_at` saves everything and so leaves nothing to compact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .compact import CompactSettings, ItemSettings

_USUAL = CompactSettings()


class Contradiction(NamedTuple):
    """Settings of one table, and what is wrong with them and to be done."""

    table: str
    names: tuple[str, ...]
    what: str


def contradiction(
    compact: CompactSettings, items: ItemSettings | None = None
) -> Contradiction | None:
    """The first thing that contradicts another; None where all of it can hold together."""
    return next(_contradictions(compact, items or ItemSettings()), None)


def _contradictions(compact: CompactSettings, items: ItemSettings) -> Iterator[Contradiction]:
    if compact.compact_at <= 0:
        yield Contradiction(
            "compact", ("compact_at",), "compacts an empty window; name a share above 0"
        )
    if compact.compact_at > compact.most:
        yield _above("compact", "compact_at", "most", "the window is full before it is compacted")
    if compact.compact_to >= compact.compact_at and compact.compact_to != _USUAL.compact_to:
        yield _above(
            "compact", "compact_to", "compact_at", "a compaction would leave what it begins at"
        )
    if compact.drop > compact.keep:
        yield _above("compact", "drop", "keep", "what scores between them would leave and stay")
    if items.warm > items.hot:
        yield _above("items", "warm", "hot", "what scores between them would be hot and cold")


def _above(table: str, lower: str, upper: str, why: str) -> Contradiction:
    return Contradiction(
        table, (lower, upper), f"do not go together: {why}; lower the first or raise the second"
    )
