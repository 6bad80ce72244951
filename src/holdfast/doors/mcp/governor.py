"""The governor: how many sessions of the protocol are open at once.

When one more would be too many, the one that was idle longest is closed; when none is idle, the new one
is refused with 503. A closed session answers 404, upon which a client begins a new one. Room is made for
a whole `initialize` and for nothing else, and whoever is on the way in counts.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec

from .guard import App, Message, Receive, Scope, Send, refuse, replayed

SESSION = "mcp-session-id"
_SESSION = SESSION.encode()
_VERSION = b"mcp-protocol-version"
#: versions that are spoken in sessions; later ones have none
_LAST_WITH_SESSIONS = b"2025-11-25"


class _Client(msgspec.Struct):
    name: str
    version: str


class _Asked(msgspec.Struct, rename="camel"):
    protocol_version: str
    capabilities: dict[str, Any]
    client_info: _Client


class _Initialize(msgspec.Struct):
    """The one request that begins a session."""

    jsonrpc: Literal["2.0"]
    id: str | int
    method: Literal["initialize"]
    params: _Asked


class _Open:
    """A session: requests under way, and when the last one ended."""

    def __init__(self, at: float) -> None:
        self.busy = 0
        self.heard = at


class Governor:
    """Counts the sessions that are open behind it, and tells when one ends."""

    def __init__(
        self,
        app: App,
        *,
        most: int,
        idle_seconds: float,
        left: Callable[[str], Awaitable[None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._most = most
        self._idle = idle_seconds
        self._left = left
        self._clock = clock
        self._open: dict[str, _Open] = {}
        #: sessions that have their place and are not begun yet
        self._coming = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        key = _header(scope, _SESSION)
        if key is not None:
            await self._go_on(key, scope, receive, send)
        elif (_header(scope, _VERSION) or "") > _LAST_WITH_SESSIONS.decode():
            await self._app(scope, receive, send)
        else:
            await self._without_session(scope, receive, send)

    async def _without_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What begins a session, if it does; anything else is the protocol's to refuse."""
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await _whole(receive)
        again = replayed(body, receive)
        if not _begins(body):
            await self._app(scope, again, send)
        elif await self._room(scope):
            await self._begin(scope, again, send)
        else:
            await refuse(send, 503)

    async def sweep(self, scope: Scope) -> None:
        """Close what was idle for too long; `scope` says where this server is."""
        since = self._clock() - self._idle
        for key, one in list(self._open.items()):
            if not one.busy and one.heard < since:
                await self._close(key, scope)

    @property
    def sessions(self) -> list[str]:
        """What is open, the longest idle first."""
        return sorted(self._open, key=lambda key: self._open[key].heard)

    async def _begin(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin a session in the place that is kept for it."""
        begun: list[str] = []

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 300:
                found = dict(message.get("headers", ())).get(_SESSION)
                if found is not None:
                    begun.append(found.decode("latin-1"))
                    self._coming -= 1
                    self._open[begun[0]] = _Open(self._clock())
                    self._open[begun[0]].busy = 1
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            self._coming -= not begun
            self._rest(begun)

    async def _go_on(self, key: str, scope: Scope, receive: Receive, send: Send) -> None:
        statuses: list[int] = []

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        if key in self._open:
            self._open[key].busy += 1
        try:
            await self._app(scope, receive, watched)
        finally:
            self._rest([key])
        ended = scope["method"] == "DELETE" and statuses[:1] == [200]
        if (ended or statuses[:1] == [404]) and self._open.pop(key, None) is not None:
            await self._left(key)

    def _rest(self, keys: list[str]) -> None:
        for one in (self._open[key] for key in keys if key in self._open):
            one.busy -= 1
            one.heard = self._clock()

    async def _room(self, scope: Scope) -> bool:
        """Keep a place for one more; False when all are taken by somebody who is not idle."""
        while len(self._open) + self._coming >= self._most:
            idle = [key for key in self.sessions if not self._open[key].busy]
            if not idle:
                return False
            await self._close(idle[0], scope)
        self._coming += 1
        return True

    async def _close(self, key: str, scope: Scope) -> None:
        """Ask the protocol to end a session, as its client would."""
        self._open.pop(key, None)
        kept = [(n, v) for n, v in scope["headers"] if n in (b"host", b"authorization")]
        asked = {
            **scope,
            "method": "DELETE",
            "headers": [*kept, (_SESSION, key.encode("latin-1")), (b"accept", b"*/*")],
        }
        await self._app(asked, _nothing, _ignored)
        await self._left(key)


async def _whole(receive: Receive) -> bytes:
    """All of a body; the guard has bounded it."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


def _begins(body: bytes) -> bool:
    """Is this a request that begins a session?"""
    try:
        msgspec.json.decode(body, type=_Initialize)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignored(_: Message) -> None:
    """Nobody asked, so nobody is answered."""


def _header(scope: Scope, name: bytes) -> str | None:
    for known, value in scope["headers"]:
        if known == name:
            found: Any = value.decode("latin-1")
            return str(found)
    return None
