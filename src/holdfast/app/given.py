"""What callers say about a memory: every field checked before anything is recorded.

A field that is not known is Invalid and the known ones are named, so a misspelt one is never lost. The
words of older systems are understood where they mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from holdfast.errors import Invalid, Limit
from holdfast.model.memories import (
    ARTIFACTS,
    CATEGORIES,
    KINDS,
    SCOPES,
    SOURCE_TYPES,
    Artifact,
)
from holdfast.record import limits
from holdfast.views.memories import (
    LONGEST_NAME,
    LONGEST_TEXT,
    LONGEST_TITLE,
    LONGEST_VALUE,
    MOST_STEPS,
    MOST_TAGS,
    is_memory_id,
)

When = str | datetime | None
_NAMES = {"type": "kind", "content": "text", "lineage": "sources"}
_SCOPES = {"user-private": "user", "project-shared": "project", "app": "project"}
_ADR = re.compile(r"ADR-\w{1,20}", re.IGNORECASE)
_LENGTHS = {
    "text": LONGEST_TEXT,
    "summary": LONGEST_VALUE,
    "compressed": LONGEST_VALUE,
    "index": 50,
    "subject": LONGEST_NAME,
    "key": LONGEST_NAME,
    "value": LONGEST_VALUE,
    "applies_to": LONGEST_NAME,
    "title": LONGEST_TITLE,
    "trigger": LONGEST_TITLE,
}
_WORDS = {"kind": tuple(KINDS), "category": CATEGORIES, "source_type": SOURCE_TYPES}


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller says about a memory; None where nothing is said."""

    text: str | None = None
    kind: str | None = None
    category: str | None = None
    scope: str | None = None
    subject: str | None = None
    key: str | None = None
    value: str | None = None
    applies_to: str | None = None
    title: str | None = None
    steps: tuple[str, ...] | None = None
    trigger: str | None = None
    #: levels of detail a caller has better words for
    summary: str | None = None
    compressed: str | None = None
    index: str | None = None
    tags: tuple[str, ...] | None = None
    importance: float | None = None
    source_type: str | None = None
    confidence: float | None = None
    sources: tuple[str, ...] | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    expires_at: str | None = None
    supersedes: tuple[str, ...] | None = None
    artifacts: tuple[Artifact, ...] | None = None
    #: when it was said, for history
    at: str | None = None
    event_id: str | None = None


KNOWN = Said.__struct_fields__


def said(given: Mapping[str, Any]) -> Said:
    """The fields a caller gave, checked."""
    named: dict[str, Any] = {}
    for name, value in given.items():
        known = _NAMES.get(name, name)
        if known not in KNOWN:
            raise Invalid(f"a memory has no field {name!r}; it has {', '.join(KNOWN)}")
        if known in named:
            raise Invalid(f"{name} says again what {known} says; give one of them")
        named[known] = value
    found = Said(**{n: _checked(n, value) for n, value in named.items() if value is not None})
    if found.valid_from and found.valid_to and found.valid_to <= found.valid_from:
        raise Invalid(f"valid_to ({found.valid_to}) must be later than valid_from")
    return found


def _checked(name: str, value: Any) -> Any:
    if name in _LENGTHS:
        return text(name, _plain(value) if name == "value" else value, _LENGTHS[name])
    if name in _WORDS:
        return one_of(name, value, _WORDS[name])
    if name in ("valid_from", "valid_to", "expires_at", "at"):
        return limits.moment(value)
    if name in ("importance", "confidence"):
        return share(name, value)
    return _OTHERS[name](value)


def _plain(value: Any) -> Any:
    """A value is a text; numbers and truths become one as JSON writes them."""
    return msgspec.json.encode(value).decode() if isinstance(value, bool | int | float) else value


def text(name: str, value: Any, most: int) -> str:
    """A text up to a length."""
    if not isinstance(value, str):
        raise Invalid(f"{name} is a text, not {type(value).__name__}")
    if len(value) > most:
        raise Limit(
            f"{name} is {len(value):,} characters long; {most:,} is the most for a memory, "
            "so keep the rest in a file and name that"
        )
    return value


def one_of(name: str, value: Any, known: Iterable[str]) -> str:
    """A word out of a few."""
    if not isinstance(value, str) or value not in known:
        raise Invalid(f"{name} must be one of {', '.join(known)}, not {value!r}")
    return value


def scope(value: Any) -> str:
    """Who may see it, in our words or in older ones."""
    return one_of("scope", _SCOPES.get(value, value) if isinstance(value, str) else value, SCOPES)


def share(name: str, value: Any) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Invalid(f"{name} must be a number from 0 to 1, not {value!r}")
    return float(value)


def texts(name: str, value: Any, count: int, most: int) -> tuple[str, ...]:
    """A list of short texts; one text is not a list."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise Invalid(f"{name} are a list of texts, not {value!r}")
    found = tuple(text(f"one of the {name}", part, most) for part in value)
    if len(found) > count:
        raise Limit(f"{len(found)} {name}; {count} is the most for a memory")
    return found


def memory_ids(name: str, value: Any) -> tuple[str, ...]:
    """The id of a memory, or a list of them."""
    found = (value,) if isinstance(value, str) else texts(name, value, MOST_TAGS, 128)
    for one in found:
        if not is_memory_id(one):
            raise Invalid(f"{name} names memories by their ids (mem_…), not {one!r}")
    return tuple(dict.fromkeys(found))


def _artifacts(value: Any) -> tuple[Artifact, ...]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise Invalid(f"artifacts are a list like ['commit:abc123'], not {value!r}")
    return tuple(map(_artifact, value))


def _artifact(given: Any) -> Artifact:
    if isinstance(given, Artifact):
        given = {"type": given.type, "ref": given.ref}
    if isinstance(given, str):
        kind, colon, ref = given.partition(":")
        given = {"type": kind.lower(), "ref": ref} if colon else {"ref": given}
        if not colon and _ADR.fullmatch(given["ref"]):
            given["type"] = "adr"
    fields = set(given) if isinstance(given, Mapping) else set()
    if fields != {"type", "ref"} or given["type"] not in ARTIFACTS or not given["ref"]:
        raise Invalid(
            f"{given!r} is not an artifact; use {', '.join(f'{kind}:…' for kind in ARTIFACTS)}"
        )
    return Artifact(type=given["type"], ref=text("an artifact", given["ref"], LONGEST_NAME))


def _sources(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise Invalid(f"sources are a list of ids, not {value!r}")
    return limits.sources(tuple(value) if isinstance(value, Iterable) else value)


_OTHERS = {
    "scope": scope,
    "steps": lambda value: texts("steps", value, MOST_STEPS, LONGEST_TITLE),
    "tags": lambda value: texts("tags", value, MOST_TAGS, LONGEST_NAME),
    "sources": _sources,
    "supersedes": lambda value: memory_ids("supersedes", value),
    "artifacts": _artifacts,
    "event_id": limits.event_id,
}
