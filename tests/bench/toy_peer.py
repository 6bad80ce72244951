"""A peer that needs nothing: it ranks by the parent's vectors, and misbehaves when it is told to."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from bench.peer_child import Embeddings, Job, serve

#: an address for documentation, which nobody has
ELSEWHERE = "192.0.2.1"
_REACH = f"import socket; socket.create_connection(('{ELSEWHERE}', 80), 5)"


class Toy:
    """Every turn by its vector."""

    def __init__(self, job: Job, embeddings: Embeddings, folder: Path) -> None:
        self._way = job.way
        self._embeddings = embeddings
        self._folder = folder
        self._kept: dict[str, list[float]] = {}

    def add(self, key: str, text: str) -> None:
        """Keep its vector."""
        print("a peer may print what it likes")
        (self._kept[key],) = self._embeddings([text])

    def ask(self, question: str, k: int) -> list[str]:
        """The nearest first, unless this is a toy of another kind."""
        match self._way:
            case "breaks":
                raise LookupError("the toy broke")
            case "dies":
                sys.exit("the toy is dead")
            case "calls home":
                try:
                    socket.create_connection((ELSEWHERE, 80), 5)
                except OSError:
                    return []
            case "escapes":  # a second Python knows nothing of what the first was told to refuse
                done = subprocess.run([sys.executable, "-c", _REACH], capture_output=True)
                return done.stderr.decode().strip().splitlines()[-1:]
        (asked,) = self._embeddings([question])
        scores = {key: sum(map(_product, asked, row)) for key, row in self._kept.items()}
        return sorted(scores, key=lambda key: (-scores[key], key))[:k]

    def close(self) -> None:
        """Nothing is open."""


def _product(a: float, b: float) -> float:
    return a * b


if __name__ == "__main__":
    serve(Toy)
