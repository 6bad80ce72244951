"""A context that was handed out, and its receipt: every candidate, what became of it, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

#: why a candidate is not shown
REASONS = {
    "taken": "it is shown",
    "floor": "too unlikely to be what was asked for",
    "share": "its section is full",
    "budget": "the budget is full",
    "cap": "no more new tokens this turn",
    "duplicate": "it is shown already",
    "superseded": "something newer took its place",
    "expired": "it no longer holds",
    "untrusted": "what comes from outside is not shown there",
}


#: what an entry can be
KINDS = frozenset({"memory", "turn", "document", "item", "error", "correction", "topic"})


class Shown(msgspec.Struct, frozen=True, array_like=True):
    """One entry of a context: everything that is needed to write it again from the log."""

    number: int
    section: str
    #: one of KINDS
    kind: str
    #: of the memory, of the item or of the event
    id: str
    #: it is shown as the events up to this one of its project made it
    seq: int
    #: its place in LEVELS
    level: int
    tokens: int
    #: the project it lies in, where it is another one
    project: str = ""
    #: further events that belong to it: the fix of an error, what a correction puts in its place, what
    #: holds the text of an item
    beside: tuple[str, ...] = ()
    #: where in the whole text the shown passage lies: its start and its end
    span: tuple[int, ...] = ()


class Weighed(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate on the receipt."""

    shown: Shown
    #: taken, or why not: see REASONS
    verdict: str
    #: what it is ranked by, and how likely it is what was asked for
    score: float
    relevance: float
    #: every part of the score that is not zero
    parts: dict[str, float]
    #: its tokens at each level
    sizes: tuple[int, ...] = ()
    why: str = ""


class SectionFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How much one section takes, and could take."""

    tokens: int
    cap: int | None = None
    entries: int = 0


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """Why a context is what it is."""

    pack: str
    epoch: str
    #: why an epoch began with this context; empty where it goes on
    epoch_began: str
    position: int
    at: str
    query: str
    model: str
    format: str
    budget: int
    window: int | None
    counted_with: str
    candidates: tuple[Weighed, ...]
    sections: dict[str, SectionFigures]
    #: tokens of the beginning that is as it was in the context before
    stable_prefix_tokens: int
    #: new tokens of this turn: what was not in the context before and no part of the conversation
    new_tokens: int
    #: how likely the answer is among what was found
    confidence: float
    notices: tuple[str, ...] = ()
    #: it was computed anew and was never handed out so
    recomputed: bool = False

    def why(self, one: str) -> tuple[Weighed, ...]:
        """What became of a memory or event, by id or by the number it is shown with."""
        return tuple(
            c
            for c in self.candidates
            if one in (c.shown.id, *c.shown.beside)
            or (c.shown.number and one == str(c.shown.number))
        )


class Pack(msgspec.Struct, frozen=True, kw_only=True):
    """One context, ready to be sent."""

    id: str
    #: all of it as Markdown
    text: str
    #: all of it as messages, in the format that was asked for
    messages: list[dict[str, Any]]
    #: in Anthropic's format, what goes into `system`; empty in others
    system: list[dict[str, Any]]
    tokens: int
    #: the text of each section
    sections: Mapping[str, str]
    receipt: Receipt
    #: of all that memory adds, what was not in the context before: for hosts that keep the conversation
    #: themselves
    new: str = ""

    @property
    def stable_prefix_tokens(self) -> int:
        """Tokens of the beginning that is as it was in the context before."""
        return self.receipt.stable_prefix_tokens


class Signals(msgspec.Struct, frozen=True, kw_only=True):
    """What is seen of the work at hand."""

    #: the file that is open
    file: str = ""
    #: what is being done: debugging, planning, …; chooses the shares of the budget
    activity: str = ""
    errors: tuple[str, ...] = ()
    branch: str = ""


class Expanded(msgspec.Struct, frozen=True, kw_only=True):
    """All of something, or as much as fits."""

    ref: str
    #: of the memory or event; empty for a part of the conversation
    id: str
    text: str
    tokens: int
    #: the handle of what is left; empty when that is all
    more: str = ""
    #: what should be known about it: that it was forgotten, or that something else took its place
    note: str = ""


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be asked about."""

    name: str
    memories: int
    #: of the latest memories about it
    ids: tuple[str, ...] = ()
