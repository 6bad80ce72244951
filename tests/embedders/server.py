"""A small server that speaks OpenAI's `/embeddings` on loopback, well or badly, as a test asks.

Its vectors are sums of one fixed vector for each word, so texts that share words are alike.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

DIMS = 64
#: what a server does with one request instead of answering it
Trick = Callable[["Handler", list[str]], None]


class Server(ThreadingHTTPServer):
    """Answers with vectors; first goes through `tricks`, one for each request."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.tricks: list[Trick] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.over = threading.Event()

    @property
    def url(self) -> str:
        """What embed.url should be."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def texts(self) -> list[str]:
        """Every text it was asked about, in order."""
        return [text for asked in self.asked for text in asked["input"]]


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked = json.loads(body)
        self.server.asked.append(asked)
        self.server.keys.append(self.headers["Authorization"])
        self.server.paths.append(self.path)
        if self.server.tricks:
            self.server.tricks.pop(0)(self, asked["input"])
        else:
            self.send(200, answer(asked["input"]))

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Answer with this."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Server]:
    """A server, for as long as the block lasts."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


def vector(text: str) -> list[float]:
    """Not of unit length: that is left to the client."""
    total = np.zeros(DIMS)
    for word in re.findall(r"\w+", text.lower()) or [text]:
        digest = hashlib.shake_256(word.encode("utf-8")).digest(DIMS)
        total += np.frombuffer(digest, np.uint8).astype(np.float64) - 127.5
    return [float(number) for number in total]


def answer(texts: list[str], order: Callable[[list[Any]], list[Any]] = list) -> bytes:
    """The body of a good answer, its items in any order."""
    items = [
        {"object": "embedding", "index": place, "embedding": vector(text)}
        for place, text in enumerate(texts)
    ]
    body = {"object": "list", "data": order(items), "model": "m", "usage": {"total_tokens": 1}}
    return json.dumps(body).encode()


def status(code: int, body: bytes = b"{}", **headers: str) -> Trick:
    """Answer with this status."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, texts: handler.send(code, body, named)


def says(body: bytes) -> Trick:
    """Answer 200 with this body."""
    return status(200, body)


def hangs(handler: Handler, texts: list[str]) -> None:
    """Never answer."""
    handler.server.over.wait()
    handler.close_connection = True


def stops_half_way(handler: Handler, texts: list[str]) -> None:
    """Promise more than is sent."""
    body = answer(texts)
    handler.send(200, body[: len(body) // 2], {"Content-Length": str(len(body))})


def dribbles(handler: Handler, texts: list[str]) -> None:
    """Send one byte after the other, for as long as somebody listens."""
    handler.send_response(200)
    handler.end_headers()
    try:
        while not handler.server.over.wait(0.02):
            handler.wfile.write(b" ")
    except OSError:
        handler.close_connection = True


def floods(handler: Handler, texts: list[str]) -> None:
    """Send without end."""
    handler.send_response(200)
    handler.end_headers()
    try:
        while not handler.server.over.is_set():
            handler.wfile.write(b" " * (1 << 20))
    except OSError:
        handler.close_connection = True
