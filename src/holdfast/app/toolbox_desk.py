"""The desk: every client of one server, each with a toolbox and a session of its own.

`Caller` is the seam between a door that speaks a protocol and whoever keeps the project open: a name of
an operation and its arguments, both made of JSON, so a call may as well cross a socket. A Desk is the
caller that keeps the project open in this process, from the first call on.
"""

from __future__ import annotations

import os
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
    """A client that is served: when it was last heard of, and how many of its calls are under way.

    Of a client that said which process it is, it is known whether it lives.
    """

    def __init__(self, box: Toolbox, at: float, process: int = 0) -> None:
        self.box = box
        self.process = process
        self.heard = at
        self.busy = 0

    def lives(self) -> bool:
        """Is its process there? Not known of one that did not say which it is."""
        return self.process > 0 and _runs(self.process)

    def is_over(self, since: float) -> bool:
        """Is its process gone or, where that is not known, was it not heard of since then?"""
        return not self.lives() if self.process else self.heard < since


class Desk:
    """Serves clients by the key a door gives them; the longest idle one leaves when there are too many.

    A client that comes back after it left, or was sent away, gets a new session; one that names the
    session it had goes on with that.
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
        """Do it for a client: `client` is its key, `as` the name it declares of itself.

        `session` is the one it had at another desk, `process` the one it lives in; both may be absent.
        """
        key = str(asked["client"])
        if operation == LEAVE:
            self._leave(key, asked)
            return {}
        if operation not in _DOES:
            raise Invalid(f"there is no operation {operation!r}")
        seat = self._seated(key, asked)
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
        """Clients that are gone, or were not heard of for long, leave."""
        since = self._clock() - self._idle
        with self._lock:
            idle = [key for key, seat in self._seats.items() if not seat.busy]
            gone = [self._seats.pop(key) for key in idle if self._seats[key].is_over(since)]
        _close(gone)

    def session_of(self, key: str) -> str | None:
        """The session a client has here, by which it can go on elsewhere."""
        with self._lock:
            seat = self._seats.get(key)
        return seat.box.session_id if seat is not None else None

    def lives(self) -> bool:
        """Is a client served whose process is known to live?"""
        with self._lock:
            return any(seat.lives() for seat in self._seats.values())

    def hand_over(self, key: str | None = None) -> None:
        """This client goes on elsewhere, or every one that lives: its session is not ended here."""
        with self._lock:
            known = list(self._seats) if key is None else [key] if key in self._seats else []
            for one in known:
                if key is not None or self._seats[one].lives():
                    del self._seats[one]

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

    def _seated(self, key: str, asked: Mapping[str, Any]) -> _Seat:
        gone: list[_Seat] = []
        with self._lock:
            if key not in self._seats:
                process = asked.get("process")
                box = self._box(str(asked.get("as", "")), asked.get("session"))
                new = _Seat(box, self._clock(), process if type(process) is int else 0)
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

    def _box(self, client: str, resumed: Any) -> Toolbox:
        from .toolbox import Toolbox, agent_of  # with the first call, not with the door

        if self._hf is None:
            self._hf = self._opening()
        agent = self._agent
        if agent is None and self._session_id is None:
            agent = agent_of(client)
        return Toolbox(
            self._hf,
            agent=agent,
            session_id=self._session_id,
            resumed=resumed if isinstance(resumed, str) and self._session_id is None else None,
            compat=self._compat,
        )

    def _leave(self, key: str, asked: Mapping[str, Any]) -> None:
        """It leaves; of one that was served elsewhere the session it had is ended."""
        with self._lock:
            seat = self._seats.pop(key, None)
            if seat is None and asked.get("session"):
                box = self._box(str(asked.get("as", "")), asked.get("session"))
                seat = _Seat(box, self._clock())
        _close([seat] if seat is not None else [])


def _runs(process: int) -> bool:
    """Is there such a process?"""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


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
