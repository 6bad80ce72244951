"""Vectors that take their time: made behind, newest first, while recall answers without them."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from weakref import WeakSet

from holdfast.errors import HoldfastError
from holdfast.ports.embed import ANY_NUMBER, Embedder
from holdfast.ports.search import SearchIndex
from holdfast.ports.vectors import Vectors

#: passages embedded before they are kept; a batch of MiniLM takes about a quarter of a second
BATCH = 8
#: passages looked for at once
_AHEAD = 512


#: those that may be at work; a process that ends in the middle of a model's batch is aborted
_at_work: WeakSet[Filler] = WeakSet()


@atexit.register
def _stop_all() -> None:
    for filler in list(_at_work):
        if filler.pid == os.getpid():  # a child has no such thread
            filler.stop()


class Filler:
    """Fills what is missing in the vectors of one index."""

    def __init__(
        self,
        index: SearchIndex,
        arms: Sequence[tuple[Embedder, Vectors]],
        tell: Callable[[str], None],
        lock: AbstractContextManager[object],
    ) -> None:
        #: held by whoever makes numbers mean something else
        self._lock = lock
        self._index = index
        self._arms = arms
        self._tell = tell
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._one = threading.Lock()
        #: passages known to be without a vector
        self.left = 0
        self.pid = os.getpid()

    def start(self) -> None:
        """Fill in the background, unless that is under way; the process waits for a batch to end."""
        _at_work.add(self)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._behind, daemon=True, name="holdfast-fill")
            self._thread.start()

    def stop(self) -> None:
        """End after the batch that is under way."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _behind(self) -> None:
        try:
            self.fill()
        except HoldfastError as exc:
            self._tell(f"vectors could not be made: {exc}")

    def fill(
        self, progress: Callable[[int, int], None] | None = None, *, quick: bool = False
    ) -> None:
        """Make every vector that is missing; `progress` gets how many are made and how many lack.

        With `quick`, only those that can be made while somebody waits.
        """
        with self._one:
            for embedder, vectors in self._arms:
                if quick and embedder.at_once < ANY_NUMBER:
                    continue
                vectors.use(self._index.edition())
                for owner in self._index.owned():
                    self._fill(embedder, vectors, owner, progress)

    def _fill(
        self,
        embedder: Embedder,
        vectors: Vectors,
        shelf: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        through, made, tried = self._index.size(shelf).passages, 0, set[int]()
        while not self._stop.is_set():
            ahead = _AHEAD + len(tried)  # a text that embeds to nothing stays missing
            missing = [n for n in vectors.missing(shelf, through, ahead) if n not in tried]
            self.left = len(missing)
            if not missing:
                return
            size = min(_AHEAD, max(BATCH, embedder.at_once))
            for first in range(0, len(missing), size):
                if self._stop.is_set():
                    return
                some = missing[first : first + size]
                tried.update(some)
                made += self._batch(embedder, vectors, shelf, some)
                self.left -= len(some)
                if progress is not None:
                    progress(made, through)

    def _batch(self, embedder: Embedder, vectors: Vectors, shelf: int, numbers: list[int]) -> int:
        edition = self._index.edition()
        passages = self._index.passages(shelf, numbers)
        documents = self._index.documents(shelf, sorted({p.document for p in passages}))
        said = [(documents[p.document].speaker, p.text) for p in passages]
        rows = embedder.passages(said)
        with self._lock:
            if self._index.edition() != edition:
                return 0  # these numbers are other passages by now
            vectors.use(edition)
            vectors.set(shelf, [p.number for p in passages], rows)
        return len(passages)
