"""Where what can be found is kept: shelves of documents, by their words.

What every engine must keep, and what tests/contract/test_search_index.py proves on each:

- documents and position change together or not at all, and of several writers each advance happens once;
- a shelf answers for its owner's documents and for nothing else, statistics included;
- `matching` gives passages holding any of the words, best first, equal ones by number, none that is not
  wanted; any text may stand among the words;
- what cannot be read is Damaged, trouble that may pass is Unavailable, never a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from holdfast.model.events import Position
from holdfast.model.search import Document, Held, Page, Passage, Size, Wanted

#: called with a shelf and its new passages once they are numbered, before they count
Numbered = Callable[[int, Sequence[Passage]], None]


class SearchIndex(Protocol):
    """The shelves of one project."""

    def position(self) -> Position | None:
        """How far of the log they include; None when there are none."""
        ...

    def edition(self) -> str:
        """Changes when everything is made anew: numbers of another edition mean nothing."""
        ...

    def shelf(self, owner: str) -> int | None:
        """The number of an owner's shelf."""
        ...

    def owned(self) -> list[int]:
        """Every shelf."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """Everything read inside belongs to one position."""
        ...

    def add(
        self,
        base: Position | None,
        pages: Sequence[Page],
        position: Position,
        *,
        anew: bool = False,
        held: Mapping[str, Held] | None = None,
        numbered: Numbered | None = None,
    ) -> bool:
        """Advance from `base` to `position`; False when the shelves are no longer at `base`.

        A page whose id and revision are there already is left out. `held` says of a memory until when
        each of its revisions held, FOREVER for the one that still does; one it does not name never did.
        """
        ...

    def recent(self, owner: str, session: str, most: int) -> list[Passage]:
        """The last passages of a session's turns, oldest first."""
        ...

    def size(self, shelf: int) -> Size:
        """How much is on it."""
        ...

    def frequency(self, shelf: int, words: Iterable[str]) -> dict[str, int]:
        """In how many passages each of these words occurs."""
        ...

    def matching(self, shelf: int, words: Sequence[str], wanted: Wanted, most: int) -> list[int]:
        """The passages that say most of these words, best first."""
        ...

    def fitting(self, shelf: int, numbers: Sequence[int], wanted: Wanted) -> list[int]:
        """Those of these passages that are wanted, in the same order."""
        ...

    def few(self, shelf: int, wanted: Wanted, most: int) -> list[int] | None:
        """Every passage that is wanted, if there are no more than so many; else None."""
        ...

    def latest(self, shelf: int, wanted: Wanted, most: int) -> list[int]:
        """The documents that are wanted, the latest first."""
        ...

    def near(self, shelf: int, wanted: Wanted, moments: Sequence[int], most: int) -> list[int]:
        """Documents whose time is nearest to one of these moments."""
        ...

    def passages(self, shelf: int, numbers: Sequence[int]) -> list[Passage]:
        """These passages, by number."""
        ...

    def passages_of(self, shelf: int, documents: Sequence[int]) -> list[Passage]:
        """Every passage of these documents, by number."""
        ...

    def numbers_of(self, shelf: int, documents: Sequence[int]) -> dict[int, list[int]]:
        """The numbers of the passages of these documents, in order."""
        ...

    def owners(self, shelf: int, numbers: Sequence[int]) -> dict[int, int]:
        """The documents these passages belong to."""
        ...

    def made_by(self, shelf: int, seqs: Sequence[int], wanted: Wanted) -> list[int]:
        """The documents that these events made, if they are wanted."""
        ...

    def ids(self, shelf: int, documents: Sequence[int]) -> dict[int, str]:
        """The ids of these documents."""
        ...

    def documents(self, shelf: int, numbers: Sequence[int]) -> dict[int, Document]:
        """These documents."""
        ...

    def beside(self, shelf: int, documents: Sequence[int]) -> dict[int, tuple[int, int]]:
        """The turn before and after each in its session; 0 where there is none, and for memories."""
        ...

    def discard(self) -> None:
        """Throw away everything, whatever state it is in."""
        ...
