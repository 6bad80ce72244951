"""Recall as a visible list of steps: how rare the words are, what may be meant, in which order."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.model.recall import RecallSettings
from holdfast.ports.embed import Embedder

from .gather import Gatherer, Shelf, queries, rare
from .question import Question
from .rank import by_relevance
from .score import Scored, Scorer


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A ranked pool."""

    scored: Scored
    #: the candidates, the most relevant first
    order: list[int]
    #: of each candidate the ids of the turns beside it
    beside: list[tuple[str, ...]]
    #: what embedders that could not be used said
    troubles: list[str]


def answer(
    asked: Question,
    shelves: Sequence[Shelf],
    embedders: Sequence[Embedder],
    *,
    settings: RecallSettings,
) -> Answered:
    """The pool of a question, ranked by relevance."""
    rarity = rare(shelves, asked, settings)
    seen, troubles = queries(embedders, asked, rarity)
    pool = Gatherer(asked, settings, seen, rarity).pool(shelves)
    scored = Scorer(asked, rarity, settings, shelves, seen).score(pool)
    return Answered(
        scored=scored,
        order=by_relevance(scored),
        beside=_beside(scored, shelves),
        troubles=troubles,
    )


def _beside(scored: Scored, shelves: Sequence[Shelf]) -> list[tuple[str, ...]]:
    names: list[dict[int, str]] = []
    for at, shelf in enumerate(shelves):
        mine = [c for c in scored.candidates if c.shelf == at]
        wanted = sorted({n for c in mine for n in (c.before, c.after) if n})
        names.append(shelf.index.ids(shelf.number, wanted))
    return [
        tuple(names[c.shelf][n] for n in (c.before, c.after) if n in names[c.shelf])
        for c in scored.candidates
    ]
