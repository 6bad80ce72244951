"""The guard before the protocol: who may speak to this server, how much, and how many at once.

Every refusal comes before anything is parsed and has no body. A browser page that was brought here by a
rebound name fails at Host or Origin, one without the token at the token; a loopback address alone opens
nothing. Refused in this order: 403 where it comes from, 401 without the token, 503 when too many ask at
once, 404, 405, 415, 413, 408. Only who has the token counts among those who ask.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import anyio

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = dict[bytes, list[bytes]]

PATH = "/mcp"
METHODS = ("POST", "GET", "DELETE")
_SITES = (b"same-origin", b"none")
_BEARER = b"bearer"
#: of a body that is too large, so many times the most is read and dropped: a client that is still
#: sending does not read why it was refused
_DRAINED = 4


class Guard:
    """Lets through what comes from an allowed host with the token, whole and within its bounds."""

    def __init__(
        self,
        app: App,
        *,
        hosts: Iterable[str],
        token: str,
        most_bytes: int = 2 << 20,
        body_seconds: float = 30.0,
        most_requests: int = 128,
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.encode("latin-1") for host in hosts)
        self._origins = frozenset(
            scheme + host for host in self._hosts for scheme in (b"http://", b"https://")
        )
        self._token = token.encode("latin-1")
        self._requests = 0
        self._most_requests = most_requests
        self._most = most_bytes
        self._seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = _headers(scope)
        status = self._stranger(scope, headers)
        if status is None and self._requests >= self._most_requests:
            status = 503
        if status is not None:
            await refuse(send, status)
            return
        self._requests += 1
        try:
            await self._known_client(scope, headers, receive, send)
        finally:
            self._requests -= 1

    async def _known_client(
        self, scope: Scope, headers: Headers, receive: Receive, send: Send
    ) -> None:
        """A request with the token: whole and within its bounds, or refused."""
        status = self._refusal(scope, headers)
        if status == 413 and b"expect" not in headers:
            await self._drain(receive)
        if status is not None:
            await refuse(send, status)
            return
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await self._body(receive)
        if body == 413:
            await self._drain(receive)
        if isinstance(body, bytes):
            await self._app(scope, replayed(body, receive), send)
        elif body:
            await refuse(send, body)

    async def _drain(self, receive: Receive) -> None:
        """Read and drop what still comes of a body, up to a point."""
        left = self._most * _DRAINED
        with anyio.move_on_after(self._seconds):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return

    def _stranger(self, scope: Scope, headers: Headers) -> int | None:
        """The status of what comes from elsewhere or without the token; None for a client of ours."""
        if scope["type"] != "http" or not self._from_here(headers):
            return 403
        return None if self._known(headers.get(b"authorization", [])) else 401

    def _refusal(self, scope: Scope, headers: Headers) -> int | None:
        """The status of what is refused for its head alone; None when its head is in order."""
        if scope["path"] != PATH:
            return 404
        if scope["method"] not in METHODS:
            return 405
        return self._unreadable(headers) if scope["method"] == "POST" else None

    def _from_here(self, headers: Headers) -> bool:
        """Exactly one Host, letter for letter; an Origin, if any, of the same list."""
        hosts = headers.get(b"host", [])
        origins = headers.get(b"origin", [])
        sites = headers.get(b"sec-fetch-site", [])
        return (
            len(hosts) == 1
            and hosts[0] in self._hosts
            and (not origins or (len(origins) == 1 and origins[0] in self._origins))
            and all(site in _SITES for site in sites)
        )

    def _known(self, shown: list[bytes]) -> bool:
        """The token, behind a scheme that may be written in any way."""
        scheme, _, given = (shown[0] if len(shown) == 1 else b"").partition(b" ")
        return hmac.compare_digest(given, self._token) and scheme.lower() == _BEARER

    def _unreadable(self, headers: Headers) -> int | None:
        kinds = headers.get(b"content-type", [])
        if len(kinds) != 1 or kinds[0].split(b";")[0].strip().lower() != b"application/json":
            return 415
        if any(value.lower() != b"identity" for value in headers.get(b"content-encoding", [])):
            return 415
        for length in headers.get(b"content-length", []):
            if not length.isdigit() or len(length) > 12 or int(length) > self._most:
                return 413
        return None

    async def _body(self, receive: Receive) -> bytes | int:
        """All of a body within its bounds, or the status it is refused with; 0 for nobody to tell."""
        body = bytearray()
        with anyio.move_on_after(self._seconds) as patience:
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return 0
                body += message.get("body", b"")
                if len(body) > self._most:
                    return 413
                if not message.get("more_body", False):
                    return bytes(body)
        return 408 if patience.cancelled_caught else 0


def _headers(scope: Scope) -> Headers:
    """Every header under its name in small letters."""
    found: Headers = {}
    for name, value in scope.get("headers", ()):
        found.setdefault(name.lower(), []).append(value)
    return found


def replayed(body: bytes, receive: Receive) -> Receive:
    """What was read already, then whatever comes: that the client left."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def refuse(send: Send, status: int) -> None:
    """An answer without words: whoever is refused learns nothing."""
    headers = [(b"content-length", b"0"), (b"connection", b"close")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 405:
        headers.append((b"allow", ", ".join(METHODS).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
