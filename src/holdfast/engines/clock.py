"""The machine's clock, and ids made from it."""

from __future__ import annotations

import time

from holdfast.capture.stamp import fresh_id


class SystemClock:
    """The time of this machine."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, UTC."""
        return time.time_ns() // 1_000_000


class UlidIds:
    """Names that sort by time."""

    def fresh(self, kind: str) -> str:
        """`<kind>_` and a ULID."""
        return fresh_id(kind)
