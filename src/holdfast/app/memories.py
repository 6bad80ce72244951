"""The verbs about memories: remember, get, list, revise, forget, restore, merge, trust, used.

Each is asked in somebody's name and sees what that one may see: a memory of somebody else is not there,
in the same words as one that never was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from holdfast.capture.stamp import timestamp
from holdfast.errors import Conflict, Denied, Invalid, NotFound
from holdfast.model import documents
from holdfast.model import memories as model
from holdfast.model.events import Draft, Event
from holdfast.model.memories import CONTENT, VERDICTS, Memory, current, plain, slot, visible
from holdfast.record import limits
from holdfast.views import knowledge
from holdfast.views.memories import LONGEST_NAME, LONGEST_TITLE, MOST_TAGS, is_memory_id

from . import given
from .given import Said
from .learning import Plan, settle
from .reserved import home_of, own_scope
from .telling import LEVELS, Author, content, find, not_there, redacted, trace

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: how often a statement is made again that another writer took the ground from
_TRIES = 5
#: a clock further past the newest event is not believed when it says that something ran out
_PATIENCE = timedelta(days=30)
STATES: dict[str, tuple[str, ...]] = {
    "current": ("current",),
    "superseded": ("superseded", "merged"),
    "forgotten": ("forgotten",),
    "expired": ("expired",),
    "all": ("current", "superseded", "merged", "forgotten", "expired", "coming"),
}
#: what a revision can empty, and what is left then
_EMPTY: dict[str, Any] = {
    **dict.fromkeys(("subject", "key", "value", "applies_to", "title", "trigger"), ""),
    **dict.fromkeys(("valid_from", "valid_to", "expires_at")),
    **dict.fromkeys(("steps", "tags", "artifacts"), ()),
}
_KEPT = ("scope", "supersedes")


# ---- learning --------------------------------------------------------------------------------


def remember(
    hf: Holdfast, author: Author, wanted: Sequence[Said], tries: int = _TRIES
) -> list[Memory]:
    """Learn these, as one batch for each log they belong to; those that say it, in order."""
    plans: dict[str, Plan] = {}
    planned: list[tuple[Plan, str]] = []
    for said in wanted:
        scope = said.scope or own_scope(hf) or "project"
        home = home_of(hf, scope, author.user)
        if scope == "session" and author.session_id is None:
            raise Invalid("what is for one session is learned in it: use Session.remember")
        plan = plans.setdefault(home.project.id, Plan(hf, home, author))
        planned.append((plan, plan.add(said, scope)))
    for plan in plans.values():
        plan.record()
    answer = []
    for (plan, one), said in zip(planned, wanted, strict=True):
        memory = plan.made.get(one) or _of(plan.home, one)
        if plan.outrun(memory) and tries:
            (memory,) = remember(hf, author, [replace(said, event_id=None)], tries - 1)
        answer.append(memory)
    return answer


def _of(home: Holdfast, memory_id: str) -> Memory:
    found = home.views.read(lambda reading: knowledge.memory(reading, memory_id))
    if found is None:
        raise not_there(memory_id)
    return found


# ---- reading ---------------------------------------------------------------------------------


def now(hf: Holdfast) -> str:
    """The time by which things run out; it stands still when the clock is far past the last event."""
    clock, head = timestamp(hf.clock.now_ms()), hf.log.head()
    if hf.newest[0] != head:
        after = max(0, head.event_seq - 1)
        newest = next((e for e in hf.log.read(after) if isinstance(e, Event)), None)
        hf.newest = head, newest.timestamp if newest is not None else ""
    try:
        last = datetime.fromisoformat(hf.newest[1]) if hf.newest[1] else None
    except ValueError:
        return clock
    if last is None or datetime.fromisoformat(clock) - last <= _PATIENCE:
        return clock
    return limits.moment(last + _PATIENCE)


def get(hf: Holdfast, author: Author, memory_id: str, as_of: given.When) -> Memory:
    """One memory, whatever its state, as it is or as it was."""
    _, memory = find(hf, memory_id, author)
    if as_of is None:
        return memory
    at = limits.moment(as_of)
    then = model.as_of(memory, at)
    if then is None:
        raise NotFound(f"there was no memory {memory_id} at {at}")
    return then


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which memories are asked for; None where anything goes."""

    scope: str | None = None
    kind: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    key: str | None = None
    applies_to: str | None = None
    state: str = "current"
    as_of: str | None = None
    limit: int | None = None

    def lets(self, memory: Memory, at: str) -> bool:
        """Is this memory, as it is at that time, one of them?"""
        return (
            model.state(memory, at) in STATES[self.state]
            and self.scope in (None, memory.scope)
            and self.kind in (None, memory.kind)
            and self.category in (None, memory.category)
            and set(self.tags) <= set(memory.tags)
            and self.key in (None, plain(memory.key))
            and self.applies_to in (None, plain(memory.applies_to))
        )


def asked_for(wanted: Mapping[str, Any]) -> Filter:
    """What a caller asks for, checked."""
    known = Filter.__struct_fields__
    checks: dict[str, Callable[[Any], Any]] = {
        "scope": given.scope,
        "kind": lambda value: given.one_of("kind", value, model.KINDS),
        "category": lambda value: given.one_of("category", value, model.CATEGORIES),
        "tags": lambda value: given.texts("tags", value, MOST_TAGS, LONGEST_NAME),
        "key": lambda value: plain(given.text("key", value, LONGEST_NAME)),
        "applies_to": lambda value: plain(given.text("applies_to", value, LONGEST_NAME)),
        "state": lambda value: given.one_of("state", value, STATES),
        "as_of": limits.moment,
        "limit": _count,
    }
    for name in wanted:
        if name not in known:
            raise Invalid(f"memories are not listed by {name!r}; use {', '.join(known)}")
    said = {name: value for name, value in wanted.items() if value is not None}
    if said.get("scope") == "all":
        del said["scope"]
    return Filter(**{name: checks[name](value) for name, value in said.items()})


def _count(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise Invalid(f"limit must be a whole number from 1 on, not {value!r}")
    return value


def listed(hf: Holdfast, author: Author, wanted: Filter) -> list[Memory]:
    """The memories this author may see, the newest first."""
    at = wanted.as_of or now(hf)
    found = []
    for home in hf.logs(author.user):
        for memory in home.views.read(knowledge.memories):
            if not visible(memory, author.user, author.agent):
                continue
            then = memory if wanted.as_of is None else model.as_of(memory, at)
            if then is not None and wanted.lets(then, at):
                found.append(then)
    found.sort(key=lambda memory: memory.id)
    found.sort(key=lambda memory: memory.created_at, reverse=True)
    return found[: wanted.limit]


# ---- changing --------------------------------------------------------------------------------


def revise(hf: Holdfast, author: Author, memory_id: str, changes: Mapping[str, Any]) -> Memory:
    """Change what a memory says, or what is said about it."""
    home, memory = find(hf, memory_id, author)
    said = given.said(changes)
    for name in _KEPT:
        if getattr(said, name) is not None:
            raise Invalid(f"a memory keeps its {name}; remember it anew instead")
    emptied = [name for name, value in changes.items() if value is None]
    for name in emptied:
        if name not in _EMPTY and name not in ("at", "event_id", "sources"):
            raise Invalid(f"a memory cannot be without {name}")
    fields = _revised(home, memory, said, {name for name in emptied if name in _EMPTY})
    traced = trace(hf, home, author, said.sources or ())
    if traced.lineage:
        fields["lineage"] = list(dict.fromkeys([*memory.lineage, *traced.lineage]))
    if not fields and not traced.sources:
        return memory
    after = model.filled(memory, fields)
    when = said.at or timestamp(home.clock.now_ms())
    comes = slot(after) != slot(memory) or (current(after, when) and not current(memory, when))
    place = slot(after) if comes else None
    payload = {"memory": memory.id, "changes": fields}
    own = {"at": said.at, "event_id": said.event_id}
    draft = author.draft(
        "memory_revised", payload, sources=traced.sources, origin=traced.origin, **own
    )
    return _into_slot(home, author, after, draft, place)


def _revised(home: Holdfast, memory: Memory, said: Said, emptied: set[str]) -> dict[str, Any]:
    """The fields that will be other, with levels of what the memory will say."""
    new = {n: v for n, v in msgspec.structs.asdict(said).items() if v is not None}
    new |= {name: _EMPTY[name] for name in emptied}
    about = {n: getattr(memory, n) for n in CONTENT if n not in LEVELS}
    if CONTENT & new.keys():
        told = content(home, Said(**{**about, **{n: new[n] for n in CONTENT & new.keys()}}))
        if not told["text"].strip():
            raise Invalid("a memory needs a text, or a key and a value")
        levels = model.levels_from(told["text"], *(told.get(n, "") for n in LEVELS))
        new |= {n: told[n] for n in about} | dict(zip(LEVELS, levels, strict=True))
    shown = {
        n: list(v) if isinstance(v := msgspec.to_builtins(value), tuple) else v
        for n, value in new.items()
        if n not in ("at", "event_id", "sources")
    }
    other = {n for n, value in shown.items() if model.filled(memory, {n: value}) != memory}
    if "text" in other:
        other |= set(
            LEVELS
        )  # else they would be made from the new text without looking at the rest
    return {n: value for n, value in shown.items() if n in other}


def _into_slot(
    home: Holdfast, author: Author, after: Memory, draft: Draft, place: tuple[str, ...] | None
) -> Memory:
    """Record what brings a memory into a slot, which must be free."""
    if place is not None:
        when = draft.at or timestamp(home.clock.now_ms())
        at = when if isinstance(when, str) else limits.moment(when)
        found = home.views.read(lambda reading: knowledge.in_slot(reading, place))
        taken = [one for one in found if current(one, at) and one.id != after.id]
        if taken and current(after, at):
            raise Conflict(
                f"{taken[-1].id} says what stands there now; forget it first, or remember anew"
            )
        draft = replace(draft, payload={**draft.payload, "slot": list(place)})
    home.record([draft])
    if place is not None:
        settle(home, author, {place: at})
    return _of(home, after.id)


def forget(
    hf: Holdfast, author: Author, memory_id: str, reason: str, *, at: given.When = None
) -> Memory:
    """Take a memory out of use; it can be restored."""
    home, memory = find(hf, memory_id, author)
    why = _reason(home, reason)
    if memory.forgotten_at is not None:
        return memory
    payload = {"memory": memory.id, "reason": why}
    home.record([author.draft("memory_forgotten", payload, at=at)])
    return _of(home, memory.id)


def forget_all(hf: Holdfast, author: Author, gone: Iterable[Memory], reason: str) -> None:
    """Take memories of this project out of use, as one batch."""
    why = _reason(hf, reason)
    hf.record(
        [
            author.draft("memory_forgotten", {"memory": memory.id, "reason": why})
            for memory in gone
            if memory.forgotten_at is None
        ]
    )


def not_the_persons(memory: Memory) -> None:
    """Denied where a memory is a person's own word: an agent has no say in it."""
    if memory.trust == 3 and memory.forgotten_at is None:
        raise Denied(
            f"{memory.id} is the person's own word, which no agent forgets; "
            f"ask the person to run: holdfast forget {memory.id}"
        )


def _reason(home: Holdfast, reason: Any) -> str:
    why = redacted(home, given.text("reason", reason, LONGEST_TITLE))
    if not why.strip():
        raise Invalid("a reason is needed; it is what people see when they look for it later")
    return why


def restore(hf: Holdfast, author: Author, memory_id: str) -> Memory:
    """Bring back what was forgotten, superseded or merged; its slot must be free."""
    home, memory = find(hf, memory_id, author)
    if model.state(memory, "") in ("current", "coming"):
        return memory
    back = dict.fromkeys(
        ("forgotten_at", "forgotten_because", "superseded_by", "superseded_at", "merged_into")
    )
    draft = author.draft("memory_restored", {"memory": memory.id})
    return _into_slot(home, author, replace(memory, **back), draft, slot(memory))


def merge(hf: Holdfast, author: Author, ids: Sequence[str], text: str | None) -> Memory:
    """Make one memory of several: the first of them, with the sources of all."""
    wanted = given.memory_ids("merge", ids)
    if len(wanted) < 2:
        raise Invalid("name at least two memories to merge")
    found = [find(hf, one, author) for one in wanted]
    (home, kept), *others = found
    if any(log is not home or one.scope != kept.scope for log, one in others):
        raise Invalid("only memories of the same scope can be merged")
    if any(model.state(one, "") not in ("current", "coming") for _, one in found):
        raise Conflict("only memories that are in use can be merged; restore the others first")
    traced = trace(hf, home, author, [one.id for _, one in others])
    changes = _together([one for _, one in found])
    if text is not None:
        changes |= _revised(home, kept, given.said({"text": text}), set())
    merged = {"memory": kept.id, "from": [one.id for _, one in others]}
    drafts = [author.draft("memory_merged", merged, sources=traced.sources)]
    if changes:
        payload = {"memory": kept.id, "changes": changes}
        more = {"sources": traced.sources, "origin": traced.origin}
        drafts.append(author.draft("memory_revised", payload, **more))
    home.record(drafts)
    return _of(home, kept.id)


def _together(found: list[Memory]) -> dict[str, Any]:
    """What several memories make of one: every tag and artifact, as important as the first of them."""
    kept = found[0]
    doubt = 1.0
    for one in found:
        doubt *= 1 - one.confidence
    artifacts = dict.fromkeys(part for one in found for part in one.artifacts)
    changes = {
        "confidence": min(0.99, round(1 - doubt, 6)),
        "importance": max(one.importance for one in found),
        "tags": list(dict.fromkeys(tag for one in found for tag in one.tags))[:MOST_TAGS],
        "artifacts": msgspec.to_builtins(list(artifacts)),
    }
    return {n: v for n, v in changes.items() if model.filled(kept, {n: v}) != kept}


def trust(hf: Holdfast, author: Author, memory_id: str, level: int, reason: str) -> Memory:
    """How far a memory may be believed, said by a person."""
    if type(level) is not int or not 0 <= level <= 3:
        raise Invalid(f"trust is 0 (foreign), 1 (tool), 2 (agent) or 3 (principal), not {level!r}")
    home, memory = find(hf, memory_id, author)
    payload = {"memory": memory.id, "trust": level, "reason": _reason(home, reason)}
    home.record([author.draft("trust_changed", payload)])
    return _of(home, memory.id)


# ---- using -----------------------------------------------------------------------------------


def used(
    hf: Holdfast, author: Author, ids: Sequence[str], verdict: str, action: str | None
) -> list[Event]:
    """Say what came of memories or events that were handed out: one event in each log they are in."""
    given.one_of("the verdict", verdict, VERDICTS)
    wanted = [ids] if isinstance(ids, str) else ids
    if not isinstance(wanted, Iterable) or not (wanted := list(wanted)):
        raise Invalid("name at least one memory or event")
    if not all(isinstance(one, str) for one in wanted):
        raise Invalid("memories and events are named by their ids")
    homes: dict[str, tuple[Holdfast, list[str]]] = {}
    for one in dict.fromkeys(wanted):
        home = _keeper(hf, author, one)
        homes.setdefault(home.project.id, (home, []))[1].append(one)
    more = {"action": given.text("action", action, LONGEST_TITLE)} if action else {}
    return [
        home.record([author.draft("memory_used", {verdict: found, **more})])[0]
        for home, found in homes.values()
    ]


def _keeper(hf: Holdfast, author: Author, one: Any) -> Holdfast:
    """The project that keeps a memory or an event this author may see."""
    if is_memory_id(one):
        return find(hf, one, author)[0]
    limits.event_id(one)
    for home in hf.logs(author.user):
        event = home.log.find(one) or home.log.find(documents.place_of(one)[0])
        if event is not None and documents.said(event) is not None:
            return home  # documents are everybody's in the project
        mine = event is not None and event.user == author.user
        if mine and event is not None and author.agent in (None, "*", event.agent):
            return home
    raise NotFound(f"there is no event {one}")
