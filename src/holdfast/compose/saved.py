"""What agents saved, as it can be shown: whole or in short while it is warm, by name when it is cold.

Made from the event that holds the text, or from a row that holds all of it: the same either way.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from holdfast.model.events import Event
from holdfast.model.items import ContextItem
from holdfast.text.excerpt import excerpt
from holdfast.text.levels import Levels, shown_as
from holdfast.text.spoken import beyond

from .items import Item, falling

#: by which rules an item is shortened; others like what was said
_SHORTENED = {
    "CODE": "code",
    "ERROR": "tool_output",
    "TEST_RESULT": "tool_output",
    "PRD_SECTION": "document",
}
_DATE = len("2026-01-01")


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """One revision of an item."""

    id: str
    event_id: str
    seq: int
    type: str
    text: str
    index: str
    at: str
    trust: int
    #: there is more of it than its line says
    beyond: bool = False


def of_row(item: ContextItem) -> Saved:
    """The latest revision, from a row that holds all of it."""
    return Saved(
        id=item.id,
        event_id=item.event_id,
        seq=item.event_seq,
        type=item.type,
        text=item.text,
        index=item.index,
        at=item.said[-1][1] if item.said else item.updated_at,
        trust=item.trust,
    )


def of_event(event: Event, item: ContextItem) -> Saved:
    """The revision an event made, of an item as the views read that event alone."""
    return msgspec.structs.replace(of_row(item), text=event.text, beyond=beyond(event))


def shown(of: Saved, span: tuple[int, ...] = (), *, whole: bool = False) -> Item:
    """A revision of an item; with a span, that passage stands for all of it."""
    text = excerpt(of.text, *span) if span else of.text
    kind = _SHORTENED.get(of.type, "turn")
    return Item(
        kind="item",
        id=of.id,
        seq=of.seq,
        head=f"item {of.type} {of.at[:_DATE]}".replace("  ", " "),
        levels=(text,) * 4 if whole else _levels(kind, text),
        trust=of.trust,
        beside=(of.event_id,),
        span=span,
        part=bool(span) or of.beyond,
    )


@lru_cache(maxsize=512)
def _levels(kind: str, text: str) -> tuple[str, ...]:
    """A text in ever fewer words; made once, as an item at hand is offered again with every turn."""
    return falling(_each(shown_as(kind, text)))


def named(of: Saved) -> Item:
    """The name of an item, to be asked for."""
    return Item(
        kind="topic",
        id=of.id,
        seq=of.seq,
        head=f"item {of.type}".strip(),
        levels=(of.index,) * 4,
        trust=of.trust,
        beside=(of.event_id,),
        part=True,
    )


def passage(of: Saved, found: str) -> tuple[int, ...]:
    """Where a passage lies in what an item says; nothing where it is all of it, or lies elsewhere."""
    start = of.text.find(found)
    whole = start < 0 or not found.strip() or len(found) >= len(of.text.strip())
    return () if whole else (start, start + len(found))


def _each(made: Levels) -> list[str]:
    return [made.full, made.summary, made.compressed, made.index]
