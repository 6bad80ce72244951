"""One request to an HTTP endpoint, and no more than that: no redirect, no cookie, no proxy.

The key goes into one header of the request and nowhere else: no error quotes it, and none quotes what
the endpoint said, since some say back what they were sent.
"""

from __future__ import annotations

import http.client
import ssl
import time

import msgspec

from holdfast.errors import Unavailable
from holdfast.model.address import address, bare_key

from .once import Once

_MOST_BYTES = 64 << 20  # an answer; 64 vectors of 8,192 numbers take a fifth of it
_PIECE = 1 << 16


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back."""

    status: int
    #: the seconds its `Retry-After` asks for; 0 when it names none
    wait_s: float
    body: bytes


class Endpoint:
    """Where to send requests."""

    def __init__(self, base: str, path: str, key: str | None) -> None:
        """`path` below `base`; Invalid when base is no http address or the key cannot be sent."""
        parts = address(base, "embed.url", "http://127.0.0.1:11434/v1")
        self._secure = parts.scheme == "https"
        self._target = parts.path.rstrip("/") + path + (f"?{parts.query}" if parts.query else "")
        self._hostname = parts.hostname or ""
        self._port = parts.port
        self._context = Once(ssl.create_default_context)
        #: host and port as they were written
        self.host = parts.netloc
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            self._headers["Authorization"] = "Bearer " + bare_key(key, "the embedder's")

    def post(self, body: bytes, timeout: float) -> Answer:
        """Send this; Unavailable when no whole answer came within about `timeout` seconds."""
        deadline = time.monotonic() + timeout
        connection = self._connection(timeout)
        try:
            connection.request("POST", self._target, body, self._headers)
            with connection.getresponse() as response:
                return Answer(
                    status=response.status,
                    wait_s=_seconds(response.getheader("Retry-After")),
                    body=self._body(response, deadline),
                )
        except TimeoutError as error:
            raise self._slow() from error
        except (
            OSError,
            http.client.HTTPException,
            UnicodeError,
        ) as error:  # UnicodeError: the host
            raise Unavailable(
                f"the embedder at {self.host} did not answer ({type(error).__name__}); "
                "is it running, and is embed.url right?"
            ) from error
        finally:
            connection.close()

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(
                self._hostname, self._port, timeout=timeout, context=self._context()
            )
        return http.client.HTTPConnection(self._hostname, self._port, timeout=timeout)

    def _body(self, response: http.client.HTTPResponse, deadline: float) -> bytes:
        pieces = bytearray()
        while piece := response.read1(_PIECE):
            pieces += piece
            if len(pieces) > _MOST_BYTES:
                raise Unavailable(
                    f"the embedder at {self.host} sent more than {_MOST_BYTES >> 20} MiB; "
                    "is embed.url the address of an embedder?"
                )
            if time.monotonic() > deadline:
                raise self._slow()
        if response.length:  # http.client says nothing when read1 meets the end too early
            raise http.client.IncompleteRead(b"", response.length)
        return bytes(pieces)

    def _slow(self) -> Unavailable:
        return Unavailable(
            f"the embedder at {self.host} took too long; try again, or raise embed.timeout_s "
            "(embed.query_timeout_s for questions)"
        )


def _seconds(header: str | None) -> float:
    """Seconds a header asks for; a date, which is also allowed, counts as none."""
    text = (header or "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0.0
