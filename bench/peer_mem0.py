"""mem0ai: its default local vector store, every turn kept as it was said (`infer=False`).

Its language model is never asked: `infer=False` needs none, and the address it is given serves none.
The floor under its scores is taken away, as it is for everyone else.
"""

from __future__ import annotations

from pathlib import Path

from mem0 import Memory  # type: ignore[import-not-found]

from bench.peer_child import Embeddings, Job, serve

_USER = "reader"


class Mem0:
    """One user's memories."""

    def __init__(self, job: Job, embeddings: Embeddings, folder: Path) -> None:
        endpoint = {"api_key": "none", "openai_base_url": embeddings.url}
        held = {"path": str(folder / "qdrant"), "embedding_model_dims": job.dims}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": held},
                "embedder": {"provider": "openai", "config": {**endpoint, "model": job.model}},
                "llm": {"provider": "openai", "config": endpoint},
                "history_db_path": str(folder / "history.db"),
            }
        )

    def add(self, key: str, text: str) -> None:
        """One message; its key is metadata."""
        said = [{"role": "user", "content": text}]
        self._memory.add(said, user_id=_USER, metadata={"turn": key}, infer=False)

    def ask(self, question: str, k: int) -> list[str]:
        """The keys in its order."""
        found = self._memory.search(question, top_k=k, filters={"user_id": _USER}, threshold=0.0)
        return [one["metadata"]["turn"] for one in found["results"]]

    def close(self) -> None:
        """Close both its databases."""
        self._memory.vector_store.client.close()
        self._memory.close()


if __name__ == "__main__":
    serve(Mem0)
