"""What a context can be made from: what recall finds, what is open, what holds for the project."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from holdfast.compose import items, saved
from holdfast.compose.items import Item
from holdfast.compose.sources import Correction, Failed, Situation
from holdfast.documents.whole import whole
from holdfast.model.documents import place_of
from holdfast.model.epochs import Epoch, Passage
from holdfast.model.events import Event
from holdfast.model.items import is_item_id
from holdfast.model.memories import Memory, at_seq, current, state
from holdfast.model.packs import Shown
from holdfast.model.recall import Found, Hit
from holdfast.model.sessions import Failure, SessionState
from holdfast.text.excerpt import excerpt
from holdfast.views import documents, knowledge
from holdfast.views import state as views
from holdfast.views.memories import is_memory_id
from holdfast.views.runner import Reading

from . import history, keeping, recall, retrieve, workflows
from .asking import Asked, latest, mended, wanted_by
from .memories import now
from .showing import Showing
from .wanting import Wanted

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

#: memories of a kind that are looked at for the beginning of an epoch; rules all
_MOST, _MOST_RULES = 100, 10_000
#: errors of the last hours
_MOST_FAILURES = 5
#: tokens of a short entry, and so the most hits that are of any use in a room; a second hundred was
#: measured to add nothing
_SHORTEST, _MOST_HITS = 25, 100
#: hits this many times less likely than the floor are not even weighed
_DOUBTFUL = 2
_HOUR = 3_600_000
#: what shows that something is over, and does nothing about it
_TESTS = ("validation_gate", "task_completed")
#: shortened events of a conversation whose passages may still be found
_MOST_PARTLY = 200
#: what says that a memory was shown, and may be corrected
_REMEMBERED = ("memory", "topic", "correction")


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a context shows of the conversation."""

    #: from this event on
    first: int
    #: in plain words, what is shown whole
    said: frozenset[str]
    #: the events that are shown in short
    partly: tuple[int, ...]

    def asked(self, s: Session) -> Asked:
        """Who asks, with what is before the asker's eyes."""
        partly = self.partly[-_MOST_PARTLY:]
        return Asked(user=s.principal, agent=s.agent, seen=(s.id, self.first), partly=partly)


def found_for(s: Session, wanted: Wanted, seen: Seen, room: int) -> Found:
    """What recall finds beside what is seen of the conversation, as much as could be shown.

    What merely repeats the conversation comes last and is worth nothing.
    """
    hf, signals = s._hf, wanted.signals
    query = "\n".join(filter(None, (wanted.query, signals.file, *signals.errors)))
    most = min(_MOST_HITS, max(wanted.compose.candidates, room // _SHORTEST))
    doubtful = wanted.compose.floor / _DOUBTFUL
    found, repeated = recall.found_beside(
        hf, query, most, seen.asked(s), doubtful, wanted.recall, seen.said
    )
    hits = tuple(hit for hit in (*found.hits, *repeated) if _concerns(hit, wanted))
    return replace(found, hits=workflows.recalled(workflows.of(s), hits))


def _concerns(hit: Hit, wanted: Wanted) -> bool:
    """The file that is open is before everybody's eyes; who asks for nothing else asks what names it."""
    file = wanted.signals.file
    if not file:
        return True
    if wanted.query.strip() or wanted.signals.errors:
        return hit.path != file
    return hit.path != file and file.rpartition("/")[2].casefold() in hit.text.casefold()


def of_a_turn(
    s: Session,
    wanted: Wanted,
    found: Found,
    standing: Standing,
    seen: Seen,
    shown: Mapping[Passage, int],
    *,
    again: bool,
) -> Situation:
    """What a turn may add."""
    return Situation(
        settings=wanted.compose,
        project=s._hf.project.id,
        signals=wanted.signals,
        hits=found.hits,
        parts=_parts(s._hf, found),
        threads=_threads(s, shown),
        failures=_failures(s, wanted.compose.recent_hours, seen),
        corrections=standing.corrections(),
        hot=keeping.hot(s),
        saved=keeping.found(found),
        named=standing.named,
        important=_labelled(s, ("important",), most=_MOST)[0],
        shown=shown,
        said=seen.said,
        again=again,
    )


def of_an_epoch(s: Session, wanted: Wanted) -> Situation:
    """What an epoch begins with."""
    (rules,) = _labelled(s, ("category:rules", "category:preferences"), most=_MOST_RULES)
    habits, episodes, latest = _labelled(
        s, ("category:skills",), ("kind:episode",), ("what:memory",), most=_MOST
    )
    return Situation(
        settings=wanted.compose,
        project=s._hf.project.id,
        signals=wanted.signals,
        rules=rules,
        habits=habits,
        episodes=episodes,
        latest=latest,
        cold=keeping.cold(s),
    )


def _labelled(s: Session, *groups: tuple[str, ...], most: int) -> list[list[tuple[Memory, str]]]:
    hf, asked = s._hf, Asked(user=s.principal, agent=s.agent)
    found = mended(hf, asked, lambda: retrieve.labelled(hf, asked, groups, most))
    return [[(memory, "" if of == hf.project.id else of) for memory, of in one] for one in found]


def _parts(hf: Holdfast, found: Found) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Each part of a document that was found, as it is shown, and where in it that lies."""
    parts: dict[str, tuple[str, tuple[int, ...]]] = {}
    for hit in found:
        if hit.path and hit.event is not None:
            text = whole(hit.event, hf.log, hf.library.tell)
            start = text.find(hit.text)
            span = (start, start + len(hit.text)) if start >= 0 else ()
            parts[hit.id] = (excerpt(text, *span) if span else hit.text, span)
    return parts


def _threads(s: Session, shown: Mapping[Passage, int]) -> list[Event]:
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
    return [event for event in events if (event.event_id, ()) not in shown]


def _fix(error: Failure) -> int:
    """The last thing that was done before an error was over; 0 where it is not, or nothing was."""
    done = [step.event_seq for step in error.followed if step.kind not in _TESTS]
    return done[-1] if done and error.resolved_by else 0


def _failures(s: Session, hours: float, seen: Seen) -> list[Failed]:
    """Errors of the last hours, each with the last step before it was over."""
    hf, asked = s._hf, seen.asked(s)
    wanted = wanted_by(hf, asked)
    lately = round(wanted.now - hours * _HOUR)
    wanted = replace(wanted, any_label=("what:error",), since=lately)
    documents = mended(hf, asked, lambda: latest(hf, [s.principal], wanted, _MOST_FAILURES))

    def ask(reading: Reading) -> list[tuple[int, int]]:
        return [
            (error.event_seq, _fix(error))
            for one in documents
            for error in views.failures(reading, s.principal, one.agent, one.session)
            if error.event_id == one.id
        ]

    places = hf.views.read(ask) if documents else []
    events = {event.event_seq: event for event in history.at(hf, sorted({*chain(*places)} - {0}))}
    return [
        Failed(event=events[error], fix=events.get(fix))
        for error, fix in places
        if error in events and not events[error].erased
    ]


# ---- what holds no longer --------------------------------------------------------------------


class Standing:
    """How what an epoch shows stands by now."""

    def __init__(self, hf: Holdfast, user: str, agent: str, showing: Showing, epoch: Epoch) -> None:
        self._hf = hf
        self._agent = agent
        self._user = user
        self._showing = showing
        every = [one for one in epoch.everything() if one.kind in _REMEMBERED]
        remembered = [one for one in every if is_memory_id(one.id)]
        #: of each memory the entry that shows it last; a name shows nothing of it
        self._named = {one.id: one for one in remembered if one.kind == "topic"}
        self._latest = {one.id: one for one in remembered if one.kind != "topic"}
        self._rows = showing.rows(remembered)
        #: what is there by name alone
        self.named = frozenset(one.id for one in epoch.everything() if one.kind == "topic")
        self._saved = {
            one.id: one
            for one in epoch.everything()
            if one.kind in ("item", "correction") and is_item_id(one.id)
        }
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
            if memory.trust < self._showing.item(one, whole=True).trust:
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
        return found + self._changed() + self._saved_again()

    def _saved_again(self) -> list[Correction]:
        """Items that say something else by now."""
        found = []
        rows = keeping.latest(self._hf, self._user, self._agent, self._saved)
        for one in self._saved.values():
            row = rows.get(one.id)
            if row is None or row.event_seq == one.seq or one.number in self._corrected:
                continue
            now = keeping.saved_of(self._hf, row)
            if now is not None:
                found.append(
                    Correction(
                        number=one.number,
                        old=one.id,
                        seq=now.seq,
                        trust=now.trust,
                        shown=self._showing.item(one),
                        ended="superseded",
                        new=saved.shown(now),
                    )
                )
        return found

    def _changed(self) -> list[Correction]:
        """Parts of documents that their files do not say any more."""
        found = []
        shown = [one for one in self._documents if one.number not in self._corrected]
        events = [self._document(one) for one in shown]
        self._hf.documents.look(str(event.payload.get("path", "")) for event in events)
        for one, event in zip(shown, events, strict=True):
            if not self._still_said(one, event):
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

    def _document(self, one: Shown) -> Event:
        return self._showing.event(self._showing.home(one.project), place_of(one.id)[0])

    def _still_said(self, one: Shown, event: Event) -> bool:
        """Does the file still say this, in the version that was shown or in a later one?"""
        home = self._showing.home(one.project)
        path = str(event.payload.get("path", ""))
        known = home.views.read(partial(documents.tracked, path=path))
        if known is None or known.current is None:
            return False
        if known.current.event_seq == event.event_seq:
            return True
        then = whole(event, home.log, home.library.tell)[slice(*one.span)]
        now = next(iter(history.at(home, [known.current.event_seq])), None)
        return now is not None and then in whole(now, home.log, home.library.tell)

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
