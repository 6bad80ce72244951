"""From ranked candidates to hits: what the views and the log know about each, and what may be shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from holdfast.capture.stamp import timestamp
from holdfast.model.documents import Tracked, holds, place_of, shown
from holdfast.model.events import Event
from holdfast.model.items import ContextItem
from holdfast.model.items import holds as item_holds
from holdfast.model.memories import UNUSED, Memory, Usage, as_of, current, said_by, visible
from holdfast.model.recall import Hit, RecallSettings
from holdfast.model.search import DOCUMENT, ITEM, MEMORY, Document, Wanted
from holdfast.recall.gather import Candidate, Shelf
from holdfast.recall.pages import title_of
from holdfast.recall.pipeline import Answered
from holdfast.recall.rank import Ranked, most, ranked
from holdfast.views import documents as views
from holdfast.views import items, knowledge
from holdfast.views.runner import Reading

from . import history
from .asking import Asked

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: candidates looked at together before it is asked whether more could still be among the first
_TOGETHER = 64


class Known(msgspec.Struct, kw_only=True):
    """What the views know about the candidates that may be answered."""

    places: list[int] = msgspec.field(default_factory=list)
    memories: dict[str, Memory] = msgspec.field(default_factory=dict)
    usage: dict[str, Usage] = msgspec.field(default_factory=dict)
    #: by id; the ids of items are nobody else's
    items: dict[str, ContextItem] = msgspec.field(default_factory=dict)
    #: by project and path
    documents: dict[tuple[str, str], Tracked | None] = msgspec.field(default_factory=dict)


class Ranker:
    """The best of an answer: no more of it is looked up than can be among the first."""

    def __init__(
        self,
        hf: Holdfast,
        asked: Asked,
        answered: Answered,
        shelves: Sequence[Shelf],
        wanted: Wanted,
    ) -> None:
        self._hf = hf
        self._asked = asked
        self._answered = answered
        self._shelves = shelves
        self._wanted = wanted
        self.knows = Known()
        self._seen: set[str] = set()

    def best(self, k: int, settings: RecallSettings, floor: float, *, broad: bool) -> list[Ranked]:
        """The first k that are relevant enough, in their last order."""
        relevance, found = self._answered.scored.relevance, list[Ranked]()
        waiting = iter([n for n in self._answered.order if relevance[n] >= floor])
        candidates = self._answered.scored.candidates
        while some := list(islice(waiting, _TOGETHER)):
            self._look_up([candidates[n] for n in some])
            self.knows.places += [n for n in some if self._new(candidates[n])]
            now = self._wanted.as_of or self._hf.clock.now_ms()
            found = ranked(
                self._answered.scored,
                self.knows.places,
                self.knows.memories,
                self.knows.usage,
                settings,
                now,
                broad=broad,
            )
            reach = most(float(relevance[some[-1]]), settings)
            if not broad and len(found) >= k and found[k - 1].final > reach:
                break
        return found[:k]

    def repeated(self) -> list[Ranked]:
        """What merely repeats what is said, worth nothing."""
        self._look_up(self._answered.repeated)
        return [
            Ranked(candidate=one, passage=0, final=0.0, relevance=0.0, parts={})
            for one in self._answered.repeated
            if self._new(one)
        ]

    def _look_up(self, candidates: Sequence[Candidate]) -> None:
        for log in self._hf.logs(self._asked.user):
            mine = [
                one.document
                for one in candidates
                if self._shelves[one.shelf].project == log.project.id
            ]
            if mine:
                turns = [document.id for document in mine if document.kind != MEMORY]
                memories = {document.id for document in mine if document.kind == MEMORY}
                log.views.read(partial(self._read, turns=turns, memories=memories))
                saved = [document for document in mine if document.kind == ITEM]
                if saved:
                    log.views.read(partial(self._read_items, saved=saved))
                files = {document.speaker for document in mine if document.kind == DOCUMENT}
                if files:
                    log.views.read(partial(self._read_files, project=log.project.id, files=files))

    def _new(self, candidate: Candidate) -> bool:
        """May this be answered, and is it not yet? One that was restored may stand on two shelves."""
        if candidate.document.id in self._seen or not self._answerable(candidate):
            return False
        self._seen.add(candidate.document.id)
        return True

    def _read(self, reading: Reading, turns: list[str], memories: set[str]) -> None:
        if self._wanted.as_of is None:
            self.knows.usage |= knowledge.usage(reading, turns, self._asked.user)
        for one in memories - self.knows.memories.keys():
            found = knowledge.memory(reading, one)
            if found is not None:
                self.knows.memories[one] = found
                self.knows.usage[one] = found.usage if self._wanted.as_of is None else UNUSED

    def _read_items(self, reading: Reading, saved: list[Document]) -> None:
        for one in saved:
            found = items.item(reading, self._asked.user, one.agent, one.id)
            if found is not None:
                self.knows.items[one.id] = found

    def _read_files(self, reading: Reading, project: str, files: set[str]) -> None:
        for path in files:
            if (project, path) not in self.knows.documents:
                self.knows.documents[project, path] = views.tracked(reading, path)

    def _answerable(self, candidate: Candidate) -> bool:
        """May this be answered? Of memories, items and documents what holds at the time in question."""
        document = candidate.document
        if document.kind == DOCUMENT:
            return self._stands(self._shelves[candidate.shelf].project, document)
        if document.kind == ITEM:
            return self._said_by_item(document)
        if document.kind != MEMORY:
            return True
        memory = self.knows.memories.get(document.id)
        if memory is None or not visible(memory, self._asked.user, self._asked.agent):
            return False
        moment = self._wanted.as_of
        at = timestamp(self._wanted.now if moment is None else moment)
        then = memory if moment is None else as_of(memory, at)
        if then is None or said_by(then) != document.revision or not current(then, at):
            return False
        self.knows.memories[document.id] = then
        return True

    def _said_by_item(self, document: Document) -> bool:
        """Is this the revision of an item that counts?"""
        known, moment = self.knows.items.get(document.id), self._wanted.as_of
        at = None if moment is None else timestamp(moment)
        return known is not None and item_holds(known, document.event_seq, at)

    def _stands(self, project: str, part: Document) -> bool:
        """Is this a part of the version of its document that counts?"""
        known, moment = self.knows.documents.get((project, part.speaker)), self._wanted.as_of
        as_of = None if moment is None else timestamp(moment)
        return known is not None and holds(known, part.event_seq, as_of)

    def hits(self, best: Sequence[Ranked]) -> Iterable[Hit]:
        """What is shown of them; what the log does not hold any more is not."""
        events = self._events(best)
        places = {id(self._answered.scored.candidates[n]): n for n in self.knows.places}
        for one in best:
            document = one.candidate.document
            filed = document.kind == DOCUMENT
            brought, line, line_end = place_of(document.id) if filed else (document.id, 0, 0)
            memory, event = self.knows.memories.get(document.id), events.get(brought)
            if memory is None and (event is None or event.erased):
                self._hf.library.tell(f"{document.id} was found, and the log does not hold it")
                continue
            place = places.get(id(one.candidate))
            beside = () if place is None else self._answered.beside[place]
            yield Hit(
                id=document.id,
                text=_shown(one, memory),
                score=one.final,
                relevance=one.relevance,
                parts=one.parts,
                project=self._shelves[one.candidate.shelf].project,
                at=memory.updated_at if memory is not None else event.timestamp if event else "",
                speaker=document.speaker,
                event=event,
                memory=memory,
                item=self.knows.items.get(document.id),
                trust=memory.trust if memory is not None else event.trust if event else 0,
                usage=self.knows.usage.get(document.id, UNUSED),
                related=_related(memory, event, beside, self._asked.user),
                path=document.speaker if filed else "",
                line=line,
                line_end=line_end,
                title=title_of(document),
            )

    def _events(self, best: Sequence[Ranked]) -> dict[str, Event]:
        found: dict[str, Event] = {}
        for log in self._hf.logs(self._asked.user):
            turns = sorted(
                one.candidate.document.event_seq
                for one in best
                if one.candidate.document.kind != MEMORY
                and self._shelves[one.candidate.shelf].project == log.project.id
            )
            for event in history.at(log, turns):
                saved = event.kind == "item_saved" and isinstance(event.payload, dict)
                found[event.payload["item"] if saved else event.event_id] = event
        return found


def _shown(one: Ranked, memory: Memory | None) -> str:
    """All of a short text, the best passage of a long one; a whole part of a document."""
    if one.candidate.document.kind == DOCUMENT:
        return shown("".join(passage.text for passage in one.candidate.passages))
    passage = one.candidate.passages[one.passage].text.strip()
    if memory is not None and passage not in memory.text:  # its revisions are not in order of time
        return memory.text
    return passage


def _related(
    memory: Memory | None, event: Event | None, beside: tuple[str, ...], user: str
) -> tuple[str, ...]:
    """What belongs to it; the events a memory was learnt from are named to whose they are."""
    if memory is not None:
        own = (*memory.sources, *memory.lineage) if memory.user == user else ()
        return (*memory.supersedes, *own)
    return (*beside, *(event.sources if event is not None else ()))
