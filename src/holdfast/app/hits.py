"""From ranked candidates to hits: what the views and the log know about each, and what may be shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.capture.stamp import timestamp
from holdfast.model.events import Event
from holdfast.model.memories import Memory, Usage, as_of, current, said_by, visible
from holdfast.model.recall import Hit
from holdfast.model.search import MEMORY, Wanted
from holdfast.recall.gather import Shelf
from holdfast.recall.pipeline import Answered
from holdfast.recall.rank import Ranked
from holdfast.views import knowledge
from holdfast.views.runner import Reading

from . import history
from .asking import Asked

if TYPE_CHECKING:
    from .holdfast import Holdfast


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What the views know about the candidates that may be answered."""

    places: list[int]
    memories: dict[str, Memory]
    usage: dict[str, Usage]


def known(
    hf: Holdfast, asked: Asked, answered: Answered, shelves: Sequence[Shelf], wanted: Wanted
) -> Known:
    candidates = answered.scored.candidates
    memories: dict[str, Memory] = {}
    usage: dict[str, Usage] = {}
    for log in hf.logs(asked.user):
        mine = [
            candidates[n].document
            for n in answered.finalists
            if shelves[candidates[n].shelf].project == log.project.id
        ]
        ids = [document.id for document in mine]
        of_memories = [document.id for document in mine if document.kind == MEMORY]

        def ask(
            reading: Reading, ids: Sequence[str] = ids, some: Sequence[str] = of_memories
        ) -> None:
            usage.update(knowledge.usage(reading, ids))
            for one in some:
                found = knowledge.memory(reading, one)
                if found is not None:
                    memories[one] = found

        if mine:
            log.views.read(ask)
    if wanted.as_of is not None:
        usage = {}
    places = [n for n in answered.finalists if _answerable(answered, n, memories, asked, wanted)]
    return Known(places=places, memories=memories, usage=usage)


def _answerable(
    answered: Answered, n: int, memories: dict[str, Memory], asked: Asked, wanted: Wanted
) -> bool:
    """May this be answered? Of a memory only what holds, at the time that is asked about."""
    document = answered.scored.candidates[n].document
    if document.kind != MEMORY:
        return True
    memory = memories.get(document.id)
    if memory is None or not visible(memory, asked.user, asked.agent):
        return False
    at = timestamp(wanted.as_of if wanted.as_of is not None else wanted.now)
    then = memory if wanted.as_of is None else as_of(memory, at)
    if then is None or said_by(then) != document.revision or not current(then, at):
        return False
    memories[document.id] = then
    return True


def hits(
    hf: Holdfast,
    best: Sequence[Ranked],
    answered: Answered,
    shelves: Sequence[Shelf],
    knows: Known,
) -> Iterable[Hit]:
    turns = sorted(
        one.candidate.document.event_seq for one in best if one.candidate.document.kind != MEMORY
    )
    events = {event.event_id: event for event in history.at(hf, turns)}
    places = {id(answered.scored.candidates[n]): n for n in answered.finalists}
    for one in best:
        document = one.candidate.document
        memory = knows.memories.get(document.id)
        event = events.get(document.id)
        if memory is None and (event is None or event.erased):
            hf.library.tell(f"{document.id} was found and is not in the log; `holdfast rebuild`")
            continue
        beside = answered.beside.get(places[id(one.candidate)], ())
        yield Hit(
            id=document.id,
            text=_shown(one, memory),
            score=one.final,
            relevance=one.relevance,
            parts=one.parts,
            project=shelves[one.candidate.shelf].project,
            at=memory.updated_at if memory is not None else event.timestamp if event else "",
            speaker=document.speaker,
            event=event,
            memory=memory,
            trust=memory.trust if memory is not None else event.trust if event else 0,
            usage=knows.usage.get(document.id, Usage()),
            related=_related(memory, event, beside),
        )


def _shown(one: Ranked, memory: Memory | None) -> str:
    """All of a short text, the best passage of a long one."""
    passage = one.candidate.passages[one.passage].text.strip()
    if memory is not None and passage not in memory.text:  # its revisions are not in order of time
        return memory.text
    return passage


def _related(
    memory: Memory | None, event: Event | None, beside: tuple[str, ...]
) -> tuple[str, ...]:
    if memory is not None:
        return (*memory.supersedes, *memory.sources, *memory.lineage)
    return (*beside, *(event.sources if event is not None else ()))
