"""The verb that composes: keep what stands, add the best that fits, write down why, hand it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from holdfast.capture.stamp import fresh_id
from holdfast.compose import history
from holdfast.compose.choosing import Chooser, Chosen, Room
from holdfast.compose.items import said
from holdfast.compose.render import Part
from holdfast.compose.sources import OF_A_TURN, OF_AN_EPOCH, offered
from holdfast.errors import Erased, Limit
from holdfast.model.epochs import Epoch, Epochs
from holdfast.model.events import Event
from holdfast.model.memories import plain
from holdfast.model.packs import Pack, Shown
from holdfast.model.recall import Found
from holdfast.views import state as views
from holdfast.views.epochs import EpochView, asked
from holdfast.views.view import session_key

from . import citing, situation, wanting
from .assembling import Sheet
from .packing import Assembled, handed_out
from .showing import Showing
from .situation import Standing
from .wanting import Wanted

if TYPE_CHECKING:
    from .session import Session


class Composer:
    """Composes one context of one session."""

    def __init__(self, s: Session, wanted: Wanted) -> None:
        self._s = s
        self._hf = s._hf
        self._wanted = wanted
        showing = Showing(self._hf, s.principal)
        self._sheet = Sheet(wanted, self._hf.counter(wanted.model), showing)
        self._heard: dict[int, list[Event]] = {}
        self._stands: dict[str, Standing] = {}

    def compose(self) -> Pack:
        """The context, written down and handed out."""
        known = self._known()
        epoch = next((one for one in known.epochs if one.key == self._wanted.key()), None)
        why = "the first" if epoch is None else self._cannot_go_on(epoch)
        if epoch is not None and not why:
            found = self._found(epoch.history_from, self._wanted.new_tokens)
            made = self._assembled(epoch, known, found)
            if self._fits(made.parts):
                return self._handed_out(made)
            why = "the window is full"
        return self._handed_out(self._anew(known, why))

    def _handed_out(self, made: Assembled) -> Pack:
        pack = handed_out(self._s, self._wanted, made)
        self._s.watching.append(citing.Watch(_given(made.found, made.chosen.shown)))
        return pack

    # ---- epochs ----------------------------------------------------------------------------

    def _known(self) -> Epochs:
        key = session_key(self._s.principal, self._s.agent, self._s.id)
        found: Epochs | None = self._hf.views.read(lambda reading: reading.row(EpochView(), key))
        return found or Epochs()

    def _cannot_go_on(self, epoch: Epoch) -> str:
        """Why the beginning of the context cannot stay as it is; empty when it can."""
        if epoch.generation != self._wanted.generation:
            return "something was erased"
        try:
            broken = self._standing(epoch).broken()
        except Erased as exc:
            return str(exc)
        events = self._spoken(epoch.history_from)
        if not broken and sum(map(self._sheet.turns.tokens, events)) > self._sheet.budget.history:
            return "the window is full"
        return broken

    def _anew(self, known: Epochs, why: str) -> Assembled:
        """A new epoch: background and index packed anew, the conversation from where it fits."""
        stable = self._stable(known.number)
        known = replace(known, number=known.number + len(stable.shown))
        events = self._spoken(0)
        sizes = [self._sheet.turns.tokens(event) for event in events]
        refill = self._wanted.compose.history_refill
        place = history.begins(events, sizes, self._sheet.budget.history, refill)
        room = self._sheet.budget.total - self._sheet.budget.stable
        found = self._found(_seq(events, place), room)
        while True:
            epoch = Epoch(
                id=fresh_id("epo"),
                event_seq=0,
                key=self._wanted.key(),
                history_from=_seq(events, place),
                shown=stable.shown,
            )
            made = self._assembled(epoch, known, found)
            if self._fits(made.parts):
                return replace(made, why=why, stable=stable)
            if place >= len(events):
                raise Limit(
                    f"a context of {self._sheet.size(made.parts)} tokens does not fit a window of "
                    f"{self._wanted.window}; a smaller budget= would help"
                )
            place += 1

    def _stable(self, number: int) -> Chosen:
        budget = self._sheet.budget
        caps = {name: budget.caps[name] for name in ("background", "index")}
        candidates = offered(OF_AN_EPOCH, situation.of_an_epoch(self._s, self._wanted))
        self._sheet.showing.keep(candidate.item for candidate in candidates)
        chooser = Chooser(self._wanted.compose, self._sheet.count, number)
        return chooser.choose(candidates, Room(caps=caps, total=budget.stable))

    # ---- one context -----------------------------------------------------------------------

    def _assembled(self, epoch: Epoch, known: Epochs, found: Found) -> Assembled:
        """Everything in its place: what stands, the conversation, what this turn adds, the notes."""
        sheet, events = self._sheet, self._spoken(epoch.history_from)
        stable, added = sheet.entries(epoch.shown), sheet.added(epoch)
        pad = self._s.scratchpad()
        notes = sheet.notes(pad)
        used = [*stable, *(part for parts in added.values() for part in parts)]
        left = sheet.budget.total - sheet.size(used) - sheet.budget.scratchpad
        room = sheet.room(epoch, events, left, self._wanted.new_tokens)
        position = events[-1].event_seq if events else 0
        of = situation.of_a_turn(
            self._s,
            self._wanted,
            found,
            self._standing(epoch),
            _shown(epoch, events),
            said=_said(events),
            again=(epoch.position, epoch.asked) == (position, asked(self._wanted.query)),
        )
        chooser = Chooser(self._wanted.compose, sheet.count, known.number)
        chosen = chooser.choose(offered(OF_A_TURN, of), room)
        earlier = [event for event in events if event.event_seq <= epoch.position]
        before = (*stable, *sheet.talk(epoch, earlier, self._first())) if epoch.first else ()
        talk = sheet.talk(epoch, events, self._first())
        return Assembled(
            epoch=epoch,
            parts=(*sheet.fixed, *stable, *talk, *chosen.parts, *notes),
            before=(*sheet.fixed, *before) if known.last_pack else (),
            chosen=chosen,
            found=found,
            caps={**sheet.budget.caps, "scratchpad": sheet.budget.scratchpad},
            position=position,
            scratchpad=pad.version if notes else 0,
        )

    # ---- small things ----------------------------------------------------------------------

    def _standing(self, epoch: Epoch) -> Standing:
        if epoch.id not in self._stands:
            showing = self._sheet.showing
            self._stands[epoch.id] = Standing(self._hf, self._s.principal, showing, epoch)
        return self._stands[epoch.id]

    def _spoken(self, first: int) -> list[Event]:
        if first not in self._heard:
            events = situation.spoken_in(self._s, max(0, first - 1))
            self._heard[first] = [event for event in events if history.spoken(event)]
        return self._heard[first]

    def _found(self, first: int, room: int) -> Found:
        said = _said(self._spoken(first))
        return situation.found_for(self._s, self._wanted, first, room, said)

    def _first(self) -> int:
        s = self._s
        of = self._hf.views.read(lambda reading: views.info(reading, s.principal, s.agent, s.id))
        return of.first_seq if of is not None else 0

    def _fits(self, parts: Sequence[Part]) -> bool:
        return self._wanted.window is None or self._sheet.size(parts) <= self._wanted.window


def _seq(events: Sequence[Event], place: int) -> int:
    if place < len(events):
        return events[place].event_seq if place else 0
    return events[-1].event_seq + 1 if events else 0


def _said(events: Sequence[Event]) -> frozenset[str]:
    return frozenset(plain(said(event)) for event in events)


def _shown(epoch: Epoch, events: Sequence[Event]) -> dict[str, int]:
    """What the window shows: entries at their best level, the conversation whole.

    Names show nothing, and what was taken back is not there any more.
    """
    shown: dict[str, int] = {}
    every = [one for one in epoch.everything() if one.kind != "topic"]
    taken_back = {int(one.beside[0]) for one in every if one.kind == "correction"}
    for one in every:
        empty = one.kind == "correction" and len(one.beside) == 1
        if one.number not in taken_back and not empty:
            shown[one.id] = min(one.level, shown.get(one.id, one.level))
    return shown | {event.event_id: 0 for event in events}


def _given(found: Found, shown: Sequence[Shown]) -> Found:
    """Of what was found, what is shown."""
    ids = {one.id for one in shown}
    return msgspec.structs.replace(found, hits=tuple(hit for hit in found if hit.id in ids))


def context(s: Session, query: str, given: dict[str, Any]) -> Pack:
    """A context for what is asked now."""
    s.check()
    return Composer(s, wanting.wanted(s, query, given)).compose()
