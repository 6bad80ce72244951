"""A peer that compacts and needs nothing: the longest texts stay, and it misbehaves when told to."""

from __future__ import annotations

from pathlib import Path

from bench.peer_child import Embeddings, Job, serve


class Toy:
    """Texts, the longest of which stay."""

    def __init__(self, job: Job, _embeddings: Embeddings, _folder: Path) -> None:
        self._way = job.way
        self._texts: dict[str, str] = {}

    def add(self, key: str, text: str) -> None:
        """Hold it."""
        self._texts[key] = text

    def compact(self, prompt: str, keep: int | None) -> dict[str, list[str]]:
        """The so many longest stay, or those that hold the prompt; the rest is copied."""
        if self._way == "breaks":
            raise LookupError("the toy broke")
        texts = list(self._texts.values())
        best = sorted(texts, key=lambda text: (-len(text), text))
        stay = [one for one in texts if prompt in one] if keep is None else best[:keep]
        cold = [one for one in texts if one not in stay]
        return {"window": stay, "cold": [one.strip() for one in cold]}

    def ask(self, question: str, k: int) -> list[str]:
        """What holds the question."""
        return [key for key, text in self._texts.items() if question in text][:k]

    def close(self) -> None:
        """Nothing is open."""


if __name__ == "__main__":
    serve(Toy)
