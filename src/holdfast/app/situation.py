"""What a context can be made from: what recall finds, what is open, what holds for the project."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.compose import items
from holdfast.compose.items import Item
from holdfast.compose.sources import Correction, Situation, Thread
from holdfast.documents.whole import whole
from holdfast.model.documents import holds, place_of
from holdfast.model.epochs import Epoch
from holdfast.model.events import Event
from holdfast.model.memories import Memory, at_seq, current, state
from holdfast.model.packs import Shown
from holdfast.model.recall import Found
from holdfast.model.sessions import SessionState
from holdfast.views import documents, knowledge
from holdfast.views import state as views
from holdfast.views.memories import is_memory_id
from holdfast.views.runner import Reading

from . import history, recall, retrieve
from .asking import Asked, mended
from .memories import now
from .showing import Showing
from .wanting import Wanted

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

#: memories of a kind that are looked at for the beginning of an epoch
_MOST = 100
#: tokens of a short entry, and so the most hits that are of any use in a room
_SHORTEST, _MOST_HITS = 25, 200
#: hits this many times less likely than the floor are not even weighed
_DOUBTFUL = 5
#: what says that a memory was shown, and may be corrected
_REMEMBERED = ("memory", "topic", "correction")


def found_for(s: Session, wanted: Wanted, first: int, room: int, said: frozenset[str]) -> Found:
    """What recall finds beside the conversation from an event on, as much as could be shown.

    What merely repeats the conversation comes last and is worth nothing.
    """
    hf, signals = s._hf, wanted.signals
    query = "\n".join(filter(None, (wanted.query, signals.file, *signals.errors)))
    asked = Asked(user=s.principal, agent=s.agent, seen=(s.id, first))
    most = min(_MOST_HITS, max(wanted.compose.candidates, room // _SHORTEST))
    doubtful = wanted.compose.floor / _DOUBTFUL
    found, repeated = recall.found_beside(hf, query, most, asked, doubtful, wanted.recall, said)
    return replace(found, hits=(*found.hits, *repeated))


def of_a_turn(
    s: Session,
    wanted: Wanted,
    found: Found,
    standing: Standing,
    shown: Mapping[str, int],
    *,
    said: frozenset[str],
    again: bool,
) -> Situation:
    """What a turn may add."""
    return Situation(
        settings=wanted.compose,
        project=s._hf.project.id,
        signals=wanted.signals,
        hits=found.hits,
        spans=_spans(s._hf, found),
        threads=_threads(s, shown),
        corrections=standing.corrections(),
        important=_labelled(s, ("important",))[0],
        shown=shown,
        said=said,
        again=again,
    )


def of_an_epoch(s: Session, wanted: Wanted) -> Situation:
    """What an epoch begins with."""
    rules, habits, episodes, latest = _labelled(
        s,
        ("category:rules", "category:preferences"),
        ("category:skills",),
        ("kind:episode",),
        ("what:memory",),
    )
    return Situation(
        settings=wanted.compose,
        project=s._hf.project.id,
        signals=wanted.signals,
        rules=rules,
        habits=habits,
        episodes=episodes,
        latest=latest,
    )


def _labelled(s: Session, *groups: tuple[str, ...]) -> list[list[tuple[Memory, str]]]:
    hf, asked = s._hf, Asked(user=s.principal, agent=s.agent)
    found = mended(hf, asked, lambda: retrieve.labelled(hf, asked, groups, _MOST))
    return [[(memory, "" if of == hf.project.id else of) for memory, of in one] for one in found]


def _spans(hf: Holdfast, found: Found) -> dict[str, tuple[int, ...]]:
    """Where in its document each part lies that was found."""
    spans: dict[str, tuple[int, ...]] = {}
    for hit in found:
        if hit.path and hit.event is not None:
            start = whole(hit.event, hf.log, hf.library.tell).find(hit.text)
            spans[hit.id] = (start, start + len(hit.text)) if start >= 0 else ()
    return spans


def _threads(s: Session, shown: Mapping[str, int]) -> list[Thread]:
    """What is open in this session and not to be seen in the conversation any more."""
    hf = s._hf

    def ask(reading: Reading) -> SessionState | None:
        of = views.info(reading, s.principal, s.agent, s.id)
        return None if of is None else views.state(reading, of)

    known = hf.views.read(ask)
    if known is None:
        return []
    seqs = sorted({thread.event_seq for thread in known.threads if thread.event_seq})
    events = [event for event in history.at(hf, seqs) if not event.erased]
    return [Thread(event=event) for event in events if event.event_id not in shown]


# ---- what holds no longer --------------------------------------------------------------------


class Standing:
    """How what an epoch shows stands by now."""

    def __init__(self, hf: Holdfast, user: str, showing: Showing, epoch: Epoch) -> None:
        self._hf = hf
        self._user = user
        self._showing = showing
        every = [one for one in epoch.everything() if one.kind in _REMEMBERED]
        remembered = [one for one in every if is_memory_id(one.id)]
        #: of each memory the entry that shows it last; a name shows nothing of it
        self._named = {one.id: one for one in remembered if one.kind == "topic"}
        self._latest = {one.id: one for one in remembered if one.kind != "topic"}
        self._rows = showing.rows(remembered)
        self._documents = [one for one in epoch.everything() if one.kind == "document"]
        #: the numbers that were taken back
        self._corrected = {
            int(one.beside[0]) for one in epoch.everything() if one.kind == "correction"
        }

    def broken(self) -> str:
        """Why the epoch cannot go on: something it shows was taken back for good."""
        for one in (*self._latest.values(), *self._named.values()):
            memory = self._row(one.id, one.project)
            if memory is None or memory.forgotten_at is not None:
                return f"{one.id} was forgotten"
            if memory.trust < self._showing.item(one).trust:
                return f"{one.id} is trusted less"
        return ""

    def corrections(self) -> list[Correction]:
        """What is shown and holds no longer, each once."""
        at, found = now(self._hf), []
        for one in self._latest.values():
            memory = self._row(one.id, one.project)
            taken_back = one.kind == "correction" and len(one.beside) == 1
            if memory is None or taken_back or one.number in self._corrected:
                continue
            new = self._instead(memory, one, at)
            if new is not None or not current(memory, at):
                seq = memory.history[-1].event_seq
                found.append(
                    Correction(
                        number=one.number,
                        old=memory.id,
                        seq=seq,
                        trust=memory.trust,
                        project=one.project,
                        shown=self._showing.item(one),
                        ended="expired" if state(memory, at) == "expired" else "superseded",
                        new=new,
                    )
                )
        return found + self._changed()

    def _changed(self) -> list[Correction]:
        """Parts of documents whose file says something else by now, or is gone."""
        found = []
        for one in self._documents:
            if one.number in self._corrected:
                continue
            home = self._showing.home(one.project)
            event = self._showing.event(home, place_of(one.id)[0])
            path = str(event.payload.get("path", ""))
            known = home.views.read(partial(documents.tracked, path=path))
            if known is None or not holds(known, event.event_seq, None):
                found.append(
                    Correction(
                        number=one.number,
                        old=one.id,
                        seq=one.seq,
                        trust=event.trust,
                        shown=self._showing.item(one),
                        ended="superseded",
                    )
                )
        return found

    def _instead(self, memory: Memory, one: Shown, at: str) -> Item | None:
        """What holds in the place of what is shown, unless that is shown too."""
        if current(memory, at):
            then = at_seq(memory, one.seq)
            same = then is not None and _tells(then) == _tells(memory)
            return None if same else items.of_memory(memory, one.project)
        seen, project = {memory.id}, one.project
        while (after := memory.superseded_by or memory.merged_into) and after not in seen:
            seen.add(after)
            found = self._found(after)
            if found is None:
                return None
            memory, project = found
        shown = self._latest.get(memory.id)
        if not current(memory, at) or (shown is not None and shown.number not in self._corrected):
            return None
        return items.of_memory(memory, project)

    def _found(self, memory_id: str) -> tuple[Memory, str] | None:
        """A memory and the project it lies in: what took another's place may lie elsewhere."""
        for log in self._hf.logs(self._user):
            found = log.views.read(partial(knowledge.memory, memory_id=memory_id))
            if found is not None:
                return found, "" if log is self._hf else log.project.id
        return None

    def _row(self, memory_id: str, project: str) -> Memory | None:
        if memory_id in self._rows:
            return self._rows[memory_id]
        home = self._showing.home(project)
        return home.views.read(lambda reading: knowledge.memory(reading, memory_id))


def _tells(memory: Memory) -> tuple[str, ...]:
    """What a reader of an entry learns."""
    return memory.text, memory.applies_to, memory.kind, " ".join(memory.steps)


def spoken_in(s: Session, after: int) -> list[Event]:
    """What was said and done in a session behind a position."""
    hf = s._hf
    of = hf.views.read(lambda reading: views.info(reading, s.principal, s.agent, s.id))
    if of is None:
        return []
    whole, latest = history.window(hf, of)
    if not whole and latest and latest[0].event_seq > after + 1:
        latest = list(history.session_events(hf, of, after=after))
    return [event for event in latest if event.event_seq > after]
