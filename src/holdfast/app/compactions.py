"""Compactions as the log has them: what was decided, read again from its event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec.structs import replace

from holdfast.errors import Damaged
from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import ARCHIVED, Compaction, Decided, Past
from holdfast.model.epochs import Epochs
from holdfast.model.events import Event

from . import nested
from .bodies import payload

if TYPE_CHECKING:
    from .holdfast import Holdfast

#: what an event of ours says about who compacted
OURS = "holdfast"
#: why a context compacts by itself
PRESSURE = "pressure"
_BY_ITSELF = ("tokens", "turns", "idle", "gate", PRESSURE)
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
    #: records of earlier versions do not say it
    by_rule: str = ""
    terms: str = ""


def said(hf: Holdfast, of: Compaction, settings: CompactSettings) -> dict[str, Any]:
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
            past=nested.text(hf, of.past),
            decided=nested.text(hf, of.decided),
            settings=nested.text(hf, settings),
            by_rule=of.by_rule[:_LONGEST_PROMPT],
            terms=of.terms,
        )
    )
    return made


def recorded(hf: Holdfast, made: Compaction) -> Compaction:
    """The same with its place and its time, now that the log has it."""
    event = hf.log.find(made.id)
    return made if event is None else replace(made, event_seq=event.event_seq, at=event.timestamp)


def cleaned(hf: Holdfast, past: Past) -> Past:
    """What a window shows as it will be read again: what was cut or joined may look like a secret."""
    return msgspec.convert(nested.cleaned(hf, past), Past)


def standing(hf: Holdfast, known: Epochs) -> Compaction | None:
    """The last compaction of a session that can be read; None where the plain log is what stands.

    One that cannot be read is told in the notices, and the one it follows stands in its place. Where
    the log has one no more, that is told, and the plain log stands.
    """
    for event in backwards(hf, known):
        if event.erased:
            return None
        try:
            return read(hf, event)
        except Damaged as exc:
            hf.tell(f"{exc}; what stood before it stands")
    return None


def standing_in(
    hf: Holdfast, known: Epochs, limit: int, fits: Callable[[Compaction | None], bool]
) -> Compaction | None:
    """The one that stands in a window of so many tokens.

    What became due in a smaller window is not for a larger one: there the one before it stands, where
    all that was said since `fits`.
    """
    newest = standing(hf, known)
    if newest is None or not _for_less(newest, limit):
        return newest
    before: Compaction | None = newest
    while before is not None and _for_less(before, limit):
        before = standing(hf, replace(known, past=before.after)) if before.after else None
    return before if fits(before) else newest


def _for_less(of: Compaction, limit: int) -> bool:
    return of.trigger in _BY_ITSELF and of.window is not None and of.window < limit


def made_last(hf: Holdfast, known: Epochs) -> Event | None:
    """The last compaction that changed the window of a session; what its end archives does not."""
    for event in backwards(hf, known):
        said = event.payload if isinstance(event.payload, dict) else {}
        if said.get("trigger") != ARCHIVED:
            return event
    return None


def backwards(hf: Holdfast, known: Epochs) -> Iterator[Event]:
    """The last compaction of a session, the one it follows, and so on, as far as the log has them."""
    one, tried = known.past, set[str]()
    while one and one not in tried:
        tried.add(one)
        event = hf.log.find(one)
        if event is None:
            hf.tell(not_in_log(one))
            return
        yield event
        before = event.payload.get("follows") if isinstance(event.payload, dict) else None
        one = before if isinstance(before, str) else ""


def is_ours(event: Event) -> bool:
    """Was it made here? A host that shortens its own conversation says so as well."""
    return isinstance(event.payload, dict) and event.payload.get("by") == OURS


def not_in_log(compaction_id: str) -> str:
    """What is said of one that is known, and that the log has no more."""
    return f"the compaction {compaction_id} is not in the log any more"


def read_at(hf: Holdfast, compaction_id: str) -> Compaction:
    """What the compaction of that id did; Damaged also where the log has it no more."""
    event = hf.log.find(compaction_id)
    if event is None:
        raise Damaged(not_in_log(compaction_id))
    return read(hf, event)


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
            by_rule=found.by_rule,
            terms=found.terms,
        )
    except msgspec.MsgspecError as exc:
        raise Damaged(f"the compaction {event.event_id} cannot be read: {exc}") from exc
