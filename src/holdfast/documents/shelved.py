"""Documents on their shelf: whatever is said about one ends what stood there for it before."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model.search import EVERYBODY, Held, Page, Wanted
from holdfast.ports.search import SearchIndex

#: parts one document can have: more than the largest that is read
_MOST = 1 << 24


class Shelved:
    """The parts of documents that hold, while events are taken in that the shelf does not have yet."""

    def __init__(self, index: SearchIndex, *, empty: bool) -> None:
        self._index = index
        #: what the index holds will be thrown away
        self._empty = empty
        self._now: dict[str, list[str]] = {}
        #: parts that hold no longer, and until when they did
        self.ended: dict[str, Held] = {}

    def put(self, path: str, at: int, pages: Sequence[Page]) -> None:
        """From a time on, these pages are what the document at a path says; none when it is gone."""
        before = self._now[path] if path in self._now else self._standing(path)
        self.ended |= {one: {0: at} for one in before}
        self._now[path] = [page.document.id for page in pages]

    def _standing(self, path: str) -> list[str]:
        shelf = None if self._empty else self._index.shelf(EVERYBODY)
        if shelf is None:
            return []
        wanted = Wanted(labels=("what:document", f"path:{path}"), now=0)
        return [*self._index.ids(shelf, self._index.latest(shelf, wanted, _MOST)).values()]
