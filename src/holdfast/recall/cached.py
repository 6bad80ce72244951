"""An embedder whose vectors are kept: what was embedded once is never paid for again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from holdfast.ports.embed import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Cache(Protocol):
    """Vectors by the text they were made of."""

    def get(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """What is kept of each."""
        ...

    def put(self, texts: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Keep these."""
        ...


class Cached:
    """The same vectors, from the cache where they are there."""

    def __init__(self, embedder: Embedder, cache: Cache) -> None:
        self._embedder = embedder
        self._cache = cache
        self.name, self.dims, self.at_once = embedder.name, embedder.dims, embedder.at_once

    def passages(self, said: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """A row for each (speaker, text)."""
        import numpy as np

        keys = [f"{speaker}\n{text}" for speaker, text in said]
        found = self._cache.get(keys)
        missing = [n for n, row in enumerate(found) if row is None]
        if missing:
            rows = self._embedder.passages([said[n] for n in missing])
            self._cache.put([keys[n] for n in missing], rows)
            for n, row in zip(missing, rows, strict=True):
                found[n] = row
        kept = [row for row in found if row is not None]
        return np.stack(kept) if kept else np.zeros((0, self.dims), np.float32)

    def query(self, text: str, common: Callable[[str], float]) -> NDArray[np.float32]:
        """The vector of a question."""
        return self._embedder.query(text, common)
