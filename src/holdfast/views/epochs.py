"""Epochs: what a session's context shows already, so that nothing is shown twice."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from holdfast.model.compose import LEVELS, SECTIONS
from holdfast.model.epochs import Epoch, Epochs, Injected
from holdfast.model.events import Event
from holdfast.model.packs import KINDS, Shown

from .following import counts, seen_too
from .view import NOTHING, PerSession, Rows

#: kept of one session: contexts for as many models, budgets or formats at a time
MOST = 4
_NUMBER = re.compile("[0-9]{1,15}")
_LARGEST = 1 << 53
#: entries of one epoch; its budget ends long before
MOST_SHOWN = 4_000


class EpochView(PerSession):
    """One row for each session that was given a context.

    A context counts that follows the one before it: of two that were made at the same time from the
    same beginning the second is void, and whoever made it makes another. What others brought along
    says nothing about what this session was shown.
    """

    name = "epochs"
    version = 5
    kinds = frozenset({"epoch_started", "context_assembled", "compacted"})
    row = Epochs

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Begin an epoch, or add to one."""
        (key,) = self.keys(event)
        known: Epochs = rows[key] or Epochs()
        said = event.payload if isinstance(event.payload, dict) else {}
        if event.kind == "compacted":
            changed = _compacted(known, event, said)
            return NOTHING if changed is known else {key: changed}
        if event.origin != "system":
            return NOTHING
        shown = shown_in(said.get("shown"))
        number = max([known.number, *(one.number + 1 for one in shown)])
        if not follows(
            event, known.last_pack
        ):  # its numbers stay taken: one before it may be erased
            return {key: replace(known, number=number)} if number > known.number else NOTHING
        if event.kind == "epoch_started":
            epochs = _begun(known.epochs, event, said, shown)
            return {key: replace(known, epochs=epochs, number=number)}
        grown = _added(known.epochs, event, said, shown)
        return {key: replace(known, epochs=grown, number=number, last_pack=event.event_id)}


def _compacted(known: Epochs, event: Event, said: dict[str, Any]) -> Epochs:
    """Shortened by its host, or by us: see `following` for which compactions count."""
    if event.origin != "system":
        return known
    follows, seen = said.get("follows"), seen_too(known.seen, event.event_id)
    if said.get("by") == "host":
        return replace(known, compacted=event.event_seq, past="", through=0, seen=seen)
    if said.get("by") != "holdfast" or not counts(follows, known.past, known.seen):
        return replace(known, seen=seen)
    return replace(
        known,
        past=event.event_id,
        through=min(_number(said.get("through")), event.event_seq),
        seen=seen_too(known.seen, event.event_id, follows),
    )


def follows(event: Event, last_pack: str) -> bool:
    """Was this context, or this epoch, made behind that context, and by us?"""
    said = event.payload if isinstance(event.payload, dict) else {}
    return event.origin == "system" and said.get("after") == last_pack


def _begun(
    known: tuple[Epoch, ...], event: Event, said: dict[str, Any], shown: tuple[Shown, ...]
) -> tuple[Epoch, ...]:
    began = Epoch(
        id=event.event_id,
        event_seq=event.event_seq,
        key=_text(said.get("key")),
        history_from=_number(said.get("history_from")),
        pinned=_number(said.get("pinned")),
        past=_text(said.get("past")),
        generation=_number(said.get("generation")),
        fixed=_text(said.get("fixed")),
        shown=shown,
    )
    others = [one for one in known if one.key != began.key]
    return (*others[-(MOST - 1) :], began)


def _added(
    known: tuple[Epoch, ...], event: Event, said: dict[str, Any], shown: tuple[Shown, ...]
) -> tuple[Epoch, ...]:
    """The epochs with what a context added to one of them; of one that is not kept nothing is known."""
    epoch = next((one for one in known if one.id == said.get("epoch")), None)
    if epoch is None:
        return known
    position = _number(said.get("position"))
    more = Injected(pack=event.event_id, position=position, shown=shown)
    if shown and len(epoch.everything()) + len(shown) <= MOST_SHOWN:
        epoch = replace(epoch, added=(*epoch.added, more))
    epoch = replace(
        epoch,
        position=max(position, epoch.position),
        asked=asked(said.get("query"), said.get("signals")),
        first=epoch.first or event.event_id,
        window=_number(said.get("window")),
        came_to_nothing=_number(said.get("came_to_nothing")) or epoch.came_to_nothing,
    )
    return (*(one for one in known if one.id != epoch.id), epoch)


def asked(query: Any, signals: Any) -> str:
    """What a question is known by: its words, and the file it is about."""
    file = signals.get("file") if isinstance(signals, dict) else ""
    said = f"{query}\0{file}" if file else str(query)
    return sha256(said.encode("utf-8", "replace")).hexdigest()[:16]


def shown_in(given: Any) -> tuple[Shown, ...]:
    """The entries an event says are shown; what cannot be one is left out."""
    try:
        found = msgspec.json.decode(given if isinstance(given, str) else "[]", type=list[Shown])
    except msgspec.MsgspecError:
        return ()
    return tuple([one for one in found if one.number and can_be(one)][:MOST_SHOWN])


def can_be(one: Shown) -> bool:
    """Can this be an entry, or stand for one that was not taken?"""
    return (
        one.section in SECTIONS
        and one.kind in KINDS
        and one.number >= 0
        and one.seq >= 0
        and 0 <= one.level < len(LEVELS)
        and len(one.span) in (0, 2)
        and (one.kind != "correction" or any(map(_NUMBER.fullmatch, one.beside[:1])))
    )


def _text(given: Any) -> str:
    return given[:200] if isinstance(given, str) else ""


def _number(given: Any) -> int:
    return given if type(given) is int and 0 <= given <= _LARGEST else 0
