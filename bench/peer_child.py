"""The process of a peer: no way out of the machine, and one question after another from its parent.

It runs in the peer's own environment, so it needs the standard library alone. The first line of its
standard input is a `Job` as JSON; every further line is a request, answered by one line. What the peer
itself prints goes to standard error. A request that fails is answered with the peer's own error.

Offline means: in a network namespace of its own there is nothing but the loopback, and the parent
serves its embeddings on a listener that was opened in there. Everywhere Python is told to refuse, and
remember, whatever address is not of this machine; without a namespace that is all there is.
"""

from __future__ import annotations

import fcntl
import http.client
import importlib.metadata
import ipaddress
import json
import os
import re
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

#: what Python does when a socket is about to reach for an address, and where the address stands
_REACHES = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.sendmsg": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
}
_READ_FLAGS, _WRITE_FLAGS, _UP = 0x8913, 0x8914, 1
_INTERFACE = "16sH14x"
_ROUTES = Path("/proc/self/net/route")
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a peer is told before it starts."""

    #: which of several ways to use the peer
    way: str
    #: names and width of the vectors
    model: str
    dims: int
    #: the distributions whose versions are told, and those that were installed
    named: list[str]
    installed: list[str]
    #: where embeddings are served; empty in a network namespace, where they are yet to be
    url: str
    #: in a network namespace the descriptor that takes the listener to the parent, else -1
    door: int


class Store(Protocol):
    """A peer that holds one conversation."""

    def add(self, key: str, text: str) -> None:
        """Keep one turn; it can be found when this returns."""
        ...

    def ask(self, question: str, k: int) -> list[str]:
        """The keys of at most k turns, best first."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


class Compacting(Store, Protocol):
    """A peer that makes room in a context."""

    def compact(self, prompt: str, keep: int | None) -> dict[str, list[str]]:
        """What is left of what was added, and what can be had back."""
        ...


Opener = Callable[[Job, "Embeddings", Path], Store]


class Embeddings:
    """Asks the parent for vectors, as OpenAI's `/v1/embeddings` is asked, over one connection."""

    def __init__(self, url: str, model: str) -> None:
        self.url = url
        self._model = model
        host = url.removeprefix("http://").partition("/")[0]
        self._connection = http.client.HTTPConnection(host, timeout=600)

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text."""
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        self._connection.request(
            "POST", "/v1/embeddings", json.dumps(body), {"Content-Type": "application/json"}
        )
        with self._connection.getresponse() as response:
            answered = response.read()
        if response.status != 200:
            raise OSError(f"embeddings: {response.status} {answered.decode()}")
        return [one["embedding"] for one in json.loads(answered)["data"]]

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        self._connection.close()


# ---- offline -----------------------------------------------------------------------------------


def is_of_this_machine(host: object) -> bool:
    """Whether a host is the loopback or no host at all; a name other than localhost is not."""
    said = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if not isinstance(said, str) or said in ("", "localhost"):  # numbers: no network's address
        return True
    try:
        return ipaddress.ip_address(said).is_loopback
    except ValueError:
        return False


def refuse_the_world() -> list[str]:
    """From now on this process reaches for nothing but itself; the list grows with what it tried."""
    tried: list[str] = []

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _REACHES:
            return
        address = arguments[_REACHES[event]]
        by_name = event.startswith("socket.get")
        if not by_name and not isinstance(address, tuple):  # a socket of the file system
            return
        host = address if by_name else address[0]
        if not is_of_this_machine(host):
            tried.append(str(host))
            raise PermissionError(f"offline: {host} was refused")

    sys.addaudithook(watch)
    return tried


def raise_loopback() -> None:
    """Switch on the loopback of a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        held = fcntl.ioctl(any_socket, _READ_FLAGS, struct.pack(_INTERFACE, b"lo", 0))
        flags = struct.unpack(_INTERFACE, held)[1]
        fcntl.ioctl(any_socket, _WRITE_FLAGS, struct.pack(_INTERFACE, b"lo", flags | _UP))


def hand_over_listener(door: int) -> str:
    """Open a listener in this namespace, give it to the parent, and say its address."""
    if len(_ROUTES.read_text().splitlines()) > 1:
        raise OSError("this network namespace has a route to somewhere else")
    raise_loopback()
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(fileno=door) as parent,
    ):
        socket.send_fds(parent, [b"listener"], [listener.fileno()])
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


# ---- what is installed -------------------------------------------------------------------------


def closure(packages: Iterable[str]) -> Iterator[importlib.metadata.Distribution]:
    """These distributions and what they need, extras left out, as far as it is installed."""
    waiting, seen = list(packages), set()
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        with suppress(importlib.metadata.PackageNotFoundError):
            found = importlib.metadata.distribution(name)
            yield found
            for needed in found.requires or ():
                bare = _NAME.match(needed)
                if bare and not re.search(r"\bextra\b", needed.partition(";")[2]):
                    waiting.append(bare.group())


def size(packages: Iterable[str]) -> int:
    """Bytes of all files of these distributions and of what they need."""
    paths = {Path(str(file.locate())) for one in closure(packages) for file in one.files or ()}
    return sum(path.stat().st_size for path in paths if path.is_file())


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The version of each."""
    return {name: importlib.metadata.version(name) for name in packages}


# ---- requests ----------------------------------------------------------------------------------


class Answering:
    """One peer, asked by its parent; `open` makes it anew for every conversation."""

    def __init__(self, job: Job, opener: Opener, embeddings: Embeddings, tried: list[str]) -> None:
        self._job = job
        self._opener = opener
        self._embeddings = embeddings
        self._tried = tried
        self._store: Store | None = None

    def __call__(self, said: dict[str, Any]) -> dict[str, Any]:
        """Answer one request."""
        match said["op"]:
            case "about":
                job = self._job
                return {"versions": versions(job.named), "bytes": size(job.installed)}
            case "add":
                return {"seconds": self._add(said["turns"])}
            case "ask":
                start = time.perf_counter()
                found = self._held().ask(said["question"], said["k"])
                return {"seconds": time.perf_counter() - start, "found": found}
            case "compact":
                start = time.perf_counter()
                left = cast("Compacting", self._held()).compact(said["prompt"], said["keep"])
                return {"seconds": time.perf_counter() - start, **left}
            case "embed":
                start = time.perf_counter()
                self._embeddings([said["text"]])
                return {"seconds": time.perf_counter() - start}
            case "tried":
                return {"tried": self._tried}
        raise ValueError(f"no such request: {said['op']}")

    def _add(self, turns: Sequence[tuple[str, str]]) -> float:
        """A fresh store with these turns; the seconds they took."""
        self.close()
        folder = Path(tempfile.mkdtemp())
        self._store = self._opener(self._job, self._embeddings, folder)
        start = time.perf_counter()
        for key, text in turns:
            self._store.add(key, text)
        return time.perf_counter() - start

    def _held(self) -> Store:
        if self._store is None:
            raise ValueError("nothing was added yet")
        return self._store

    def close(self) -> None:
        """Let go of the conversation."""
        if self._store is not None:
            self._store.close()
        self._store = None


def serve(opener: Opener) -> None:
    """Answer the parent until it has no more requests."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as parent:
        os.dup2(2, 1)
        job = Job(**json.loads(sys.stdin.readline()))
        url = job.url or hand_over_listener(job.door)
        tried = refuse_the_world()
        embeddings = Embeddings(url, job.model)
        answering = Answering(job, opener, embeddings, tried)
        for line in sys.stdin:
            try:
                answer = answering(json.loads(line))
            except Exception as exc:  # noqa: BLE001 - whatever the peer raises is its answer
                answer = {"error": f"{type(exc).__name__}: {exc}", "tried": tried}
            print(json.dumps(answer), file=parent, flush=True)
        answering.close()
        embeddings.close()
