"""Making everything derived anew, and saying whether it had been right."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from .holdfast import Holdfast


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """What a rebuild found."""

    events: int
    sessions: int
    state_hash: str
    #: was the index right before? None when there was none
    same: bool | None
    seconds: float


def rebuild(hf: Holdfast, progress: Callable[[int], None] | None = None) -> Rebuilt:
    """Fold the log anew and compare."""
    before = hf.views.hash_on_disk()
    began = time.perf_counter()
    after = hf.rebuild(progress)
    hf.cold.rebuild()
    hf.activity.up_to_date()
    at, count = hf.views.extent()
    return Rebuilt(
        events=at,
        sessions=count,
        state_hash=after,
        same=None if before is None else before == after,
        seconds=time.perf_counter() - began,
    )
