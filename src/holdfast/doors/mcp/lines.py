"""Connections that have not asked yet: each has a little time for its request's head, and only so many
wait at once.

Whoever connects and says nothing costs a place among those who wait, never one among those who ask.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


def lines(head_seconds: float, most: int) -> type[H11Protocol]:
    """The protocol of one server's connections.

    A head that is not whole in time closes its connection; when more than `most` wait, the one that
    waits longest goes.
    """
    waiting: dict[Line, asyncio.TimerHandle] = {}

    class Line(H11Protocol):
        """A connection; it waits until a head is whole, and again when the next one begins."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._asked()
            else:
                self._wait()

        def on_response_complete(self) -> None:
            self._asked()  # from here on the time between two requests counts
            super().on_response_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._asked()
            super().connection_lost(exc)

        def _wait(self) -> None:
            if self in waiting or self.transport.is_closing():
                return
            waiting[self] = self.loop.call_later(head_seconds, self._close)
            if len(waiting) > most:
                next(iter(waiting))._close()

        def _asked(self) -> None:
            timer = waiting.pop(self, None)
            if timer is not None:
                timer.cancel()

        def _close(self) -> None:
            self._asked()
            transport: Any = self.transport
            transport.abort()

    return Line
