"""Learning: from what a caller says to the events that make it a memory.

A slot (a subject, a key, a place where it holds, for whom) has one current memory of each trust at most.
What says the same again makes the one that stands surer; what says otherwise supersedes what is believed
no more than it, in one batch, and stands beside what is believed more. Two writers may each believe they
were alone, so whoever has recorded looks again and lets the latest stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from holdfast.capture.stamp import fresh_id, timestamp
from holdfast.errors import Conflict, Denied, Invalid
from holdfast.model.events import Draft, Event
from holdfast.model.memories import CONTENT, Memory, current, same_statement, slot, state
from holdfast.views import knowledge
from holdfast.views.memories import MemoryView, learned
from holdfast.views.runner import Reading
from holdfast.views.view import common_key

from .given import Said
from .telling import Author, Traced, content, find, trace, unusual

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: no number of repetitions makes a thing certain
_SUREST = 0.99
#: a memory that has so many sources gains nothing from one more
_ENOUGH_SOURCES = 64
_MEMORIES = MemoryView()
#: behind every event that is in a log
_NOT_YET = 1 << 62


class _New(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that is about to be learned."""

    said: Said
    memory: Memory
    payload: dict[str, Any]
    traced: Traced
    when: str


class Plan:
    """What is to be recorded in one log, and how its memories will stand then."""

    def __init__(self, hf: Holdfast, home: Holdfast, author: Author) -> None:
        self._hf = hf
        self.home = home
        self._author = author
        self._drafts: list[Draft] = []
        self._elsewhere: list[tuple[Holdfast, Draft]] = []
        self._rows: dict[str, Memory | None] = {}
        self._slots: dict[tuple[str, ...], list[str]] = {}
        #: the slots that may have two current memories once this is recorded, and at which time
        self._contested: dict[tuple[str, ...], str] = {}
        #: the drafts that say again what stood when they were planned, by memory
        self._again: dict[str, int] = {}
        #: the memories that are known by their event alone, once all is recorded
        self.made: dict[str, Memory] = {}

    def add(self, said: Said, scope: str) -> str:
        """Plan one memory; the id of the one that will say it."""
        replaced = [find(self._hf, one, self._author) for one in said.supersedes or ()]
        new = self._made(said, scope)
        known = self._recorded(new)
        if known is not None:
            return known
        for _, one in replaced:
            if not _may_replace(new.memory, one):
                raise Denied(
                    f"{one.id} is believed more than what would supersede it; a person who wants it "
                    f"gone runs: holdfast forget {one.id}"
                )
        place = slot(new.memory)
        standing = [] if place is None else self._standing(place, new.when)
        if not current(new.memory, new.when):
            self._learn_for_another_time(new, standing)
        elif same := [one for one in standing if same_statement(one, new.memory)]:
            stands = max(same, key=lambda one: one.trust)
            self._say_again(stands, new, [one for one in standing if one is not stands])
            new = replace(new, memory=stands)
        else:
            self._learn(new, standing)
        for home, one in replaced:
            self._replace(home, one, new)
        if place is not None:
            self._contested[place] = new.when
            self._slots[place] = list(dict.fromkeys([*self._slots[place], new.memory.id]))
        return new.memory.id

    # ---- planning --------------------------------------------------------------------------

    def _recorded(self, new: _New) -> str | None:
        """The memory a retry is about; the first try may have ended before it looked again."""
        event_id, place = new.said.event_id, slot(new.memory)
        event = self.home.log.find(event_id) if event_id is not None else None
        if event is None:
            return None
        given = event.payload if isinstance(event.payload, dict) else {}
        mine = (event.user, event.agent) == (self._author.user, self._author.agent)
        same = {
            "memory_learned": given.get("text") == new.memory.text,
            "memory_revised": True,
        }
        if not mine or not same.get(event.kind):
            raise Conflict(f"event {event_id} is there already and says something else")
        if place is not None:
            self._contested[place] = new.when
        return str(given.get("memory"))

    def _made(self, said: Said, scope: str) -> _New:
        traced = trace(self._hf, self.home, self._author, said.sources or ())
        fields = {
            **content(self.home, said),
            "tags": list(dict.fromkeys(said.tags or ())),
            "importance": said.importance,
            "source_type": said.source_type,
            "confidence": said.confidence,
            "valid_from": said.valid_from,
            "valid_to": said.valid_to,
            "expires_at": said.expires_at,
            "supersedes": list(said.supersedes or ()),
            "artifacts": msgspec.to_builtins(list(said.artifacts or ())),
            "lineage": list(traced.lineage),
        }
        payload = {"memory": fresh_id("mem"), "scope": scope, **unusual(fields)}
        when = said.at or timestamp(self.home.clock.now_ms())
        made = learned(self._event("memory_learned", payload, traced, when))
        if made is None:
            raise Invalid("a memory needs a text, or a key and a value")
        return _New(said=said, memory=made, payload=payload, traced=traced, when=when)

    def _standing(self, place: tuple[str, ...], when: str) -> list[Memory]:
        """The current memories of a slot, the latest last."""
        if place not in self._slots:
            found = self.home.views.read(lambda reading: knowledge.in_slot(reading, place))
            self._slots[place] = [one.id for one in found]
            self._rows |= {common_key(one.id): one for one in found}
        rows = (self._rows[common_key(one)] for one in self._slots[place])
        return [one for one in rows if one and slot(one) == place and current(one, when)]

    def _learn(self, new: _New, standing: list[Memory]) -> None:
        """Learn it; what it replaces is superseded, and what is believed more stands beside it.

        What came from outside stands beside nothing that did not.
        """
        stronger = [one for one in standing if _is_foreign_to(new.memory, one)]
        weaker = [one for one in standing if _may_replace(new.memory, one)]
        named = dict.fromkeys([*new.memory.supersedes, *(one.id for one in weaker)])
        payload = {**new.payload, **({"supersedes": list(named)} if named else {})}
        self._say("memory_learned", payload, new, event_id=new.said.event_id)
        for one in weaker:
            self._supersede(one.id, new.memory.id, new, "another value was learned")
        if stronger:
            self._supersede(new.memory.id, stronger[-1].id, new, "what stands is better founded")

    def _learn_for_another_time(self, new: _New, standing: list[Memory]) -> None:
        """What does not hold now replaces nothing now; what comes ends what stands when it comes."""
        self._say("memory_learned", new.payload, new, event_id=new.said.event_id)
        begins = new.memory.valid_from
        if begins is None or state(new.memory, new.when) != "coming":
            return
        of_itself = replace(new, traced=replace(new.traced, sources=()))
        for one in standing:
            if _may_replace(new.memory, one) and (one.valid_to is None or one.valid_to > begins):
                payload = {"memory": one.id, "changes": {"valid_to": begins}}
                self._say("memory_revised", payload, of_itself)

    def _replace(self, home: Holdfast, old: Memory, new: _New) -> None:
        """Supersede what the caller named, wherever it is kept."""
        if home is not self.home:
            payload = {"memory": old.id, "by": new.memory.id}
            draft = self._author.draft("memory_superseded", payload, at=new.said.at)
            self._elsewhere.append((home, draft))
            return
        known = self._rows.setdefault(common_key(old.id), old)
        if old.id != new.memory.id and known is not None and known.superseded_by != new.memory.id:
            self._supersede(old.id, new.memory.id, new)

    def _supersede(self, old: str, by: str, new: _New, reason: str = "") -> None:
        payload = {"memory": old, "by": by, **({"reason": reason} if reason else {})}
        self._say("memory_superseded", payload, new)

    def _say_again(self, standing: Memory, new: _New, others: Sequence[Memory]) -> None:
        """What stands is surer now; where a person says it and had not, in that person's words.

        What says otherwise and is believed no more than this is superseded.
        """
        changes = _surer(standing, new)
        in_person = new.memory.trust == 3 > standing.trust
        if in_person:
            told = msgspec.to_builtins(new.memory)
            changes |= {name: told.get(name, _NONE.get(name, "")) for name in CONTENT}
        more = [one for one in new.traced.sources if one not in standing.sources]
        if changes or (more and len(standing.sources) < _ENOUGH_SOURCES):
            self._again[standing.id] = len(self._drafts)
            payload = {"memory": standing.id, "changes": changes}
            self._say("memory_revised", payload, new, event_id=new.said.event_id)
        if in_person:
            raised = {"memory": standing.id, "trust": 3, "reason": "said in person"}
            self._say("trust_changed", raised, new)
        for one in others:
            if _may_replace(new.memory, one):
                self._supersede(one.id, standing.id, new, "another value was said again")

    def _say(
        self, kind: str, payload: dict[str, Any], new: _New, *, event_id: str | None = None
    ) -> None:
        """Plan an event, and see what it will do."""
        traced = new.traced
        draft = self._author.draft(
            kind,
            payload,
            origin=traced.origin,
            sources=traced.sources,
            at=new.said.at,
            event_id=event_id,
        )
        self._drafts.append(draft)
        event = self._event(kind, payload, traced, new.when)
        for key in _MEMORIES.keys(event):
            self._rows.setdefault(key, None)
        self._rows.update(_MEMORIES.apply(self._rows, event))

    def _event(self, kind: str, payload: dict[str, Any], traced: Traced, when: str) -> Event:
        """The event as it will be."""
        return Event(
            v=2,
            event_seq=_NOT_YET + len(self._drafts),
            event_id="",
            session_id=self._author.session_id,
            agent=self._author.agent,
            user=self._author.user,
            type=f"{kind}@1",
            timestamp=when,
            origin=traced.origin,
            trust=traced.trust,
            sources=traced.sources,
            payload=payload,
        )

    # ---- recording -------------------------------------------------------------------------

    def record(self) -> None:
        """Record all of it, then see to it that each slot has one current memory."""
        recorded = self.home.record(self._drafts) if self._drafts else []
        for home, draft in self._elsewhere:
            home.record([draft])
        settle(self.home, self._author, self._contested)
        changed = {event.payload["memory"] for event in recorded if event.kind != "memory_learned"}
        made = [learned(event) for event in recorded if event.kind == "memory_learned"]
        alone = [one for one in made if one and slot(one) is None and one.id not in changed]
        self.made = {one.id: one for one in alone}
        self._again = {one: recorded[n].event_seq for one, n in self._again.items()}

    def outrun(self, memory: Memory) -> bool:
        """Was this said again when another writer had just superseded it?"""
        said = self._again.get(memory.id)
        before = [change.event_seq for change in memory.history if change.what == "superseded"]
        return memory.superseded_by is not None and said is not None and before[-1] < said


def settle(home: Holdfast, author: Author, contested: Mapping[tuple[str, ...], str]) -> None:
    """Let the latest current memory of each slot stand; another writer may have been as fast."""

    def ask(reading: Reading) -> list[dict[str, Any]]:
        payloads = []
        for place, when in contested.items():
            found = knowledge.in_slot(reading, place)
            for old, new in _outdone([one for one in found if current(one, when)]):
                said = {"memory": old.id, "by": new.id, "reason": "learned at the same time"}
                payloads.append(said)
        return payloads

    payloads = home.views.read(ask) if contested else []
    if payloads:
        home.record([author.draft("memory_superseded", payload) for payload in payloads])


def _outdone(standing: Sequence[Memory]) -> Iterator[tuple[Memory, Memory]]:
    """Those of a slot's current memories that should not stand, each with the one that does instead."""
    for n, one in enumerate(standing):
        later = [new for new in standing[n + 1 :] if _may_replace(new, one)]
        before = [old for old in standing[:n] if _is_foreign_to(one, old)]
        if later or before:
            yield one, (later or before)[-1]


#: what a memory holds where nothing is said
_NONE: dict[str, Any] = {"steps": [], "kind": "fact", "category": "facts"}


def _may_replace(new: Memory, old: Memory) -> bool:
    """Nothing replaces what is believed more than it."""
    return new.trust >= old.trust and not _is_foreign_to(new, old)


def _is_foreign_to(new: Memory, old: Memory) -> bool:
    """Did the one come from outside, and the other not?"""
    return new.trust == 0 < old.history[0].trust


def _surer(standing: Memory, new: _New) -> dict[str, Any]:
    """What saying it again changes."""
    said = new.said
    changes: dict[str, Any] = {}
    sure = min(_SUREST, round(1 - (1 - standing.confidence) * (1 - new.memory.confidence), 6))
    if sure > standing.confidence:
        changes["confidence"] = sure
    if said.importance is not None and said.importance > standing.importance:
        changes["importance"] = said.importance
    for name in ("tags", "lineage"):
        before = getattr(standing, name)
        if set(getattr(new.memory, name)) - set(before):
            changes[name] = list(dict.fromkeys([*before, *getattr(new.memory, name)]))
    if set(new.memory.artifacts) - set(standing.artifacts):
        both = dict.fromkeys([*standing.artifacts, *new.memory.artifacts])
        changes["artifacts"] = msgspec.to_builtins(list(both))
    for name in ("valid_from", "valid_to", "expires_at"):
        if getattr(said, name) not in (None, getattr(standing, name)):
            changes[name] = getattr(said, name)
    return changes
