"""The line under a vendor's package: one request, one bounded answer, and no more than that.

The packages bring a retry of their own, redirects, proxies, and headers from the environment. None of
that gets through here: what leaves has a few headers that are named below and the one key, and what
comes back is read whole, up to a size and a moment that are set for each request, before anything
looks at it. The moment holds for every single read, so that a peer that sends one byte after the other
gains nothing; the one thing that is not under it is the look-up of a name.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import httpcore2
import httpx2
import msgspec

_PIECE = 1 << 16
#: what a package may say beside the key
_HEADERS = frozenset({"host", "content-type", "content-length", "accept", "anthropic-version"})


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back."""

    status: int
    #: the seconds its `Retry-After` asks for; 0 when it names none
    wait_s: float
    body: bytes


class Wire(httpx2.BaseTransport):
    """Carries one request; what became of it stands in its fields afterwards."""

    def __init__(
        self,
        key: Mapping[str, str],
        *,
        until: float,
        most_bytes: int,
        context: Callable[[], ssl.SSLContext],
    ) -> None:
        """`until` is a moment of `time.monotonic`; `key` the header that holds the key, if any."""
        self._key = dict(key)
        self._until = until
        self._most = most_bytes
        self._context = context
        #: the whole answer
        self.answer: Answer | None = None
        #: the question may have arrived
        self.sent = False
        #: why there is no answer: late, large, or the name of an error; empty before it was tried
        self.trouble = ""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it, once."""
        if self.answer is not None or self.sent:
            raise httpx2.ConnectError("one request is all that is sent")
        try:
            self.answer = self._exchange(request)
        except httpcore2.TimeoutException:
            self.trouble = "late"
        except _TooMuch:
            self.trouble = "large"
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError, UnicodeError) as error:
            self.trouble = type(error).__name__
        if self.answer is None:
            raise httpx2.ReadError(self.trouble)
        kind = {"content-type": "application/json"}
        return httpx2.Response(self.answer.status, headers=kind, content=self.answer.body)

    def _exchange(self, request: httpx2.Request) -> Answer:
        url = request.url
        secure = url.scheme == "https"
        headers = [(n, v) for n, v in request.headers.items() if n.lower() in _HEADERS]
        headers += [*self._key.items(), ("accept-encoding", "identity")]
        headers += [("user-agent", "holdfast"), ("connection", "close")]
        with httpcore2.ConnectionPool(
            ssl_context=self._context() if secure else None,
            max_connections=1,
            network_backend=_InTime(self._until, self._on_its_way),
        ) as pool:
            asked = httpcore2.Request(
                request.method,
                httpcore2.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=headers,
                content=request.read(),
            )
            found = pool.handle_request(asked)
            try:
                body = self._body(found)
            finally:
                found.close()
        return Answer(status=found.status, wait_s=_seconds(found.headers), body=body)

    def _on_its_way(self) -> None:
        self.sent = True

    def _body(self, found: httpcore2.Response) -> bytes:
        pieces = bytearray()
        for piece in found.iter_stream():
            pieces += piece
            if len(pieces) > self._most:
                raise _TooMuch
        return bytes(pieces)


class _TooMuch(Exception):
    """More came than can have been asked for."""


class _InTime(httpcore2.NetworkBackend):
    """The network, up to a moment."""

    def __init__(self, until: float, on_its_way: Callable[[], None]) -> None:
        self._until = until
        self._on_its_way = on_its_way
        self._plain = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002  (one moment holds for all of it)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        stream = self._plain.connect_tcp(
            host, port, _left(self._until), local_address, socket_options
        )
        return _Stream(stream, self._until, self._on_its_way)


class _Stream(httpcore2.NetworkStream):
    """A connection, up to a moment."""

    def __init__(
        self, inner: httpcore2.NetworkStream, until: float, on_its_way: Callable[[], None]
    ) -> None:
        self._inner = inner
        self._until = until
        self._on_its_way = on_its_way

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._inner.read(max_bytes, _left(self._until))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        if buffer:
            self._on_its_way()
        for start in range(0, len(buffer), _PIECE):
            self._inner.write(buffer[start : start + _PIECE], _left(self._until))

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, _left(self._until))
        return _Stream(inner, self._until, self._on_its_way)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def close(self) -> None:
        self._inner.close()


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("the time is over")
    return left


def _seconds(headers: Iterable[tuple[bytes, bytes]]) -> float:
    """Seconds the headers ask to wait; a date, which is also allowed, counts as none."""
    asked = next((value for name, value in headers if name.lower() == b"retry-after"), b"").strip()
    return float(asked) if asked.isdigit() and len(asked) < 9 else 0.0
