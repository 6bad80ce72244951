"""What callers say about items, checked before anything is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from holdfast.errors import Invalid, Limit
from holdfast.model.items import TIERS, ContextItem, ItemStats
from holdfast.record import limits
from holdfast.views.items import LONGEST_TAG, LONGEST_TEXT, MOST_TAGS

from . import given

#: what stands for all tiers
_ALL = "ALL"


def about(**fields: Any) -> dict[str, Any]:
    """What is said about an item beside its text, checked."""
    said: dict[str, Any] = {}
    for name in ("pinned", "important"):
        if fields[name] is not None and not isinstance(fields[name], bool):
            raise Invalid(f"{name} is True or False, not {fields[name]!r}")
    if fields["importance"] is not None:
        said["importance"] = given.share("importance", fields["importance"])
    if fields["tags"] is not None:
        said["tags"] = [*given.texts("tags", fields["tags"], MOST_TAGS, LONGEST_TAG)]
    return said | {n: fields[n] for n in ("pinned", "important") if fields[n] is not None}


def imagined(
    before: ContextItem | None, item_id: str, said: Mapping[str, Any], at: str
) -> ContextItem:
    """The item as it will be, as far as its score goes."""
    base = before or ContextItem(id=item_id, type="", text="", sha256="")
    return replace(
        base,
        type=said.get("item_type", base.type),
        importance=said.get("importance", base.importance),
        pinned=said.get("pinned", base.pinned),
        updated_at=at,
    )


def past(at: str | datetime, now: str) -> str:
    """When something was saved: not later than now, as it would be worth the same for so long."""
    moment = limits.moment(at)
    if moment > now:
        raise Invalid(f"at is not later than now, which is {now}; {moment} is")
    return moment


def text(words: Any) -> str:
    """What an item says, up to a length."""
    if not isinstance(words, str):
        raise Invalid(f"text is a text, not {type(words).__name__}")
    if len(words) > LONGEST_TEXT:
        raise Limit(
            f"text is {len(words):,} characters long; {LONGEST_TEXT:,} is the most for an item, so "
            "save it as several, or keep it in a file and name that"
        )
    return words


def tier(name: Any) -> str | None:
    """A tier as it is called here; None for all of them."""
    named = name.upper() if isinstance(name, str) else name
    if named is None or named == _ALL:
        return None
    if named not in TIERS:
        raise Invalid(f"a tier is HOT, WARM or COLD, or ALL, not {name!r}")
    return str(named)


def limit(most: Any) -> int | None:
    """How many at most; None for all of them."""
    if most is not None and (type(most) is not int or most < 1):
        raise Invalid(f"limit must be a whole number from 1 on, not {most!r}")
    return most


def hashes(previous: Any) -> dict[str, str]:
    """Ids and hashes, from whatever says them."""
    if isinstance(previous, ItemStats):
        return previous.hashes
    if isinstance(previous, Mapping):
        inner = previous.get("hashes", previous)
    elif isinstance(previous, Iterable) and not isinstance(previous, str | bytes):
        inner = dict(map(_hash, previous))
    else:
        inner = None
    try:
        return msgspec.convert(inner, dict[str, str])
    except msgspec.ValidationError:
        raise Invalid("previous is a dict of ids and hashes, items, or stats of then") from None


def _hash(one: Any) -> tuple[Any, Any]:
    """The id and the hash of an item, or of what a machine was told of one."""
    if isinstance(one, ContextItem):
        return one.id, one.sha256
    return (one.get("id"), one.get("sha256")) if isinstance(one, Mapping) else (None, None)
