"""A context rendered again from the log: byte for byte, whatever was recorded, indexed or set since."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.capture.stamp import timestamp
from holdfast.compose import history, items, record, render
from holdfast.errors import Damaged, Erased, NotFound
from holdfast.model.compose import ComposeSettings
from holdfast.model.epochs import Epoch, Injected
from holdfast.model.events import Event
from holdfast.model.packs import Pack, Receipt, SectionFigures, Signals, Weighed
from holdfast.model.recall import RecallSettings
from holdfast.model.sessions import Scratchpad
from holdfast.views.epochs import shown_in
from holdfast.views.scratchpad import Scratchpads
from holdfast.views.view import session_key

from .assembling import Sheet
from .packing import written
from .showing import Showing
from .wanting import Wanted

if TYPE_CHECKING:
    from .holdfast import Holdfast


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a context: the events that made it what it was."""

    event: Event
    began: Event
    wanted: Wanted
    epoch: Epoch
    talk: tuple[Event, ...]
    pad: Scratchpad
    first: int
    #: those its epoch began with, and those of the turn
    candidates: tuple[Weighed, ...]
    of_the_turn: int

    @property
    def said(self) -> dict[str, Any]:
        """What was written down of it."""
        return dict(self.event.payload)


def replay(hf: Holdfast, pack_id: str, user: str) -> Pack:
    """The context of that id, rendered again; Erased where something it showed was taken out."""
    of = recorded(hf, pack_id, user)
    sheet = Sheet(of.wanted, hf.counter_named(of.wanted.counted_with), Showing(hf, user))
    parts = (
        *sheet.fixed,
        *sheet.entries(of.epoch.shown),
        *sheet.talk(of.epoch, of.talk, of.first),
        *sheet.entries(shown_in(of.said.get("shown"))),
        *sheet.notes(of.pad),
    )
    text = render.text_of(parts)
    if record.digest(text) != of.said.get("text"):
        _explain(hf, of)
    return written(pack_id, text, parts, of.wanted, receipt_of(of))


def _explain(hf: Holdfast, of: Recorded) -> None:
    """Why it is not the same: something was erased, or worse."""
    if hf.log.head().generation != int(of.said.get("generation", 0)):
        raise Erased(f"part of what {of.event.event_id} showed was taken out of the log")
    raise Damaged(f"{of.event.event_id} cannot be rendered as it was: its text has another hash")


def receipt_of(of: Recorded) -> Receipt:
    """The receipt as it was written down."""
    said, began = of.said, dict(of.began.payload)
    first = not of.epoch.first
    candidates = of.candidates if first else of.candidates[len(of.candidates) - of.of_the_turn :]
    shown = [*of.epoch.everything(), *shown_in(said.get("shown"))]
    return Receipt(
        pack=of.event.event_id,
        epoch=of.epoch.id,
        epoch_began=str(began.get("why", "")) if first else "",
        position=int(said.get("position", 0)),
        at=timestamp(int(said.get("now", 0))),
        query=of.wanted.query,
        model=of.wanted.model,
        format=of.wanted.format,
        budget=of.wanted.budget,
        window=of.wanted.window,
        counted_with=of.wanted.counted_with,
        candidates=candidates,
        sections={
            name: SectionFigures(
                tokens=tokens,
                cap=of.wanted.window if name == "total" else said.get("caps", {}).get(name),
                entries=sum(1 for one in shown if one.section == name),
            )
            for name, tokens in said.get("tokens", {}).items()
        },
        stable_prefix_tokens=int(said.get("stable_prefix_tokens", 0)),
        new_tokens=int(said.get("new", 0)),
        confidence=float(said.get("confidence", 0.0)),
        notices=tuple(said.get("notices", ())),
    )


# ---- reading the record ----------------------------------------------------------------------


def recorded(hf: Holdfast, pack_id: str, user: str) -> Recorded:
    """The record of a context of this user's."""
    event = hf.log.find(pack_id) if isinstance(pack_id, str) else None
    if event is None or event.kind != "context_assembled" or event.user != user:
        raise NotFound(
            f"no context {pack_id} was handed out here; `holdfast debug` shows the last one"
        )
    if event.erased or not isinstance(event.payload, dict):
        raise Erased(f"the record of {pack_id} was taken out of the log")
    began = hf.log.find(str(event.payload.get("epoch")))
    if began is None or began.erased or not isinstance(began.payload, dict):
        raise Erased(f"the epoch of {pack_id} was taken out of the log")
    wanted = _wanted(hf, event, began)
    position = int(event.payload.get("position", 0))
    epoch = _epoch(hf, event, began)
    spoken = [
        one
        for one in _session(hf, event, max(0, epoch.history_from - 1))
        if one.event_seq <= position and history.spoken(one)
    ]
    at_first, in_turn = (
        record.read_candidates(_whole(hf, one, "candidates")) for one in (began, event)
    )
    return Recorded(
        event=event,
        began=began,
        wanted=wanted,
        epoch=epoch,
        talk=tuple(spoken),
        pad=_pad(hf, event),
        first=_first(hf, event),
        candidates=(*at_first, *in_turn),
        of_the_turn=len(in_turn),
    )


def _wanted(hf: Holdfast, event: Event, began: Event) -> Wanted:
    said, start = dict(event.payload), dict(began.payload)
    made = said.get("versions", {})
    if made.get("render") != render.VERSION or made.get("rules") != items.RULES:
        raise Damaged(f"{event.event_id} was made by a newer Holdfast; update to replay it")
    own = said.get("settings", {})
    return Wanted(
        query=str(said.get("query", "")),
        budget=int(said.get("budget", 0)),
        window=said.get("window"),
        model=str(said.get("model", "")),
        format=str(said.get("format", "openai")),
        system=_whole(hf, began, "system"),
        tools=tuple(msgspec.json.decode(_whole(hf, began, "tools") or "[]")),
        signals=msgspec.convert(said.get("signals", {}), Signals),
        new_tokens=int(said.get("new_tokens", 0)),
        compose=msgspec.convert(own.get("compose", {}), ComposeSettings),
        recall=msgspec.convert(own.get("recall", {}), RecallSettings),
        counted_with=str(made.get("counted_with", "")),
        generation=int(start.get("generation", 0)),
    )


def _whole(hf: Holdfast, event: Event, name: str) -> str:
    """A text of an event, all of it."""
    try:
        return b"".join(hf.body(event, f"/{name}")).decode("utf-8", "surrogatepass")
    except NotFound:
        return str(event.payload.get(name, ""))


def _epoch(hf: Holdfast, event: Event, began: Event) -> Epoch:
    """The epoch as it stood when the context was made."""
    start = dict(began.payload)
    added, position, first = [], 0, ""
    for one in _session(hf, event, began.event_seq):
        said = one.payload if isinstance(one.payload, dict) else {}
        if one.kind != "context_assembled" or said.get("epoch") != began.event_id:
            continue
        shown, position = shown_in(said.get("shown")), int(said.get("position", 0))
        first = first or one.event_id
        if shown:
            added.append(Injected(pack=one.event_id, position=position, shown=shown))
    return Epoch(
        id=began.event_id,
        event_seq=began.event_seq,
        key=str(start.get("key", "")),
        history_from=int(start.get("history_from", 0)),
        position=position,
        first=first,
        shown=shown_in(start.get("shown")),
        added=tuple(added),
    )


def _session(hf: Holdfast, event: Event, after: int) -> Iterator[Event]:
    """The events of its session behind a position and before it."""
    whose = (event.user, event.agent, event.session_id)
    for one in hf.events(after):
        if one.event_seq >= event.event_seq:
            return
        if (one.user, one.agent, one.session_id) == whose:
            yield one


def _pad(hf: Holdfast, event: Event) -> Scratchpad:
    """The scratchpad at the version that was shown."""
    version = int(event.payload.get("scratchpad", 0))
    view = Scratchpads()
    pad: Scratchpad = Scratchpad()
    key = session_key(event.user, event.agent, event.session_id or "")
    if not version:
        return pad
    for one in _session(hf, event, 0):
        if one.kind in view.kinds and not one.erased:
            pad = view.apply({key: pad}, one).get(key, pad)
            if pad.version == version:
                break
    else:
        raise Erased(f"the notes {event.event_id} showed were taken out of the log")
    return pad


def _first(hf: Holdfast, event: Event) -> int:
    return next((one.event_seq for one in _session(hf, event, 0)), event.event_seq)
