"""LangGraph's stores: `InMemoryStore`, and `SqliteStore` on a file; both with an index over `text`.

SqliteStore loads an extension into SQLite, which many a Python cannot; `pysqlite3` then takes the place
of the standard library's module.
"""

from __future__ import annotations

import importlib
import sqlite3
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.peer_child import Embeddings, Job, serve

_SPACE = ("turns",)


def _opened(job: Job, embeddings: Embeddings, folder: Path, stack: ExitStack) -> Any:
    index = {"dims": job.dims, "embed": embeddings.__call__, "fields": ["text"]}
    if job.way == "memory":
        return importlib.import_module("langgraph.store.memory").InMemoryStore(index=index)
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        sys.modules["sqlite3"] = importlib.import_module("pysqlite3")
    made = importlib.import_module("langgraph.store.sqlite").SqliteStore.from_conn_string(
        str(folder / "store.db"), index=index
    )
    store = stack.enter_context(made)
    store.setup()
    return store


class LangGraph:
    """One namespace of a store."""

    def __init__(self, job: Job, embeddings: Embeddings, folder: Path) -> None:
        self._stack = ExitStack()
        self._store = _opened(job, embeddings, folder, self._stack)

    def add(self, key: str, text: str) -> None:
        """One item of the store."""
        self._store.put(_SPACE, key, {"text": text})

    def ask(self, question: str, k: int) -> list[str]:
        """The keys in its order."""
        return [item.key for item in self._store.search(_SPACE, query=question, limit=k)]

    def close(self) -> None:
        """Close its file, when it has one."""
        self._stack.close()


if __name__ == "__main__":
    serve(LangGraph)
