"""agent-memfas' context manager, in the process that has it installed (`bench.compact_peer`).

Used as its README shows: the context is a list of texts behind callbacks, tokens are characters by four,
each new message is told with `on_message` and `set_current_prompt`, and `before_response` compacts by
itself when half the window is used. With `way` "memory" it is given `memfas_memory_path`, as the README
has it; else it compares words, as it does without. Its vectors cannot be had: the context manager hands
no embedder on.
"""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

from agent_memfas.context import ContextManager  # type: ignore[import-not-found]

from bench.peer_child import Embeddings, Job, serve

_CONFIG = "memfas.yaml"


class MemfasContext:
    """One context, and its cold storage."""

    def __init__(self, job: Job, _embeddings: Embeddings, folder: Path) -> None:
        self._folder = folder
        self._memory = job.way == "memory"
        self._texts: list[str] = []
        self._keys: dict[str, str] = {}
        self._manager: ContextManager | None = None

    def add(self, key: str, text: str) -> None:
        """Put one text at the end of the context."""
        self._texts.append(text)
        self._keys.setdefault(text, key)

    def compact(self, prompt: str, keep: int | None) -> dict[str, list[str]]:
        """What is left of the context, and what its cold storage holds.

        With `keep` its settings are such that the so many best texts stay, and no others.
        """
        chosen: dict[str, float] = {}
        if keep is not None:
            chosen = {
                "relevance_keep_threshold": 1e9,
                "relevance_cutoff": 1e9,
                "min_chunks_to_keep": keep,
            }
        config = self._folder / _CONFIG
        config.write_text(json.dumps({"context": chosen}), "utf-8")  # JSON is YAML
        with chdir(self._folder):
            self._manager = manager = ContextManager(
                config_path=str(config),
                memfas_memory_path=str(config) if self._memory else None,
                get_context=lambda: self._texts,
                set_context=self._set,
                get_token_count=lambda: sum(map(_size, self._texts)),
                get_messages=lambda n: [{"role": "user", "content": t} for t in self._texts[-n:]],
            )
            manager.on_message(prompt, self._texts)
            manager.set_current_prompt(prompt)
            manager.before_response(max_tokens=sum(map(_size, self._texts)))
        copies = sorted((self._folder / "cold-storage").glob("*/*.jsonl"))
        cold = [json.loads(copy.read_text("utf-8"))["content"] for copy in copies]
        return {"window": self._texts, "cold": cold}

    def _set(self, texts: list[str]) -> None:
        self._texts = list(texts)

    def ask(self, question: str, k: int) -> list[str]:
        """The keys of what it recovers for a question."""
        if self._manager is None:
            return []
        with chdir(self._folder):
            return [self._keys[text] for text in self._manager.recover(question)[:k]]

    def close(self) -> None:
        """It holds nothing open."""


def _size(text: str) -> int:
    """Its tokens, as its README counts them."""
    return len(text) // 4


if __name__ == "__main__":
    serve(MemfasContext)
