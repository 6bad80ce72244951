"""Compactions as the log has them: what was decided, read again from its event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from holdfast.errors import Damaged
from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Compaction, Decided, Past
from holdfast.model.events import Event

from .bodies import payload

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: what an event of ours says about who compacted
OURS = "holdfast"
#: what was asked is kept up to here
_LONGEST_PROMPT = 2_000
Whole = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What `compacted` says when it is ours; the long parts as JSON texts of their own."""

    by: str
    strategy: str
    trigger: str
    prompt: str
    through: Whole
    #: the compaction before it, on which it builds
    follows: str
    tokens_before: Whole
    tokens_after: Whole
    window: Whole | None
    past: str
    decided: str
    settings: str


def said(of: Compaction, settings: CompactSettings) -> dict[str, Any]:
    """The payload that says it."""
    made: dict[str, Any] = msgspec.to_builtins(
        Record(
            by=OURS,
            strategy=of.strategy,
            trigger=of.trigger,
            prompt=of.prompt[:_LONGEST_PROMPT],
            through=of.through,
            follows=of.after,
            tokens_before=of.tokens_before,
            tokens_after=of.tokens_after,
            window=of.window,
            past=msgspec.json.encode(of.past).decode(),
            decided=msgspec.json.encode(of.decided).decode(),
            settings=msgspec.json.encode(settings).decode(),
        )
    )
    return made


def read(hf: Holdfast, event: Event) -> Compaction:
    """What a compaction did; Damaged for what cannot have been written."""
    try:
        found = msgspec.convert(payload(hf, event), Record)
        if event.kind != "compacted" or found.by != OURS:
            raise Damaged(f"{event.event_id} is no compaction of ours")
        return Compaction(
            id=event.event_id,
            event_seq=event.event_seq,
            at=event.timestamp,
            strategy=found.strategy,
            trigger=found.trigger,
            prompt=found.prompt,
            through=found.through,
            after=found.follows,
            tokens_before=found.tokens_before,
            tokens_after=found.tokens_after,
            window=found.window,
            past=msgspec.json.decode(found.past, type=Past),
            decided=tuple(msgspec.json.decode(found.decided, type=list[Decided])),
        )
    except msgspec.MsgspecError as exc:
        raise Damaged(f"the compaction {event.event_id} cannot be read: {exc}") from exc
