"""How full a window is, in bands, and when the next compaction will be."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Band, Pressure

#: the growth of so many turns says how fast a window fills
_TURNS = 10


def band(tokens: int, limit: int, settings: CompactSettings) -> Band:
    """Which band so many tokens of a window are in."""
    share = tokens / limit if limit > 0 else 1.0
    if share >= settings.most:
        return "full"
    if share >= settings.flash_at or tokens >= (settings.flash_tokens or tokens + 1):
        return "flash"
    if share >= settings.compact_at:
        return "compact"
    return "curate" if share >= settings.curate_at else "calm"


def pressure(
    tokens: int, limit: int, settings: CompactSettings, growth: Sequence[int] = ()
) -> Pressure:
    """The same, with a forecast from what the last turns added."""
    next_at = int(settings.compact_at * limit)
    lately = [one for one in growth[-_TURNS:] if one > 0]
    left = None
    if lately:
        left = max(0, next_at - tokens) * len(lately) // sum(lately)
    return Pressure(
        tokens=tokens,
        limit=limit,
        band=band(tokens, limit, settings),
        next_at=next_at,
        turns_left=left,
    )
