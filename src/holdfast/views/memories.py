"""Memories: one row each, with what every event about it set.

A row belongs to no session, so its key begins with three nulls; who may see it is for `visible` to say.
An event changes a memory only if its author may see that memory, and an event from outside (an import, a
web page) changes only what came from outside too. Whatever a payload holds that a memory cannot is cut
to what fits, or left out; nothing is refused here, because the log cannot be told to take it back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.model.events import Event
from holdfast.model.memories import (
    ARTIFACTS,
    CATEGORIES,
    KINDS,
    MOST_SOURCES,
    SCOPES,
    SOURCE_TYPES,
    Change,
    Memory,
    brief,
    changed,
    filled,
    levels_from,
    visible,
)

from .view import NOTHING, Rows, common_key

LONGEST_TEXT = 64 << 10
#: what names a slot: a subject, a key, a place where something holds
LONGEST_NAME = 200
LONGEST_VALUE = 4_000
LONGEST_TITLE = 500
MOST_TAGS = 50
MOST_STEPS = 100
MOST_IDS = 1_000
_ID = re.compile(r"mem_[A-Za-z0-9_.:-]{1,124}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
#: what stands for "nothing usable was said"
_NOTHING = object()
_Clean = Callable[[Any], Any]


def is_memory_id(given: Any) -> bool:
    """Does this look like the id of a memory?"""
    return isinstance(given, str) and _ID.fullmatch(given) is not None


# ---- what a payload may say ------------------------------------------------------------------


def _text(most: int) -> _Clean:
    return lambda given: brief(given, most) if isinstance(given, str) else _NOTHING


def _one_of(known: tuple[str, ...]) -> _Clean:
    return lambda given: given if isinstance(given, str) and given in known else _NOTHING


def _texts(count: int, most: int) -> _Clean:
    def clean(given: Any) -> Any:
        if not isinstance(given, list | tuple):
            return _NOTHING
        kept = (brief(part, most) for part in given if isinstance(part, str) and part)
        return list(dict.fromkeys(kept))[:count]

    return clean


def _steps(given: Any) -> Any:
    """The same step may come twice."""
    if not isinstance(given, list | tuple):
        return _NOTHING
    return [brief(part, LONGEST_TITLE) for part in given if isinstance(part, str)][:MOST_STEPS]


def _share(given: Any) -> Any:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return _NOTHING
    return float(min(max(given, 0), 1))


def _moment(given: Any) -> Any:
    if given is None:
        return None
    return given if isinstance(given, str) and _MOMENT.fullmatch(given) else _NOTHING


def _artifacts(given: Any) -> Any:
    if not isinstance(given, list | tuple):
        return _NOTHING
    kept = [
        {"type": part["type"], "ref": brief(part["ref"], LONGEST_NAME)}
        for part in given
        if isinstance(part, dict)
        and isinstance(part.get("ref"), str)
        and isinstance(part.get("type"), str)
        and part["type"] in ARTIFACTS
    ]
    return kept[:MOST_TAGS]


def ids_in(given: Any) -> list[str]:
    """The ids of memories among what was given, each once."""
    if not isinstance(given, list | tuple):
        return []
    return list(dict.fromkeys(part for part in given if is_memory_id(part)))[:MOST_IDS]


_FIELDS: dict[str, _Clean] = {
    "kind": _one_of(tuple(KINDS)),
    "category": _one_of(CATEGORIES),
    "text": _text(LONGEST_TEXT),
    "summary": _text(LONGEST_VALUE),
    "compressed": _text(LONGEST_VALUE),
    "index": _text(50),
    "subject": _text(LONGEST_NAME),
    "key": _text(LONGEST_NAME),
    "value": _text(LONGEST_VALUE),
    "applies_to": _text(LONGEST_NAME),
    "title": _text(LONGEST_TITLE),
    "steps": _steps,
    "trigger": _text(LONGEST_TITLE),
    "tags": _texts(MOST_TAGS, LONGEST_NAME),
    "importance": _share,
    "source_type": _one_of(SOURCE_TYPES),
    "confidence": _share,
    "valid_from": _moment,
    "valid_to": _moment,
    "expires_at": _moment,
    "supersedes": ids_in,
    "artifacts": _artifacts,
    "lineage": _texts(MOST_SOURCES, 300),
}


def said(given: Any) -> dict[str, Any]:
    """The fields of a memory among what was given, as they can be kept."""
    if not isinstance(given, dict):
        return {}
    kept = {name: clean(given[name]) for name, clean in _FIELDS.items() if name in given}
    kept = {name: value for name, value in kept.items() if value is not _NOTHING}
    if not kept.get("text", "").strip():
        kept.pop("text", None)
    else:
        given_levels = (kept.get(name, "") for name in ("summary", "compressed", "index"))
        levels = levels_from(kept["text"], *given_levels)
        kept |= zip(("summary", "compressed", "index"), levels, strict=True)
    return kept


# ---- what an event does ----------------------------------------------------------------------


def learned(event: Event) -> Memory | None:
    """The memory an event makes; None when it does not say what."""
    given = event.payload if isinstance(event.payload, dict) else {}
    fields = said(given)
    if "text" not in fields and fields.get("key", "").strip() and fields.get("value", "").strip():
        fields = said({**given, "text": f"{fields['key']}: {fields['value']}"})
    if "text" not in fields or not is_memory_id(given.get("memory")):
        return None
    fields.setdefault("category", KINDS[fields.get("kind", "fact")])
    scope = given.get("scope")
    made = Memory(
        id=given["memory"],
        # whom it was meant for is not known: the fewest, then
        scope=scope if isinstance(scope, str) and scope in SCOPES else "session",
        user=event.user,
        agent=event.agent,
        session_id=event.session_id,
        text="",
        sources=event.sources[:MOST_SOURCES],
        origin=event.origin,
        trust=event.trust,
        created_at=event.timestamp,
        event_seq=event.event_seq,
        updated_at=event.timestamp,
        history=(_change(event, {}),),
    )
    return filled(made, fields)


def _change(event: Event, fields: dict[str, Any], why: Any = None) -> Change:
    return Change(
        at=event.timestamp,
        event_seq=event.event_seq,
        what=event.kind.removeprefix("memory_"),
        trust=event.trust,
        why=brief(why, LONGEST_TITLE) if isinstance(why, str) else "",
        set=fields,
    )


def may_change(event: Event, memory: Memory) -> bool:
    """May this event change that memory?"""
    first = memory.history[0].trust
    return visible(memory, event.user, event.agent) and (event.trust > 0 or first == 0)


def _revised(event: Event, given: Mapping[str, Any], _: Memory) -> Change | None:
    fields = said(given.get("changes"))
    if event.sources:
        fields["sources"] = list(event.sources[:MOST_SOURCES])
    return _change(event, fields) if fields else None


def _superseded(event: Event, given: Mapping[str, Any], memory: Memory) -> Change | None:
    by = given.get("by")
    if not is_memory_id(by) or by == memory.id:
        return None
    fields = {"superseded_by": by, "superseded_at": event.timestamp}
    return _change(event, fields, given.get("reason"))


def _merged(event: Event, given: Mapping[str, Any], memory: Memory) -> Change | None:
    if memory.id != given["memory"]:
        return _change(event, {"merged_into": given["memory"]})
    return _change(event, {"sources": list(event.sources[:MOST_SOURCES])})


def _forgotten(event: Event, given: Mapping[str, Any], _: Memory) -> Change | None:
    why = given.get("reason")
    because = brief(why, LONGEST_TITLE) if isinstance(why, str) else ""
    return _change(event, {"forgotten_at": event.timestamp, "forgotten_because": because}, why)


def _restored(event: Event, _: Mapping[str, Any], __: Memory) -> Change | None:
    gone = ("forgotten_at", "forgotten_because", "superseded_by", "superseded_at", "merged_into")
    return _change(event, dict.fromkeys(gone))


def _trusted(event: Event, given: Mapping[str, Any], _: Memory) -> Change | None:
    """Only a person's own word raises trust, or lowers it."""
    level = given.get("trust")
    if event.trust != 3 or type(level) is not int or not 0 <= level <= 3:
        return None
    return _change(event, {"trust": level}, given.get("reason"))


_CHANGES: dict[str, Callable[[Event, Mapping[str, Any], Memory], Change | None]] = {
    "memory_revised": _revised,
    "memory_superseded": _superseded,
    "memory_merged": _merged,
    "memory_forgotten": _forgotten,
    "memory_restored": _restored,
    "trust_changed": _trusted,
}


class MemoryView:
    """One row for each memory."""

    name = "memories"
    version = 1
    kinds = frozenset({"memory_learned", *_CHANGES})
    row = Memory

    def keys(self, event: Event) -> tuple[str, ...]:
        """The memory it is about; of a merge also those that became part of it."""
        given = event.payload if isinstance(event.payload, dict) else {}
        if not is_memory_id(given.get("memory")):
            return ()
        others = ids_in(given.get("from")) if event.kind == "memory_merged" else []
        return tuple(map(common_key, dict.fromkeys([given["memory"], *others])))

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Make the memory, once; then change it."""
        keys = self.keys(event)
        if event.kind == "memory_learned":
            made = learned(event) if rows[keys[0]] is None else None
            return NOTHING if made is None else {keys[0]: made}
        after: dict[str, Memory] = {}
        for key in keys:
            memory: Memory | None = rows[key]
            if memory is None or not may_change(event, memory):
                continue
            change = _CHANGES[event.kind](event, event.payload, memory)
            if change is not None:
                after[key] = changed(memory, change)
        return after
