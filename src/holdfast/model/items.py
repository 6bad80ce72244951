"""Items: what an agent saved of its working context, and how warm each is.

An item belongs to one agent of one user, outlives its sessions, and has revisions: saving its id again
makes another one. What it says is known by the SHA-256 of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal

import msgspec

Tier = Literal["HOT", "WARM", "COLD"]
#: always loaded, loaded on demand, archived and recoverable
TIERS: tuple[Tier, ...] = ("HOT", "WARM", "COLD")
#: the types everybody knows; a caller may have others
TYPES = ("TASK", "CODE", "ERROR", "TEST_RESULT", "PRD_SECTION")
#: scores are written as whole numbers of millionths: the same on every machine
UNIT = 1_000_000
_ID = re.compile(r"itm_[A-Za-z0-9_.:-]{1,124}")
_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")


class ContextItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item as it stands."""

    id: str
    #: one of TYPES, or the caller's own
    type: str
    text: str
    #: of the text, whole
    sha256: str
    #: what it is called where there is no room for it: at most 50 characters
    index: str = ""
    #: the caller's own score, in place of what its type is worth
    importance: float | None = None
    #: it is hot whatever its score is
    pinned: bool = False
    #: it is not to leave the window
    important: bool = False
    tags: tuple[str, ...] = ()
    #: as it was assigned last
    tier: Tier = "WARM"
    #: what that was assigned by
    score: float = 0.0
    #: what it is worth now, by which the next assignment goes; 0 in a row
    score_now: float = 0.0
    accesses: int = 0
    last_accessed: str | None = None
    created_at: str = ""
    updated_at: str = ""
    #: how often it was saved again
    revision: int = 0
    user: str | None = None
    agent: str | None = None
    session_id: str | None = None
    origin: str = ""
    trust: int = 0
    #: the event that made it say this
    event_id: str = ""
    event_seq: int = 0
    #: the latest events that made it say something else, each with its time
    said: tuple[tuple[int, str], ...] = ()
    #: its text is the beginning; all of it is in the event
    cut: bool = False
    #: the earliest time that it was weighed at since it was saved
    weighed_at: str = ""

    @property
    def touched(self) -> str:
        """When it was saved or loaded last."""
        return max(self.updated_at, self.last_accessed or "")

    def touched_by(self, now: str) -> str:
        """The same as far as it is not later than now: a clock that was wrong once does not count.

        Of what a clock far ahead saved only the first weighing is known; empty before that.
        """
        times = (self.created_at, self.updated_at, self.last_accessed or "")
        lately = max((one for one in times if one <= now), default="")
        return lately or (self.weighed_at if self.weighed_at <= now else "")

    @property
    def state(self) -> list[int]:
        """What it is weighed by, as numbers that any change of it raises."""
        return [self.revision, self.accesses]

    @property
    def content(self) -> str:
        """Its text, by the name other agents have for it; so the next ones."""
        return self.text

    @property
    def item_type(self) -> str:
        """Its type."""
        return self.type

    @property
    def importance_score(self) -> float:
        """What its tier was assigned by."""
        return self.score

    @property
    def access_count(self) -> int:
        """How often it was loaded or needed."""
        return self.accesses

    @property
    def identity(self) -> tuple[str | None, str | None, str]:
        """Whose it is, and which."""
        return self.user, self.agent, self.id


class TierUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """What assigning tiers came to."""

    before: dict[str, int]
    after: dict[str, int]
    #: ids of the items that moved, with where from and where to
    moved: dict[str, tuple[Tier, Tier]] = {}


class ItemStats(msgspec.Struct, frozen=True, kw_only=True):
    """Items in figures; tokens by the counter of that name."""

    total_items: int
    hot_count: int
    warm_count: int
    cold_count: int
    total_tokens: int
    tokens: dict[str, int]
    counted_with: str
    #: of each item the hash of what it says: what `diff` can be asked about later
    hashes: dict[str, str] = {}


class ItemDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What changed since, by the hashes of what items say."""

    added: tuple[ContextItem, ...] = ()
    changed: tuple[ContextItem, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()


def is_item_id(given: Any) -> bool:
    """Does this look like the id of an item?"""
    return isinstance(given, str) and _ID.fullmatch(given) is not None


def is_item_type(given: Any) -> bool:
    """Can this be the type of an item?"""
    return isinstance(given, str) and _TYPE.fullmatch(given) is not None


def digest(text: str) -> str:
    """The hash by which a text is known."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def holds(item: ContextItem, event_seq: int, at: str | None = None) -> bool:
    """Is what that event says what the item says: now, or at a time, as far as that is known?"""
    if at is None:
        return item.event_seq == event_seq
    then = [seq for seq, when in item.said if when <= at]
    return bool(then) and max(then) == event_seq


def as_dict(item: ContextItem) -> dict[str, Any]:
    """As machines read it: without what is of use to rows only."""
    made: dict[str, Any] = msgspec.to_builtins(item)
    return {
        name: value for name, value in made.items() if name not in ("said", "cut", "weighed_at")
    }


def counts(tiers: Mapping[str, Tier]) -> dict[str, int]:
    """How many are of each tier."""
    return {tier: sum(one == tier for one in tiers.values()) for tier in TIERS}
