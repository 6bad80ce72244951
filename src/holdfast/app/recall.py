"""The verb that finds, and bringing what it needs up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from holdfast.errors import Invalid
from holdfast.model.events import Draft
from holdfast.model.recall import Found, Hit, RecallSettings
from holdfast.model.search import EVERYBODY, Wanted
from holdfast.recall.gather import Shelf
from holdfast.recall.pipeline import Answered, answer
from holdfast.recall.question import Question, question
from holdfast.views import state as views
from holdfast.views.runner import Reading

from .asking import Asked, check, latest, logs, mended, wanted_by
from .hits import Ranker

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: sessions whose open threads count
_RECENT_SESSIONS = 5
#: turns among which these sessions are looked for
_RECENT_TURNS = 50


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
    chosen = hf.settings.recall if settings is None else settings
    if not isinstance(chosen, RecallSettings):
        raise Invalid("settings are a RecallSettings: replace fields of hf.settings.recall")
    floor = chosen.min_relevance if min_relevance is None else min_relevance
    return found_beside(hf, query, k, asked, floor, chosen, frozenset())[0]


def found_beside(
    hf: Holdfast,
    query: str,
    k: int,
    asked: Asked,
    floor: float,
    settings: RecallSettings,
    said: frozenset[str],
) -> tuple[Found, tuple[Hit, ...]]:
    """What is found beside what is said, in plain words; and what merely repeats that.

    Of documents only what their files say by now; whoever asks about another time gets what they said.
    """
    if asked.as_of is not None:
        return _found(hf, query, k, asked, floor, settings, said)
    hf.documents.keep_up()
    found, repeated = _found(hf, query, k, asked, floor, settings, said)
    stale = _stale(hf, found.hits, repeated)
    if stale:
        found, repeated = _found(hf, query, k, asked, floor, settings, said)
        stale = _stale(hf, found.hits, repeated)
    if stale:  # it changes faster than it is read, or nothing can be recorded
        found = replace(found, hits=tuple(hit for hit in found if hit.id not in stale))
        repeated = tuple(hit for hit in repeated if hit.id not in stale)
    return found, repeated


def _stale(hf: Holdfast, *some: Sequence[Hit]) -> frozenset[str]:
    """The hits whose file says something else by now."""
    mine = [hit for hits in some for hit in hits if hit.path and hit.project == hf.project.id]
    paths = hf.documents.look(hit.path for hit in mine)
    return frozenset(hit.id for hit in mine if hit.path in paths)


def _found(
    hf: Holdfast,
    query: str,
    k: int,
    asked: Asked,
    floor: float,
    settings: RecallSettings,
    said: frozenset[str],
) -> tuple[Found, tuple[Hit, ...]]:
    wanted, asking = wanted_by(hf, asked), question(query)
    answered = mended(hf, asked, lambda: _answered(hf, asking, asked, wanted, settings, said))
    if answered is None:
        return Found(hits=(), confidence=0.0, query=query, notices=_notices(hf, asked)), ()
    ranker = Ranker(hf, asked, *answered, wanted)
    best = ranker.best(k, settings, floor, broad=asking.broad)
    repeated = tuple(ranker.hits(ranker.repeated()))
    found = Found(
        hits=tuple(ranker.hits(best)),
        confidence=answered[0].scored.confidence,
        query=query,
        notices=_notices(hf, asked),
    )
    return found, repeated


# ---- asking the shelves --------------------------------------------------------------------


def _answered(
    hf: Holdfast,
    asking: Question,
    asked: Asked,
    wanted: Wanted,
    settings: RecallSettings,
    said: frozenset[str],
) -> tuple[Answered, list[Shelf]] | None:
    where = logs(hf, asked)
    unfinished = _unfinished(hf, asked, wanted)
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
        found = answer(asking, shelves, embedders, settings=settings, said=said)
        hf.library.troubles = found.troubles
    return found, shelves


def _unfinished(hf: Holdfast, asked: Asked, wanted: Wanted) -> frozenset[int]:
    """Events of the person's latest sessions that are still open."""
    if asked.as_of is not None:
        return frozenset()
    turns = Wanted(agent=asked.agent, session=asked.session_id, now=wanted.now)
    turns_of = latest(hf, [asked.user], turns, _RECENT_TURNS)
    newest = sorted(turns_of, key=lambda document: -document.event_seq)
    known = list(dict.fromkeys((one.agent, one.session) for one in newest if one.session))

    def ask(reading: Reading) -> frozenset[int]:
        found = (views.info(reading, asked.user, *one) for one in known[:_RECENT_SESSIONS])
        return frozenset(
            thread.event_seq
            for info in found
            if info is not None
            for thread in views.state(reading, info).threads
            if thread.event_seq
        )

    return hf.views.read(ask)


def _notices(hf: Holdfast, asked: Asked) -> tuple[str, ...]:
    searched = hf.logs(asked.user)
    told = [notice for log in searched for notice in log.library.notices]
    pending = sum(log.library.pending for log in searched)
    if pending:
        told.append(
            f"{pending} or more passages still wait for their vectors, which are being made"
        )
    return tuple(dict.fromkeys(told))


# ---- keeping up ----------------------------------------------------------------------------


def up_to_date(hf: Holdfast, progress: Callable[[int, int], None] | None = None) -> None:
    """Make everything recall needs, slow vectors included."""
    for log in hf.logs(hf.user):
        log.library.fill(progress)


def track(
    hf: Holdfast, found: Found, *, user: str, agent: str | None, session_id: str | None
) -> None:
    """Write down what was searched for and found: here, and in each log where hits lie."""
    for log in hf.logs(user):
        mine = [hit.id for hit in found if hit.project == log.project.id]
        if mine or log is hf:
            said: dict[str, Any] = {"ids": mine}
            if log is hf:  # what was asked is the asker's; other logs learn what was found in them
                said |= {"query": found.query, "confidence": round(found.confidence, 3)}
            log.record([note(hf, log, "memory_recall", said, (user, agent, session_id))])


def note(
    hf: Holdfast,
    log: Holdfast,
    kind: str,
    said: dict[str, Any],
    whose: tuple[str, str | None, str | None],
) -> Draft:
    """An event about memories of a log; sessions are known in their own project only."""
    user, agent, session_id = whose
    here = log is hf
    return Draft(
        type=kind,
        payload=said,
        origin="system",
        session_id=session_id if here else None,
        agent=agent if here else None,
        user=user,
    )
