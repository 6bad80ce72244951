"""Embeddings for peers: OpenAI's `/v1/embeddings` on the loopback, answered by one of our embedders.

The protocol does not say whether a text is a question or a passage, so every text is embedded as a
passage that nobody in particular said.
"""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

import msgspec

from holdfast.ports.embed import Embedder

PATH = "/v1/embeddings"


class _Asked(msgspec.Struct, frozen=True):
    input: str | list[str]
    model: str = ""
    encoding_format: str = "float"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave together, else the client waits for the second packet
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        """Answer one request; what it gets wrong is told in the answer."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path != PATH:
            self._say(404, {"error": {"message": f"only {PATH} is served here"}})
            return
        try:
            asked = msgspec.json.decode(body, type=_Asked)
        except (msgspec.DecodeError, UnicodeDecodeError) as exc:
            self._say(400, {"error": {"message": str(exc)}})
            return
        if asked.encoding_format != "float":
            self._say(400, {"error": {"message": "encoding_format is float"}})
            return
        texts = [asked.input] if isinstance(asked.input, str) else asked.input
        self._say(200, self.server.embedded(texts))

    def _say(self, status: int, answer: object) -> None:
        body = msgspec.json.encode(answer)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it is called by
        """Say nothing: standard error shows how far the benchmark is."""


class _Server(ThreadingHTTPServer):
    """Serves on a listener that somebody else opened."""

    daemon_threads = True

    def __init__(self, listener: socket.socket, embedder: Embedder) -> None:
        super().__init__(listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self._embedder = embedder

    def embedded(self, texts: list[str]) -> dict[str, object]:
        """The answer that OpenAI would give."""
        rows = self._embedder.passages([("", text) for text in texts]).tolist()
        data = [
            {"object": "embedding", "index": place, "embedding": row}
            for place, row in enumerate(rows)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        return {"object": "list", "data": data, "model": self._embedder.name, "usage": usage}


class EmbeddingServer:
    """One embedder behind any number of listeners, until it is left."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._stack = ExitStack()

    def listen(self) -> str:
        """Open a listener of our own and serve it; its address."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.adopt(listener)
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"

    def adopt(self, listener: socket.socket) -> None:
        """Serve a listener from now on, and close it in the end."""
        server = self._stack.enter_context(_Server(listener, self.embedder))
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        self._stack.callback(thread.join)
        self._stack.callback(server.shutdown)

    def __enter__(self) -> EmbeddingServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()
