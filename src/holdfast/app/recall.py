"""The verb that finds, and bringing what it needs up to date."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from holdfast.errors import Damaged
from holdfast.model.events import Draft
from holdfast.model.recall import Found, RecallSettings
from holdfast.model.search import EVERYBODY, Wanted
from holdfast.recall.gather import Shelf
from holdfast.recall.pipeline import Answered, answer
from holdfast.recall.question import question
from holdfast.recall.rank import ranked
from holdfast.views import state as views
from holdfast.views.runner import Reading

from .asking import Asked, check, logs, wanted_by
from .hits import hits, known

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: sessions whose open threads count
_RECENT_SESSIONS = 5


def recall(
    hf: Holdfast,
    query: str,
    k: int,
    asked: Asked,
    *,
    min_relevance: float | None = None,
    settings: RecallSettings | None = None,
) -> Found:
    """What this person's memory holds about a question, the right thing first."""
    check(query, k, min_relevance)
    chosen = settings or hf.settings.recall
    floor = chosen.min_relevance if min_relevance is None else min_relevance
    wanted = wanted_by(hf, asked)
    found = _answered(hf, query, k, asked, wanted, chosen)
    if found is None:
        return Found(hits=(), confidence=0.0, query=query, notices=_notices(hf, asked))
    answered, shelves = found
    knows = known(hf, asked, answered, shelves, wanted)
    order = ranked(
        answered.scored,
        knows.places,
        knows.memories,
        knows.usage,
        chosen,
        wanted.as_of or wanted.now,
        broad=question(query).broad,
    )
    best = [one for one in order if one.relevance >= floor][:k]
    return Found(
        hits=tuple(hits(hf, best, answered, shelves, knows)),
        confidence=answered.scored.confidence,
        query=query,
        notices=_notices(hf, asked),
    )


# ---- asking the shelves --------------------------------------------------------------------


def _answered(
    hf: Holdfast, query: str, k: int, asked: Asked, wanted: Wanted, settings: RecallSettings
) -> tuple[Answered, list[Shelf]] | None:
    """The answer of the shelves; those that turn out to be damaged are made anew, once."""
    try:
        return _asked_once(hf, query, k, asked, wanted, settings)
    except Damaged as exc:
        for log in hf.logs(asked.user):
            log.library.discard(str(exc))
        return _asked_once(hf, query, k, asked, wanted, settings)


def _asked_once(
    hf: Holdfast, query: str, k: int, asked: Asked, wanted: Wanted, settings: RecallSettings
) -> tuple[Answered, list[Shelf]] | None:
    asking = question(query)
    where = logs(hf, asked)
    unfinished = _unfinished(hf, asked)
    if not asking.text.strip() or not where:
        return None
    with ExitStack() as stack:
        shelves = [
            shelf
            for log in where
            for shelf in stack.enter_context(
                log.library.shelves(
                    [asked.user, EVERYBODY], wanted, unfinished if log is hf else frozenset()
                )
            )
        ]
        embedders = hf.library.embedders()
        tell = hf.library.tell
        found = answer(asking, shelves, embedders, k=k, settings=settings, tell=tell)
    return found, shelves


def _unfinished(hf: Holdfast, asked: Asked) -> frozenset[int]:
    """Events of the person's latest sessions that are still open."""
    if asked.as_of is not None:
        return frozenset()

    def ask(reading: Reading) -> frozenset[int]:
        latest = views.sessions(reading, asked.user, asked.agent)[:_RECENT_SESSIONS]
        return frozenset(
            thread.event_seq
            for info in latest
            for thread in views.state(reading, info).threads
            if thread.event_seq
        )

    return hf.views.read(ask)


def _notices(hf: Holdfast, asked: Asked) -> tuple[str, ...]:
    told = [notice for log in hf.logs(asked.user) for notice in log.library.notices]
    return tuple(dict.fromkeys(told))


# ---- keeping up ----------------------------------------------------------------------------


def up_to_date(hf: Holdfast, progress: Callable[[int, int], None] | None = None) -> None:
    """Make everything recall needs, slow vectors included."""
    for log in hf.logs(hf.user):
        log.library.fill(progress)


def tracked(found: Found, asked: Asked) -> Draft:
    """The event that says what was searched for and found."""
    return Draft(
        type="memory_recall",
        payload={
            "query": found.query,
            "ids": [hit.id for hit in found],
            "confidence": round(found.confidence, 3),
        },
        origin="system",
        session_id=asked.session_id,
        agent=asked.agent,
        user=asked.user,
    )
