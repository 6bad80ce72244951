"""Epochs: what a session's context shows already, so that nothing is shown twice."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from holdfast.model.epochs import Epoch, Epochs, Injected
from holdfast.model.events import Event
from holdfast.model.packs import Shown

from .view import NOTHING, PerSession, Rows

#: kept of one session: contexts for as many models, budgets or formats at a time
MOST = 4
#: entries of one epoch; its budget ends long before
MOST_SHOWN = 4_000


class EpochView(PerSession):
    """One row for each session that was given a context."""

    name = "epochs"
    version = 1
    kinds = frozenset({"epoch_started", "context_assembled"})
    row = Epochs

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Begin an epoch, or add to one."""
        (key,) = self.keys(event)
        known: Epochs = rows[key] or Epochs()
        said = event.payload if isinstance(event.payload, dict) else {}
        shown = shown_in(said.get("shown"))
        number = max([known.number, *(one.number + 1 for one in shown)])
        if event.kind == "epoch_started":
            epochs = _begun(known.epochs, event, said, shown)
            return {key: replace(known, epochs=epochs, number=number)}
        grown = _added(known.epochs, event, said, shown)
        if grown is None:
            return NOTHING
        return {key: Epochs(epochs=grown, number=number, last_pack=event.event_id)}


def _begun(
    known: tuple[Epoch, ...], event: Event, said: dict[str, Any], shown: tuple[Shown, ...]
) -> tuple[Epoch, ...]:
    began = Epoch(
        id=event.event_id,
        event_seq=event.event_seq,
        key=_text(said.get("key")),
        history_from=_number(said.get("history_from")),
        generation=_number(said.get("generation")),
        shown=shown,
    )
    others = [one for one in known if one.key != began.key]
    return (*others[-(MOST - 1) :], began)


def _added(
    known: tuple[Epoch, ...], event: Event, said: dict[str, Any], shown: tuple[Shown, ...]
) -> tuple[Epoch, ...] | None:
    found = [one for one in known if one.id == said.get("epoch")]
    if not found:
        return None
    (epoch,) = found
    position = _number(said.get("position"))
    more = Injected(pack=event.event_id, position=position, shown=shown)
    if shown and len(epoch.everything()) + len(shown) <= MOST_SHOWN:
        epoch = replace(epoch, added=(*epoch.added, more))
    epoch = replace(
        epoch,
        position=max(position, epoch.position),
        asked=asked(said.get("query")),
        first=epoch.first or event.event_id,
    )
    return (*(one for one in known if one.id != epoch.id), epoch)


def asked(query: Any) -> str:
    """What a question is known by."""
    return sha256(str(query).encode("utf-8", "replace")).hexdigest()[:16]


def shown_in(given: Any) -> tuple[Shown, ...]:
    """The entries an event says are shown; what is none is left out."""
    found = []
    for one in given if isinstance(given, list) else ():
        try:
            found.append(msgspec.convert(one, Shown))
        except msgspec.ValidationError:
            continue
    return tuple(found[:MOST_SHOWN])


def _text(given: Any) -> str:
    return given[:200] if isinstance(given, str) else ""


def _number(given: Any) -> int:
    return given if type(given) is int and given >= 0 else 0
