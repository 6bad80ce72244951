"""Time and names come from outside, so that a replay or a test can bring its own."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """The time."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, UTC."""
        ...


class Ids(Protocol):
    """Fresh names."""

    def fresh(self, kind: str) -> str:
        """`<kind>_` and a ULID."""
        ...
