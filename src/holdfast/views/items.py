"""Items: one row for each, kept apart by user and agent, whichever session saved it.

What the next turn repeats of an item that recall found counts as an access, like loading it. An event
reaches only items of its own user and agent: both are part of the key. A row holds the
beginning of a long text; all of it is in the event it names. Whatever a payload holds that an item
cannot is cut to what fits, or left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from holdfast.capture.parse import NOTES
from holdfast.model.events import Event
from holdfast.model.items import TIERS, UNIT, ContextItem, digest, is_item_id, is_item_type

from .view import NOTHING, Rows, brief, common_key, within

if TYPE_CHECKING:
    from .runner import Reading

#: characters of a text that its row holds
KEPT = 2_000
LONGEST_TEXT = 64 << 10
LONGEST_INDEX = 50
MOST_TAGS = 50
LONGEST_TAG = 200
#: items one event can name
MOST_IDS = 1_000
#: texts an item had before that are still known by their place
MOST_SAID = 20
#: events that say an item was needed, and where
_ACCESSES = {"item_accessed": "ids", "memory_used": "cited"}
_SHA = re.compile(r"[0-9a-f]{64}")


class ItemView:
    """One row for each item."""

    name = "items"
    version = 3
    kinds = frozenset({"item_saved", "item_accessed", "tiers_assigned", "memory_used"})
    row = ContextItem

    def keys(self, event: Event) -> tuple[str, ...]:
        """The items it names, of its own user and agent."""
        return tuple(item_key(event.user, event.agent, one) for one in _named(event))

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Save it, count that it was loaded, or move it."""
        said = event.payload if isinstance(event.payload, dict) else {}
        after = {}
        for one in _named(event):
            key = item_key(event.user, event.agent, one)
            item: ContextItem | None = rows[key]
            if event.kind == "item_saved":
                item = _saved(item, event, said)
            elif item is None:
                continue
            elif event.kind in _ACCESSES:
                times = item.accesses + 1
                item = replace(item, accesses=times, last_accessed=event.timestamp)
            else:
                item = _moved(item, event, said["tiers"][one])
            if item is not None:
                after[key] = item
        return after or NOTHING


def item_key(user: str | None, agent: str | None, item_id: str) -> str:
    """The key of an item's row."""
    return common_key(user, agent, item_id)


def _named(event: Event) -> list[str]:
    """The items an event names."""
    said = event.payload if isinstance(event.payload, dict) else {}
    if event.kind == "item_saved":
        return [said["item"]] if is_item_id(said.get("item")) else []
    given = said.get(_ACCESSES.get(event.kind, "tiers"))
    if not isinstance(given, list if event.kind in _ACCESSES else dict):
        return []
    return list(dict.fromkeys(one for one in given if is_item_id(one)))[:MOST_IDS]


# ---- what an event does ----------------------------------------------------------------------


def _saved(item: ContextItem | None, event: Event, said: Mapping[str, Any]) -> ContextItem | None:
    """A new item, or another revision; what comes from outside changes only what came from there."""
    if item is not None and not event.trust and item.trust:
        return None
    text = event.text if event.text.strip() else ""
    if item is None:
        if not text:
            return None
        known = ContextItem(
            id=said["item"],
            type="",
            text="",
            sha256="",
            created_at=event.timestamp,
            user=event.user,
            agent=event.agent,
            revision=-1,
        )
    else:
        known = item
    if text:
        known = _says(known, event, said, text)
    tier, score = _assigned(said, known)
    return replace(
        known,
        **_about(said),
        tier=tier,
        score=score,
        updated_at=max(event.timestamp, known.updated_at),
        revision=known.revision + 1,
    )


def _says(item: ContextItem, event: Event, said: Mapping[str, Any], text: str) -> ContextItem:
    """The same item with another text."""
    whole = NOTES not in said
    given = said.get("sha256")
    known = isinstance(given, str) and _SHA.fullmatch(given) is not None
    kind = said.get("item_type")
    name = said.get("index")
    named = name if isinstance(name, str) and name.strip() else text
    return replace(
        item,
        type=kind if is_item_type(kind) else item.type,
        text=brief(text, KEPT),
        cut=len(text) > KEPT or not whole,
        sha256=given if known and not whole else digest(text),
        index=brief(" ".join(named[: 4 * LONGEST_INDEX].split()), LONGEST_INDEX),
        session_id=event.session_id,
        origin=event.origin,
        trust=event.trust,
        event_id=event.event_id,
        event_seq=event.event_seq,
        said=(*item.said, (event.event_seq, event.timestamp))[-MOST_SAID:],
    )


def _about(said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said about an item beside what it says."""
    found: dict[str, Any] = {}
    own = said.get("importance")
    if "importance" in said and (own is None or type(own) in (int, float)):
        found["importance"] = None if own is None else float(min(max(own, 0), 1))
    found |= {n: said[n] for n in ("pinned", "important") if isinstance(said.get(n), bool)}
    tags = said.get("tags")
    if isinstance(tags, list):
        words = (brief(tag, LONGEST_TAG) for tag in tags if isinstance(tag, str) and tag.strip())
        found["tags"] = tuple(dict.fromkeys(words))[:MOST_TAGS]
    return found


def _moved(item: ContextItem, event: Event, given: Any) -> ContextItem | None:
    """As warm as it was found; None where it has changed since it was weighed, or is pinned."""
    said = given if isinstance(given, dict) else {}
    if said.get("state", item.state) != item.state:
        return None
    tier, score = _assigned(said, item)
    if item.pinned and tier != "HOT":
        return None
    weighed = min(item.weighed_at or event.timestamp, event.timestamp)
    return replace(item, tier=tier, score=score, weighed_at=weighed)


def _assigned(given: Mapping[str, Any], item: ContextItem) -> tuple[Any, float]:
    """The tier and the score it was assigned by; those it has where one of them is not usable."""
    tier, score = given.get("tier"), given.get("score")
    if isinstance(tier, str) and tier in TIERS and type(score) is int and 0 <= score <= UNIT:
        return tier, score / UNIT
    return item.tier, item.score


# ---- reading ---------------------------------------------------------------------------------

ITEMS = ItemView()


def saved_by(event: Event) -> ContextItem | None:
    """The item as one event alone says it; None for an event that says none."""
    rows = dict.fromkeys(ITEMS.keys(event)) if event.kind == "item_saved" else {}
    made = ITEMS.apply(rows, event) if rows else {}
    return next(iter(made.values()), None)


def item(reading: Reading, user: str | None, agent: str | None, item_id: str) -> ContextItem | None:
    """One item of an agent."""
    if not is_item_id(item_id):
        return None
    found: ContextItem | None = reading.row(ITEMS, item_key(user, agent, item_id))
    return found


def items(reading: Reading, user: str, agent: str | None = None) -> list[ContextItem]:
    """The items of a user's agent, or of all of them, by agent and id."""
    whose = (user,) if agent is None else (user, agent)
    found: list[ContextItem] = reading.rows(ITEMS, within(None, None, None, *whose))
    return found
