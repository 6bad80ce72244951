"""A memory: long-term knowledge, with every state it ever had.

A memory is made by one event and changed by later ones. Its row keeps what each of them set, and of the
first state whatever has changed since, so `as_of` gives the memory as it stood at any time: the fold of
its own events up to then, in the order of the log. `changed` is that fold's one step, for the view that
keeps the rows and for `as_of` alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

#: who may see a memory: one agent and user, one user, everybody in the project, everybody
SCOPES = ("session", "user", "project", "system")
#: what a memory is, and the category it has unless another is named
KINDS = {"fact": "facts", "episode": "context", "pattern": "skills", "workflow": "skills"}
CATEGORIES = ("facts", "preferences", "rules", "skills", "context")
#: how it came to be known
SOURCE_TYPES = ("explicit", "implicit", "bootstrap", "tool_output")
#: what an episode left behind
ARTIFACTS = ("commit", "pr", "adr", "file")
#: what can be said about a memory that was given to a model
VERDICTS = ("cited", "ignored", "useful", "wrong")
IMPORTANCE, CONFIDENCE = 0.5, 0.8

#: what a memory says; whoever changes it is answerable for it, so its trust falls to theirs
CONTENT = frozenset(
    {
        "kind",
        "category",
        "text",
        "summary",
        "compressed",
        "index",
        "subject",
        "key",
        "value",
        "applies_to",
        "title",
        "steps",
        "trigger",
    }
)
#: the changes a row remembers one by one; the log has them all
MOST_CHANGES = 300
#: the sources a row names; the log has them all
MOST_SOURCES = 200
_TUPLES = frozenset({"steps", "tags", "lineage", "supersedes"})


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """Something outside that belongs to a memory."""

    #: commit, pr, adr or file
    type: str
    ref: str


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How often something was given to a model, and what came of it."""

    retrieved: int = 0
    cited: int = 0
    ignored: int = 0
    useful: int = 0
    wrong: int = 0
    last_at: str | None = None


UNUSED = Usage()


class Change(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one event did to a memory."""

    at: str
    event_seq: int
    #: learned, revised, superseded, merged, forgotten, restored or trust_changed
    what: str
    #: the trust of that event
    trust: int = 0
    why: str = ""
    #: the fields it set; of the first change those it had set that are other now
    set: dict[str, Any] = {}


class Memory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One piece of long-term knowledge."""

    id: str
    scope: str
    #: who learned it, and in which session; in the narrower scopes its owner
    user: str | None = None
    agent: str | None = None
    session_id: str | None = None
    kind: str = "fact"
    category: str = "facts"
    #: the same in four levels of detail, each no longer than the one before; index has ≤ 50 characters
    text: str
    summary: str = ""
    compressed: str = ""
    index: str = ""
    #: what it is about, which of its properties, and where that holds: together its slot
    subject: str = ""
    key: str = ""
    value: str = ""
    applies_to: str = ""
    title: str = ""
    steps: tuple[str, ...] = ()
    trigger: str = ""
    tags: tuple[str, ...] = ()
    importance: float = IMPORTANCE
    source_type: str = "explicit"
    confidence: float = CONFIDENCE
    #: the events it was derived from: in this log, and in others as project_id:event_id
    sources: tuple[str, ...] = ()
    lineage: tuple[str, ...] = ()
    #: who said it, and how far that may be believed
    origin: str = ""
    trust: int = 0
    created_at: str
    #: of the event that made it
    event_seq: int
    updated_at: str
    #: how often it was revised
    revision: int = 0
    #: it holds from then on, and no longer from then on
    valid_from: str | None = None
    valid_to: str | None = None
    expires_at: str | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    superseded_at: str | None = None
    merged_into: str | None = None
    forgotten_at: str | None = None
    forgotten_because: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    #: filled when it is read
    usage: Usage = UNUSED
    #: what made it what it is, in the order of the log
    history: tuple[Change, ...] = ()


def current(memory: Memory, now: str) -> bool:
    """Does it hold at this time? Whatever was taken out of use does not, nor what ran out."""
    return state(memory, now) == "current"


def state(memory: Memory, now: str) -> str:
    """How it stands: current, forgotten, merged, superseded, expired, or (not yet valid) coming."""
    if memory.forgotten_at is not None:
        return "forgotten"
    if memory.merged_into is not None:
        return "merged"
    if memory.superseded_by is not None:
        return "superseded"
    if _over(memory.valid_to, now) or _over(memory.expires_at, now):
        return "expired"
    return "coming" if memory.valid_from is not None and memory.valid_from > now else "current"


def _over(end: str | None, now: str) -> bool:
    return end is not None and end <= now


def visible(memory: Memory, user: str | None, agent: str | None) -> bool:
    """May this agent of this user see it? An agent of None or * stands for all of that user's."""
    if memory.scope in ("project", "system"):
        return True
    if memory.user is None or memory.user != user:
        return False
    return memory.scope == "user" or agent in (None, "*") or memory.agent == agent


def slot(memory: Memory) -> tuple[str, ...] | None:
    """What only one current memory can say: subject, key, where it holds, and for whom."""
    if not plain(memory.key):
        return None
    owner: tuple[str, ...] = ()
    if memory.scope in ("session", "user"):
        owner = (memory.user or "",)
    if memory.scope == "session":
        owner = (*owner, memory.agent or "")
    named = (memory.subject, memory.key, memory.applies_to)
    return (*map(plain, named), memory.scope, *owner)


def plain(text: str) -> str:
    """Equal for texts that differ in case and spacing only."""
    return " ".join(text.casefold().split())


def levels_from(
    text: str, summary: str = "", compressed: str = "", index: str = ""
) -> tuple[str, str, str]:
    """The lower levels; one that is not given is the beginning of the one above it."""
    summary = summary or brief(text, 240)
    compressed = compressed or brief(summary, 120)
    return summary, compressed, brief(" ".join((index or compressed).split()), 50)


def brief(text: str, most: int) -> str:
    """The beginning of a text; the rest is where it came from."""
    return text if len(text) <= most else text[: most - 1] + "…"


def same_statement(one: Memory, other: Memory) -> bool:
    """Do two memories of one slot say the same?"""
    if one.value or other.value:
        return one.value.split() == other.value.split()
    return one.text.split() == other.text.split()


# ---- what it was ---------------------------------------------------------------------------


def filled(memory: Memory, fields: Mapping[str, Any]) -> Memory:
    """The memory with these fields, which are as they are in JSON."""
    return replace(memory, **{name: _typed(name, value) for name, value in fields.items()})


def changed(memory: Memory, change: Change) -> Memory:
    """The memory after one more change; what it was at first stays known."""
    new = _step(memory, change)
    first, *later = memory.history
    before = {
        name: _said(value)
        for name, value in asdict(memory).items()
        if name not in first.set
        and name not in ("history", "usage")
        and value != getattr(new, name)
    }
    history = (replace(first, set={**first.set, **before}), *later, change)
    if len(history) > MOST_CHANGES:
        history = _shortened(replace(new, history=history))
    return replace(new, history=history)


def as_of(memory: Memory, at: str) -> Memory | None:
    """The memory as the events up to this time made it; None before it was learned."""
    return _made_by(memory, lambda change: change.at <= at)


def at_seq(memory: Memory, seq: int) -> Memory | None:
    """The memory as the events up to this one made it; None where its row does not reach back so far."""
    return _made_by(memory, lambda change: change.event_seq <= seq)


def _made_by(memory: Memory, counts: Callable[[Change], bool]) -> Memory | None:
    """The fold of those of its changes that count."""
    first, *later = memory.history
    if not counts(first):
        return None
    found = _at_first(memory)
    for change in later:
        if counts(change):
            found = changed(found, change)
    return found


def revisions(memory: Memory) -> Iterator[Memory]:
    """The memory as it was learned, and as each revision left it, in the order of the log."""
    found = _at_first(memory)
    yield found
    for change in memory.history[1:]:
        found = changed(found, change)
        if change.what == "revised":
            yield found


def said_by(memory: Memory) -> int:
    """The event that made it say what it says: the one it was learned or last revised by."""
    return max(c.event_seq for c in memory.history if c.what in ("learned", "revised"))


def _at_first(memory: Memory) -> Memory:
    first = memory.history[0]
    return replace(filled(memory, first.set), history=(replace(first, set={}),))


def _step(memory: Memory, change: Change) -> Memory:
    new = {name: _typed(name, value) for name, value in change.set.items()}
    if "sources" in new:
        more = [source for source in new["sources"] if source not in memory.sources]
        new["sources"] = (*memory.sources, *more)[:MOST_SOURCES]
    if change.what == "revised":
        new["revision"] = memory.revision + 1
        if CONTENT & new.keys():
            new["trust"] = min(memory.trust, change.trust)
    return replace(memory, updated_at=change.at, **new)


def _shortened(memory: Memory) -> tuple[Change, ...]:
    """Its history without the second change, which counts as made at first."""
    first, second, *rest = memory.history
    then = _step(_at_first(memory), second)
    kept = {name: _said(getattr(then, name)) for name in first.set}
    said = second.event_seq if second.what == "revised" else first.event_seq
    return (replace(first, event_seq=said, set=kept), *rest)


def _said(value: Any) -> Any:
    """As it is in JSON."""
    return [msgspec.to_builtins(part) for part in value] if isinstance(value, tuple) else value


def _typed(name: str, value: Any) -> Any:
    """As it is in a Memory."""
    if name == "artifacts":
        return tuple(msgspec.convert(value, list[Artifact]))
    return tuple(value) if name in _TUPLES or name == "sources" else value


def as_dict(memory: Memory) -> Mapping[str, Any]:
    """Every field by name, those with nothing in them too: what a door answers."""
    said = {name: msgspec.to_builtins(value) for name, value in asdict(memory).items()}
    return {**said, "usage": asdict(memory.usage), "history": [asdict(c) for c in memory.history]}
