"""Gathering: every arm names documents that may be meant; together they are the pool that is ranked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import HoldfastError
from holdfast.model.recall import RecallSettings
from holdfast.model.search import Document, Passage, Wanted
from holdfast.ports.embed import Embedder
from holdfast.ports.search import SearchIndex
from holdfast.ports.vectors import Vectors
from holdfast.text.dates import Day

from .question import Question, Rarity, rarity, searched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: a filter that leaves fewer passages than this is applied before vectors are compared
_FEW = 5_000


class Shelf(msgspec.Struct, frozen=True, kw_only=True):
    """One owner's shelf in one log, as it is searched."""

    project: str
    index: SearchIndex
    number: int
    #: by embedder, in order of quality, the best last
    vectors: tuple[Vectors, ...]
    wanted: Wanted
    passages: int
    #: events that are still open: unanswered, unresolved, not done
    open: frozenset[int] = frozenset()


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A document that may be meant."""

    shelf: int
    number: int
    document: Document
    passages: tuple[Passage, ...]
    #: the passages of the turn that followed it in its session
    next: tuple[int, ...] = ()
    before: int = 0
    after: int = 0


def rare(shelves: Sequence[Shelf], asked: Question, settings: RecallSettings) -> Rarity:
    """How rare the question's words are on these shelves taken together."""

    def each() -> Iterator[tuple[int, int, dict[str, int]]]:
        for shelf in shelves:
            size = shelf.index.size(shelf.number)
            found = shelf.index.frequency(shelf.number, asked.words)
            yield size.passages, size.words, found

    return rarity(each(), settings)


Queries = Sequence["NDArray[np.float32] | None"]


class Gatherer:
    """The arms, one method each; `pool` is the list of them."""

    def __init__(
        self, asked: Question, settings: RecallSettings, queries: Queries, rarity: Rarity
    ) -> None:
        self._asked = asked
        self._settings = settings
        self._queries = queries
        self._words = searched(asked.words, rarity, settings.searched_passages)

    def pool(self, shelves: Sequence[Shelf]) -> list[Candidate]:
        """Every document an arm names, once, by shelf and number."""
        return [
            candidate
            for place, shelf in enumerate(shelves)
            for candidate in self._candidates(place, shelf)
        ]

    def _candidates(self, place: int, shelf: Shelf) -> Iterable[Candidate]:
        arms: list[Callable[[Shelf], Iterable[int]]] = [
            self.lexical,
            self.similar,
            self.decided,
            self.dated,
            self.unfinished,
            self.standing,
        ]
        numbers = sorted({number for arm in arms for number in arm(shelf)})
        documents = shelf.index.documents(shelf.number, numbers)
        beside = shelf.index.beside(shelf.number, numbers)
        following = sorted({after for _, after in beside.values() if after})
        behind = shelf.index.numbers_of(shelf.number, following)
        passages: dict[int, list[Passage]] = {}
        for passage in shelf.index.passages_of(shelf.number, numbers):
            passages.setdefault(passage.document, []).append(passage)
        for number in numbers:
            before, after = beside.get(number, (0, 0))
            yield Candidate(
                shelf=place,
                number=number,
                document=documents[number],
                passages=tuple(passages.get(number, ())),
                next=tuple(behind.get(after, ())),
                before=before,
                after=after,
            )

    def lexical(self, shelf: Shelf) -> Iterable[int]:
        """By words, rare ones more."""
        most = self._settings.candidates
        return self._owners(
            shelf, shelf.index.matching(shelf.number, self._words, shelf.wanted, most)
        )

    def similar(self, shelf: Shelf) -> Iterable[int]:
        """By meaning, for each embedder."""
        few = shelf.index.few(shelf.number, shelf.wanted, _FEW)
        for vectors, query in zip(shelf.vectors, self._queries, strict=True):
            if query is not None:
                yield from self._owners(shelf, self._nearest(shelf, vectors, query, few))

    def _nearest(
        self,
        shelf: Shelf,
        vectors: Vectors,
        query: NDArray[np.float32],
        few: list[int] | None,
    ) -> list[int]:
        import numpy as np

        most = self._settings.candidates
        if few is not None:
            near = vectors.similar(shelf.number, query, few, shelf.passages)
            near = np.where(np.isnan(near), -2, near)
            best = np.argsort(-near, kind="stable")[:most]
            return [few[n] for n in best if near[n] > -2]
        asked = most + most // 4
        while True:  # nearly all are wanted nearly always
            numbers, _ = vectors.nearest(shelf.number, query, asked, shelf.passages)
            fit = shelf.index.fitting(shelf.number, numbers.tolist(), shelf.wanted)
            if len(fit) >= most or len(numbers) < asked:
                return fit[:most]
            asked *= 8

    def decided(self, shelf: Shelf) -> Iterable[int]:
        """The latest decisions and errors: what they are about is often not what they are called."""
        wanted = msgspec.structs.replace(shelf.wanted, any_label=("what:decision", "what:error"))
        return shelf.index.latest(shelf.number, wanted, self._settings.particular)

    def dated(self, shelf: Shelf) -> Iterable[int]:
        """What was said about the time a question names."""
        moments = [moment for day in self._asked.days for moment in _moments(day, shelf.wanted.now)]
        if not moments:
            return ()
        return shelf.index.near(shelf.number, shelf.wanted, moments, 2 * self._settings.particular)

    def unfinished(self, shelf: Shelf) -> Iterable[int]:
        """What is still open."""
        return shelf.index.made_by(shelf.number, sorted(shelf.open), shelf.wanted)

    def standing(self, shelf: Shelf) -> Iterable[int]:
        """The latest standing instructions, whatever the question names."""
        wanted = msgspec.structs.replace(shelf.wanted, any_label=("says:instruction",))
        return shelf.index.latest(shelf.number, wanted, self._settings.particular)

    def _owners(self, shelf: Shelf, numbers: Sequence[int]) -> Iterable[int]:
        owners = shelf.index.owners(shelf.number, numbers)
        return list(dict.fromkeys(owners[n] for n in numbers if n in owners))


def _moments(day: Day, now: int) -> list[int]:
    """The middle of what a question means by a date."""
    year = day.year or datetime.fromtimestamp(now / 1000, UTC).year
    try:
        at = datetime(year, day.month or 7, day.day or 15, 12, tzinfo=UTC)
    except ValueError:
        return []
    return [round(at.timestamp() * 1000)]


def queries(
    embedders: Sequence[Embedder],
    asked: Question,
    rarity: Rarity,
) -> tuple[list[NDArray[np.float32] | None], list[str]]:
    """The question as each embedder sees it; None from one that cannot be used, and why."""
    found: list[NDArray[np.float32] | None] = []
    troubles: list[str] = []
    for embedder in embedders:
        try:
            found.append(embedder.query(asked.text, rarity.common))
        except HoldfastError as exc:
            troubles.append(f"found without an embedder: {exc}")
            found.append(None)
    return found, troubles
