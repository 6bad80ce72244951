"""The desk: every client of one server, each with a toolbox and a session of its own.

`Caller` is the seam between a door that speaks a protocol and whoever keeps the project open: a name of
an operation and its arguments, both made of JSON, so a call may as well cross a socket. A Desk is the
caller that keeps the project open in this process, from the first call on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from holdfast.errors import Invalid

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .toolbox import Toolbox

#: an operation and its arguments, to an answer; HoldfastError when it cannot be done
Caller = Callable[[str, Mapping[str, Any]], dict[str, Any]]
CALL, READ, PROMPT, LEAVE = "tools/call", "resources/read", "prompts/get", "client/leave"


class _Seat:
    """A client that is served: when it was last heard of, and how many of its calls are under way."""

    def __init__(self, box: Toolbox, at: float) -> None:
        self.box = box
        self.heard = at
        self.busy = 0


class Desk:
    """Serves clients by the key a door gives them; the longest idle one leaves when there are too many.

    A client that comes back after it left, or was sent away, gets a new session.
    """

    def __init__(
        self,
        opening: Callable[[], Holdfast],
        *,
        agent: str | None = None,
        session_id: str | None = None,
        compat: bool = False,
        most: int = 64,
        idle_seconds: float = 1_800,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._opening = opening
        self._agent = agent
        self._session_id = session_id
        self._compat = compat
        self._most = most
        self._idle = idle_seconds
        self._clock = clock
        self._hf: Holdfast | None = None
        self._seats: dict[str, _Seat] = {}
        self._lock = threading.Lock()

    def __call__(self, operation: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Do it for a client: `client` is its key, `as` the name it declares of itself."""
        key = str(asked["client"])
        if operation == LEAVE:
            self._leave(key)
            return {}
        if operation not in _DOES:
            raise Invalid(f"there is no operation {operation!r}")
        seat = self._seated(key, str(asked.get("as", "")))
        try:
            return _DOES[operation](seat.box, asked)
        finally:
            with self._lock:
                seat.busy -= 1
                seat.heard = self._clock()
                left = self._seats.get(key) is not seat and not seat.busy
            if left:  # while it was served: what it began since is ended too
                seat.box.close()

    def sweep(self) -> None:
        """Clients that were not heard of for long leave."""
        since = self._clock() - self._idle
        with self._lock:
            idle = [key for key, seat in self._seats.items() if not seat.busy]
            gone = [self._seats.pop(key) for key in idle if self._seats[key].heard < since]
        _close(gone)

    def close(self) -> None:
        """Everybody leaves, and the project is closed."""
        with self._lock:
            gone, self._seats = list(self._seats.values()), {}
            hf, self._hf = self._hf, None
        with ExitStack() as stack:
            if hf is not None:
                stack.callback(hf.close)
            _close(gone)

    @property
    def clients(self) -> list[str]:
        """Who is served, the longest idle first."""
        with self._lock:
            return sorted(self._seats, key=lambda key: self._seats[key].heard)

    def _seated(self, key: str, client: str) -> _Seat:
        gone: list[_Seat] = []
        with self._lock:
            if key not in self._seats:
                new = _Seat(self._box(client), self._clock())
                gone = self._room()
                self._seats[key] = new
            seat = self._seats[key]
            seat.busy += 1
        _close(gone)
        return seat

    def _room(self) -> list[_Seat]:
        """Who leaves so that one more has a place; nobody whose call is under way."""
        idle = [key for key, seat in self._seats.items() if not seat.busy]
        idle.sort(key=lambda key: self._seats[key].heard)
        return [self._seats.pop(key) for key in idle[: max(0, len(self._seats) - self._most + 1)]]

    def _box(self, client: str) -> Toolbox:
        from .toolbox import Toolbox, agent_of  # with the first call, not with the door

        if self._hf is None:
            self._hf = self._opening()
        agent = self._agent
        if agent is None and self._session_id is None:
            agent = agent_of(client)
        return Toolbox(self._hf, agent=agent, session_id=self._session_id, compat=self._compat)

    def _leave(self, key: str) -> None:
        with self._lock:
            seat = self._seats.pop(key, None)
        _close([seat] if seat is not None else [])


def _close(seats: list[_Seat]) -> None:
    with ExitStack() as stack:  # whatever one of them has trouble with, the others leave
        for seat in seats:
            stack.callback(seat.box.close)


def _called(box: Toolbox, asked: Mapping[str, Any]) -> dict[str, Any]:
    return box.call(str(asked["name"]), asked.get("arguments") or {})


def _prompted(box: Toolbox, asked: Mapping[str, Any]) -> dict[str, Any]:
    return box.prompt(str(asked["name"]), asked.get("arguments") or {})


_DOES: dict[str, Callable[[Toolbox, Mapping[str, Any]], dict[str, Any]]] = {
    CALL: _called,
    READ: lambda box, asked: box.read(str(asked["uri"])),
    PROMPT: _prompted,
}
