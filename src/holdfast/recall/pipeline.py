"""Recall as a visible list of steps: how rare the words are, what may be meant, in which order."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.model.memories import plain
from holdfast.model.recall import RecallSettings
from holdfast.ports.embed import Embedder

from .gather import Candidate, Gatherer, Shelf, queries, rare
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
    #: those that only repeat what the asker has before him; they take no part of the answer
    repeated: list[Candidate] = []


def answer(
    asked: Question,
    shelves: Sequence[Shelf],
    embedders: Sequence[Embedder],
    *,
    settings: RecallSettings,
    said: frozenset[str] = frozenset(),
) -> Answered:
    """The pool of a question, ranked by relevance, without what merely repeats what is said."""
    rarity = rare(shelves, asked, settings)
    seen, troubles = queries(embedders, asked, rarity)
    pool = Gatherer(asked, settings, seen, rarity).pool(shelves)
    repeated = [one for one in pool if _says(one) in said] if said else []
    known = {id(one) for one in repeated}
    new = [one for one in pool if id(one) not in known]
    scored = Scorer(asked, rarity, settings, shelves, seen).score(new)
    return Answered(
        scored=scored,
        order=by_relevance(scored),
        beside=_beside(scored, shelves),
        troubles=troubles,
        repeated=repeated,
    )


def _says(candidate: Candidate) -> str:
    return plain(" ".join(passage.text for passage in candidate.passages))


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
