"""A context rendered again from the log: byte for byte, whatever was recorded, indexed or set since."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.capture.stamp import timestamp
from holdfast.compose import history, record, render
from holdfast.compose.record import Assembly, Beginning
from holdfast.compose.render import Part
from holdfast.errors import Damaged, Erased, Invalid, Limit, NotFound
from holdfast.model.epochs import Epoch, Epochs
from holdfast.model.events import Event
from holdfast.model.packs import Pack, Receipt, SectionFigures, Shown, Weighed
from holdfast.model.sessions import Scratchpad
from holdfast.views.epochs import EpochView, can_be, shown_in
from holdfast.views.scratchpad import Scratchpads
from holdfast.views.view import session_key

from .assembling import Sheet
from .bodies import payload
from .packing import written
from .showing import Showing
from .wanting import Wanted, generation

if TYPE_CHECKING:
    from .holdfast import Holdfast


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a context: the events that made it what it was."""

    event: Event
    began: Event
    said: Assembly
    start: Beginning
    wanted: Wanted
    #: as it stood before the context was added to it
    epoch: Epoch
    talk: tuple[Event, ...]
    pad: Scratchpad
    first: int
    #: those its epoch began with, and those of the turn
    at_first: tuple[Weighed, ...]
    in_turn: tuple[Weighed, ...]

    @property
    def begins(self) -> bool:
        """Is it the first context of its epoch?"""
        return not self.epoch.first

    @property
    def shown(self) -> tuple[Shown, ...]:
        """What it added."""
        return shown_in(self.said.shown)


def replay(hf: Holdfast, pack_id: str, user: str) -> Pack:
    """The context of that id, rendered again; Erased where something it showed was taken out."""
    of = recorded(hf, pack_id, user)
    with explained(hf, of.event, of.said.generation):
        parts = _parts(of, sheet_for(hf, of, of.wanted))
        text = render.text_of(parts)
        pack = written(pack_id, text, parts, of.wanted, receipt_of(of), of.said.before)
        if record.digest(text) != of.said.text:
            raise Damaged("its text has another hash")
        if record.of_messages(pack.system, pack.messages) != of.said.messages:
            raise Damaged("its messages have another hash")
    return pack


def sheet_for(hf: Holdfast, of: Recorded, wanted: Wanted) -> Sheet:
    """What it was written on, with the tokens counted as they were then."""
    try:
        counter = hf.counter_named(wanted.counted_with)
    except (Invalid, ValueError) as exc:
        told = f"the tokens of {of.event.event_id} cannot be counted as it says"
        raise Damaged(f"{told}: {exc}") from exc
    return Sheet(wanted, counter, Showing(hf, of.event.user or ""), of.said.versions.render)


def _parts(of: Recorded, sheet: Sheet) -> tuple[Part, ...]:
    return (
        *sheet.fixed,
        *sheet.entries(of.epoch.shown),
        *sheet.talk(of.epoch, of.talk, of.first),
        *sheet.entries(of.shown),
        *sheet.notes(of.pad),
    )


@contextmanager
def explained(hf: Holdfast, event: Event, before: int | None) -> Iterator[None]:
    """Why a context is not what it was: it is of another log, something was erased, or worse.

    `before` is the generation of the logs it was made from, where that can be read.
    """
    try:
        yield
    except (Damaged, Erased, Limit, NotFound) as exc:
        if event.origin == "import":
            raise NotFound(
                f"{event.event_id} was handed out elsewhere and came with an import, in which events "
                "get other numbers and less trust; replay it where it was made, or in a restored copy"
            ) from exc
        if before is not None and generation(hf, event.user or "") != before:
            raise Erased(f"part of what {event.event_id} showed was taken out of the log") from exc
        raise Damaged(f"{event.event_id} cannot be rendered as it was: {exc}") from exc


def receipt_of(of: Recorded) -> Receipt:
    """The receipt as it was written down."""
    said = of.said
    shown = [*of.epoch.everything(), *of.shown]
    return Receipt(
        pack=of.event.event_id,
        epoch=of.epoch.id,
        epoch_began=of.start.why if of.begins else "",
        position=said.position,
        at=timestamp(said.now),
        query=said.query,
        model=said.model,
        format=said.format,
        budget=said.budget,
        window=said.window,
        counted_with=said.versions.counted_with,
        candidates=(*of.at_first, *of.in_turn) if of.begins else of.in_turn,
        sections={
            name: SectionFigures(
                tokens=tokens,
                cap=said.window if name == "total" else said.caps.get(name),
                entries=sum(1 for one in shown if one.section == name),
            )
            for name, tokens in said.tokens.items()
        },
        stable_prefix_tokens=said.stable_prefix_tokens,
        new_tokens=said.new,
        confidence=said.confidence,
        notices=said.notices,
    )


# ---- reading the record ----------------------------------------------------------------------


def recorded(hf: Holdfast, pack_id: str, user: str) -> Recorded:
    """The record of a context of this user's; Damaged says what of it cannot be read."""
    event = hf.log.find(pack_id) if isinstance(pack_id, str) else None
    known = event is not None and event.kind == "context_assembled"
    if event is not None and known and event.erased:  # it says no more whose it was
        raise Erased(f"the record of {pack_id} was taken out of the log")
    if event is None or not known or event.user != user:
        raise NotFound(
            f"no context {pack_id} was handed out here; `holdfast debug` shows the last one"
        )
    before = event.payload.get("generation") if isinstance(event.payload, dict) else None
    with explained(hf, event, before if type(before) is int else None):
        return _read(hf, event)


def _read(hf: Holdfast, event: Event) -> Recorded:
    said = record.read(payload(hf, event), Assembly)
    began = hf.log.find(said.epoch)
    if began is None or began.erased:
        raise Erased("its epoch is not there any more")
    if began.kind != "epoch_started" or _whose(began) != _whose(event):
        raise Damaged(f"{said.epoch} is no epoch of its session")
    start = record.read(payload(hf, began), Beginning)
    known = known_before(hf, event, began.event_seq - 1, Epochs(last_pack=start.after))
    epoch = next((one for one in known.epochs if one.id == began.event_id), None)
    if epoch is None:
        raise Damaged(f"{said.epoch} had ended before")
    if not all(map(can_be, (*epoch.everything(), *shown_in(said.shown)))):
        raise Damaged("its entries cannot be read")
    kept = _kept(hf, event, epoch)
    return Recorded(
        event=event,
        began=began,
        said=said,
        start=start,
        wanted=_wanted(said, start),
        epoch=epoch,
        talk=tuple(
            one
            for one in spoken(hf, event, said.position, max(0, min(kept, default=1) - 1))
            if one.event_seq >= epoch.history_from or one.event_seq in kept
        ),
        pad=_pad(hf, event, said.scratchpad),
        first=_first(hf, event),
        at_first=tuple(record.read_candidates(start.candidates)),
        in_turn=tuple(record.read_candidates(said.candidates)),
    )


def _wanted(said: Assembly, start: Beginning) -> Wanted:
    chosen = record.read_chosen(said.settings)
    return Wanted(
        query=said.query,
        budget=said.budget,
        window=said.window,
        model=said.model,
        format=said.format,
        system=start.system,
        tools=_tools(start.tools),
        signals=said.signals,
        new_tokens=said.new_tokens,
        compose=chosen.compose,
        recall=chosen.recall,
        counted_with=said.versions.counted_with,
        generation=start.generation,
    )


def _tools(given: str) -> tuple[dict[str, Any], ...]:
    try:
        return tuple(msgspec.json.decode(given, type=list[dict[str, Any]]))
    except msgspec.MsgspecError as exc:
        raise Damaged(f"its tools cannot be read: {exc}") from exc


# ---- as things stood -------------------------------------------------------------------------


def known_before(hf: Holdfast, event: Event, after: int = 0, known: Epochs | None = None) -> Epochs:
    """What a session had been shown before an event, from the events behind a position on."""
    view, (key,) = EpochView(), EpochView().keys(event)
    row = known or Epochs()
    for one in _session(hf, event, after):
        if one.kind in view.kinds:
            row = view.apply({key: row}, one).get(key, row)
    return row


def _kept(hf: Holdfast, event: Event, epoch: Epoch) -> frozenset[int]:
    """The places of events that an epoch shows whatever lies between, and that of its beginning."""
    kept = {epoch.history_from, epoch.pinned or epoch.history_from}
    if epoch.past:
        kept.update(Showing(hf, event.user or "").compaction(epoch.past).past.kept)
    return frozenset(kept)


def spoken(hf: Holdfast, event: Event, position: int, after: int = 0) -> list[Event]:
    """What was said and done in the session of an event, behind a position and up to another."""
    return [
        one
        for one in _session(hf, event, after)
        if one.event_seq <= position and history.spoken(one)
    ]


def _whose(event: Event) -> tuple[str | None, str | None, str | None]:
    return event.user, event.agent, event.session_id


def _session(hf: Holdfast, event: Event, after: int) -> Iterator[Event]:
    """The events of its session behind a position and before it."""
    for one in hf.events(after):
        if one.event_seq >= event.event_seq:
            return
        if _whose(one) == _whose(event):
            yield one


def _pad(hf: Holdfast, event: Event, version: int) -> Scratchpad:
    """The scratchpad at the version that was shown."""
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
        raise Erased("the notes it showed are not there any more")
    return pad


def _first(hf: Holdfast, event: Event) -> int:
    return next((one.event_seq for one in _session(hf, event, 0)), event.event_seq)
