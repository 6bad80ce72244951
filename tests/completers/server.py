"""A small server that speaks OpenAI's and Anthropic's protocol on loopback, well or badly.

It stands for the paid endpoints and for nothing else. By default it says back the last words it was
asked, so that a test sees what arrived.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
#: what a server does with one request instead of answering it
Trick = Callable[["Handler"], None]


class Server(ThreadingHTTPServer):
    """Answers; first goes through `tricks`, one for each request."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.tricks: list[Trick] = []
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.received = b""
        self.over = threading.Event()

    def url(self, provider: str) -> str:
        """What complete.url should be."""
        return f"http://127.0.0.1:{self.server_port}" + ("/v1" if provider == "openai" else "")


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received += body + str(self.headers).encode()
        self.server.asked.append(json.loads(body))
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.server.paths.append(self.path)
        if self.server.tricks:
            self.server.tricks.pop(0)(self)
        else:
            self.say(self.server.asked[-1]["messages"][-1]["content"])

    def say(self, text: str, **more: Any) -> None:
        """Answer well, in the protocol of the path that was asked."""
        self.send(200, answer(self.path, text, **more))

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Answer with this."""
        self.send_response(status)
        kind = {"Content-Length": str(len(body)), "Content-Type": "application/json"}
        for name, value in {**kind, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # the client has had enough
            self.close_connection = True

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


def answer(
    path: str, text: str | None, *, stopped: str = "end", tokens: tuple[int, int] | None = (7, 3)
) -> bytes:
    """The body of an answer in the protocol of a path."""
    if path.startswith(CHAT):
        reasons = {
            "end": "stop",
            "length": "length",
            "refused": "stop",
            "filtered": "content_filter",
        }
        message = {"role": "assistant", "content": text, "refusal": None}
        if stopped == "refused":
            message |= {"content": None, "refusal": text}
        choice = {"index": 0, "message": message, "finish_reason": reasons[stopped]}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m-1"}
        body |= {"choices": [choice]}
        if tokens:
            usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
            body["usage"] = {**usage, "total_tokens": sum(tokens)}
    else:
        why = {
            "end": "end_turn",
            "length": "max_tokens",
            "refused": "refusal",
            "filtered": "refusal",
        }
        blocks = [] if text is None else [{"type": "text", "text": text}]
        body = {"id": "m", "type": "message", "role": "assistant", "model": "m-1"}
        body |= {"content": blocks, "stop_reason": why[stopped], "stop_sequence": None}
        if tokens:
            body["usage"] = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
    return json.dumps(body).encode()


def says(text: str | None, **more: Any) -> Trick:
    """Answer with this text."""
    return lambda handler: handler.send(200, answer(handler.path, text, **more))


def status(code: int, body: bytes = b"{}", **headers: str) -> Trick:
    """Answer with this status."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.send(code, body, named)


def raw(body: bytes) -> Trick:
    """Answer 200 with this body."""
    return status(200, body)


def hangs(handler: Handler) -> None:
    """Never answer."""
    handler.server.over.wait()
    handler.close_connection = True


def stops_half_way(handler: Handler) -> None:
    """Promise more than is sent."""
    body = answer(handler.path, "never heard of to the end")
    handler.send(200, body[: len(body) // 2], {"Content-Length": str(len(body))})
    handler.close_connection = True


def dribbles_headers(handler: Handler) -> None:
    """Begin an answer and send one header after the other, for as long as somebody listens."""
    _forever(handler, b"X-More: 1\r\n", b"HTTP/1.1 200 OK\r\n")


def dribbles(handler: Handler) -> None:
    """Send one byte of the body after the other, for as long as somebody listens."""
    _forever(handler, b" ", b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")


def _forever(handler: Handler, piece: bytes, first: bytes) -> None:
    handler.close_connection = True
    try:
        handler.wfile.write(first)
        while not handler.server.over.wait(0.02):
            handler.wfile.write(piece)
    except OSError:
        return
