"""Telling: who says something about a memory, where it came from, and what its event will hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.capture.origin import ORIGINS
from holdfast.errors import NotFound
from holdfast.model.events import Draft, Event
from holdfast.model.memories import (
    CONFIDENCE,
    IMPORTANCE,
    KINDS,
    Memory,
    levels_from,
    visible,
)
from holdfast.text.levels import levels
from holdfast.views import knowledge
from holdfast.views.memories import is_memory_id

from .given import Said

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: what each trust may at most have come from
_ORIGINS = {3: "user", 2: "agent", 1: "tool", 0: "import"}
_WORDS = ("text", "subject", "key", "value", "applies_to", "title", "trigger")
LEVELS = ("summary", "compressed", "index")


class Author(msgspec.Struct, frozen=True, kw_only=True):
    """In whose name something is said."""

    user: str
    origin: str
    agent: str | None = None
    session_id: str | None = None

    def draft(self, kind: str, payload: dict[str, Any], **more: Any) -> Draft:
        """An event of theirs."""
        return Draft(
            type=kind,
            payload=payload,
            origin=more.pop("origin", self.origin),
            session_id=self.session_id,
            agent=self.agent,
            user=self.user,
            **more,
        )


class Traced(msgspec.Struct, frozen=True, kw_only=True):
    """Where something came from, seen from the log it is recorded in."""

    sources: tuple[str, ...] = ()
    lineage: tuple[str, ...] = ()
    origin: str = ""
    trust: int = 0


def not_there(memory_id: object) -> NotFound:
    """What is said about a memory that is not there, and about one that is somebody else's."""
    return NotFound(
        f"there is no memory {memory_id}; list those there are, with state all for the past ones"
    )


def find(hf: Holdfast, memory_id: str, author: Author) -> tuple[Holdfast, Memory]:
    """A memory this author may see, with the project that keeps it."""
    if is_memory_id(memory_id):
        for home in hf.logs(author.user):
            found = home.views.read(lambda reading: knowledge.memory(reading, memory_id))
            if found is not None and visible(found, author.user, author.agent):
                return home, found
    raise not_there(memory_id)


def trace(hf: Holdfast, home: Holdfast, author: Author, ids: Sequence[str]) -> Traced:
    """Find what something was derived from; it is believed no more than the least of that."""
    sources, lineage = [], []
    lowest = most = ORIGINS[author.origin]
    for one in ids:
        log, event, trust = _source(hf, home, author, one)
        lowest = min(lowest, trust)
        if log is home:
            sources.append(event.event_id)
        else:
            lineage.append(f"{log.project.id}:{event.event_id}")
        if log is not home or trust < event.trust:  # the log cannot find that out by itself
            most = min(most, trust)
    origin = author.origin if most == ORIGINS[author.origin] else _ORIGINS[most]
    return Traced(sources=tuple(sources), lineage=tuple(lineage), origin=origin, trust=lowest)


def _source(hf: Holdfast, home: Holdfast, author: Author, one: str) -> tuple[Holdfast, Event, int]:
    if is_memory_id(one):
        log, memory = find(hf, one, author)
        event = made_by(log, memory)
        return log, event, memory.trust
    for log in (home, hf):
        found = log.log.find(one)
        if found is not None and found.user in (None, author.user):
            return log, found, found.trust
    raise NotFound(f"source {one} is not in this log")


def made_by(home: Holdfast, memory: Memory) -> Event:
    """The event that made a memory."""
    for found in home.log.read(memory.event_seq - 1):
        if isinstance(found, Event):
            return found
    raise not_there(memory.id)


def redacted(hf: Holdfast, text: str) -> str:
    """A text without its secrets: a level cut out of it must not hold half of one."""
    if not text:
        return text
    return b"".join(hf._recorder.redacted([text.encode("utf-8", "surrogatepass")])).decode(
        "utf-8", "replace"
    )


def content(hf: Holdfast, new: Said) -> dict[str, Any]:
    """What a memory says, as its event holds it: redacted, with its levels, without what is usual."""
    fields: dict[str, Any] = {n: redacted(hf, getattr(new, n) or "") for n in _WORDS}
    fields["value"] = _named(hf, fields["key"], fields["value"])
    fields["steps"] = [redacted(hf, step) for step in new.steps or ()]
    kind = new.kind or "fact"
    if not fields["text"].strip():
        fields["text"] = _without_text(fields)
    found = levels(kind, **{name: value for name, value in fields.items() if name != "subject"})
    detail = [redacted(hf, getattr(new, n) or "") or getattr(found, n) for n in LEVELS]
    for n, name in enumerate(LEVELS):
        if levels_from(fields["text"], *detail[:n])[n] != detail[n]:
            fields[name] = detail[n]
    fields |= {"kind": kind, "category": new.category or KINDS[kind]}
    return fields


def _named(hf: Holdfast, key: str, value: str) -> str:
    """A value without what is a secret by its name: a password looks like any word."""
    for between in ("=", ": "):
        name = f"{key}{between}"
        told = redacted(hf, name + value) if key and value else value
        if told != name + value:
            value = told.removeprefix(name)
    return value


def _without_text(fields: dict[str, Any]) -> str:
    """What stands for the text where none is given."""
    if fields["key"].strip() and fields["value"].strip():
        return f"{fields['key']}: {fields['value']}"
    steps = " → ".join(fields["steps"])
    about = fields["title"] or fields["trigger"]
    return f"{about}: {steps}" if about and steps else steps


def unusual(fields: dict[str, Any]) -> dict[str, Any]:
    """Without what a memory has anyhow."""
    usual = {
        "importance": IMPORTANCE,
        "confidence": CONFIDENCE,
        "source_type": "explicit",
        "category": KINDS[fields["kind"]],
    }
    return {n: v for n, v in fields.items() if v not in (None, "", [], ()) and usual.get(n) != v}
