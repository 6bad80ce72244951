"""Recall as a visible list of steps: how rare the words are, what may be meant, in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from holdfast.model.recall import RecallSettings
from holdfast.ports.embed import Embedder

from .gather import Gatherer, Shelf, queries, rare
from .question import Question
from .rank import finalists
from .score import Scored, Scorer


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A ranked pool, and which of it can still be among the first."""

    scored: Scored
    finalists: list[int]
    #: of each finalist the ids of the turns beside it
    beside: dict[int, tuple[str, ...]]


def answer(
    asked: Question,
    shelves: Sequence[Shelf],
    embedders: Sequence[Embedder],
    *,
    k: int,
    settings: RecallSettings,
    tell: Callable[[str], None],
) -> Answered:
    """The pool of a question, ranked by relevance."""
    rarity = rare(shelves, asked, settings.imagined_passages)
    seen = queries(embedders, asked, rarity, tell)
    pool = Gatherer(asked, settings, seen, rarity).pool(shelves)
    scored = Scorer(asked, rarity, settings, shelves, seen).score(pool)
    places = finalists(scored, k)
    return Answered(
        scored=scored, finalists=places, beside=_beside(scored, places[: 2 * k], shelves)
    )


def _beside(
    scored: Scored, places: Sequence[int], shelves: Sequence[Shelf]
) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for at, shelf in enumerate(shelves):
        mine = [n for n in places if scored.candidates[n].shelf == at]
        around = {
            n: [m for m in (scored.candidates[n].before, scored.candidates[n].after) if m]
            for n in mine
        }
        wanted = sorted({m for some in around.values() for m in some})
        documents = shelf.index.documents(shelf.number, wanted)
        found |= {n: tuple(documents[m].id for m in some) for n, some in around.items()}
    return found
