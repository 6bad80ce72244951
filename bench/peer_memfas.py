"""agent-memfas: its full-text search as it comes, and asked for any of the words.

As it comes it looks for turns with every word of the question, so it rarely answers one; `any` joins
the words with OR, which its query language understands.
"""

from __future__ import annotations

import re
from pathlib import Path

from agent_memfas import Memory  # type: ignore[import-not-found]
from agent_memfas.config import Config  # type: ignore[import-not-found]

from bench.peer_child import Embeddings, Job, serve


class Memfas:
    """One database."""

    def __init__(self, job: Job, _embeddings: Embeddings, folder: Path) -> None:
        self._any = job.way == "any"
        self._memory = Memory(Config(db_path=str(folder / "memfas.db")))

    def add(self, key: str, text: str) -> None:
        """One document, whose source is what an answer names."""
        self._memory.backend.index(key, text, {"source": key})

    def ask(self, question: str, k: int) -> list[str]:
        """The keys in its order."""
        if self._any:
            question = " OR ".join(dict.fromkeys(re.findall(r"\w+", question.lower())))
        return [one.source for one in self._memory.search(question, limit=k)]

    def close(self) -> None:
        """Close its databases."""
        self._memory.close()


if __name__ == "__main__":
    serve(Memfas)
