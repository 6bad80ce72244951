"""A context as other settings would have made it, from the candidates that were written down.

The first context of an epoch is packed anew as a whole. A later one keeps what stood before it and
packs what the turn adds; where that does not fit the settings there is no such context, and
the error says so. What comes out never passes the budget, the window or a cap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from holdfast.compose import history, record, render
from holdfast.compose.choosing import Candidate, Chooser, Chosen, Room
from holdfast.compose.render import Part
from holdfast.compose.rescoring import rescored, unknown
from holdfast.compose.sources import floor_for
from holdfast.errors import Invalid
from holdfast.model.compose import AgentDefaults, ComposeSettings, window_of
from holdfast.model.epochs import Epoch, Passage
from holdfast.model.events import Event
from holdfast.model.packs import Pack, Receipt, Weighed
from holdfast.model.recall import RecallSettings

from . import nested
from .packing import written
from .replaying import (
    Recorded,
    explained,
    known_before,
    receipt_of,
    recorded,
    replay,
    sheet_for,
    spoken,
)
from .telling import redacted
from .wanting import Wanted

if TYPE_CHECKING:
    from .holdfast import Holdfast

Settings = ComposeSettings | RecallSettings
#: verdicts that no setting changes
_SETTLED = frozenset({"duplicate", "untrusted", "superseded", "expired"})
#: settings of compose that decided which candidates there were, and whether an epoch began
_DECIDED = ("candidates", "recent_hours", "renew", "renew_anew")
_STABLE = ("background", "index")


def replay_with(hf: Holdfast, pack_id: str, user: str, settings: Settings) -> Pack:
    """The context under other settings of recall or of compose; Invalid where nobody can tell."""
    replay(hf, pack_id, user)  # what cannot be rendered as it was cannot be packed anew either
    of = recorded(hf, pack_id, user)
    wanted = under(hf, of, settings)
    names = _untold(of.wanted, wanted)
    if names:
        raise Invalid(
            f"what {', '.join(names)} would have changed cannot be told from what was recorded; "
            "replay with requery=True and these settings asks again"
        )
    again = _Again(hf, of, wanted)
    with explained(hf, of.event, of.said.generation):
        made = again.anew() if of.begins else again.going_on()
    text, receipt = render.text_of(made.parts), again.receipt(made)
    return written(pack_id, text, made.parts, wanted, receipt, len(made.before))


def under(hf: Holdfast, of: Recorded, settings: Settings) -> Wanted:
    """What was asked for, under other settings: their defaults where nothing else had been asked."""
    was = replace(of.wanted, most=hf.settings.compact.most)
    if isinstance(settings, RecallSettings):
        return replace(was, recall=settings)
    if not isinstance(settings, ComposeSettings):
        raise Invalid("settings are a RecallSettings or a ComposeSettings")
    before, agent = was.compose, of.event.agent or ""
    old, new = (one.agents.get(agent, AgentDefaults()) for one in (before, settings))
    changed = replace(was, compose=settings)
    if was.budget == before.budget:
        changed = replace(changed, budget=settings.budget)
    if was.new_tokens == before.new_tokens:
        changed = replace(changed, new_tokens=settings.new_tokens)
    if was.model and was.window == window_of(was.model, before.windows):
        changed = replace(changed, window=window_of(was.model, settings.windows) or was.window)
    if was.system == redacted(hf, old.system):
        changed = replace(changed, system=redacted(hf, new.system))
    if was.tools == old.tools:
        changed = replace(changed, tools=tuple(nested.cleaned(hf, new.tools)))
    return changed


def _untold(before: Wanted, after: Wanted) -> list[str]:
    differing = [n for n in _DECIDED if getattr(before.compose, n) != getattr(after.compose, n)]
    return [*differing, *unknown(before.recall, after.recall)]


class _Made(msgspec.Struct, frozen=True, kw_only=True):
    """A context that was never handed out."""

    epoch: Epoch
    parts: tuple[Part, ...]
    #: the beginning that would be as it was in the context before
    before: tuple[Part, ...]
    chosen: Chosen
    stable: Chosen | None = None


class _Again:
    """Packs one recorded context anew."""

    def __init__(self, hf: Holdfast, of: Recorded, wanted: Wanted) -> None:
        self._of = of
        self._hf = hf
        self._wanted = wanted
        self._sheet = sheet_for(hf, of, wanted)
        self._known = known_before(hf, of.began if of.begins else of.event)
        later = bool(self._known.last_pack)
        self._floor = floor_for(wanted.compose, of.talk, wanted.query, later=later)
        self._turn, self._confidence = rescored(
            of.in_turn, of.said.confidence, of.wanted.recall, wanted.recall
        )

    def anew(self) -> _Made:
        """The first context of an epoch: background, index and history too."""
        sheet, of = self._sheet, self._of
        caps = {name: sheet.budget.caps[name] for name in _STABLE}
        stable = self._chosen(of.at_first, Room(caps=caps, total=sheet.budget.stable))
        events, kept, begin = self._talk()
        sizes = [sheet.turns.tokens(event) for event in events]
        refill = self._wanted.compose.history_refill
        left = sheet.budget.history - sum(map(sheet.turns.tokens, kept))
        for opening in history.openings(events, sizes, max(0, left), refill):
            first, pinned = max(opening.first, begin), opening.pinned
            epoch = replace(of.epoch, history_from=first, pinned=pinned, shown=stable.shown)
            shown = [one for one in events if one.event_seq >= first or one.event_seq == pinned]
            made = replace(self._assembled(epoch, [*kept, *shown]), stable=stable)
            if self._fits(made):
                return made
        raise Invalid(f"no such context fits a window of {self._wanted.window}")

    def _talk(self) -> tuple[list[Event], list[Event], int]:
        """What was said since the last compaction, what that one kept, and from where on."""
        of, begin, kept = self._of, self._known.compacted, list[Event]()
        if of.epoch.past:
            held = self._sheet.showing.compaction(of.epoch.past)
            begin = max(begin, held.through + 1)
            kept = [one for one in of.talk if one.event_seq in held.past.kept]
        events = spoken(self._hf, of.event, of.said.position, after=max(0, begin - 1))
        return events, kept, begin

    def going_on(self) -> _Made:
        """A later one, if what stands before it fits the settings."""
        made = self._assembled(self._of.epoch, self._of.talk)
        talk = sum(map(self._sheet.turns.tokens, self._of.talk))
        figures = record.figures(made.parts, (), self._caps(), None, self._sheet.count)
        over = [one for one in figures.values() if one.cap is not None and one.tokens > one.cap]
        memory = [part for part in made.parts if part.section in self._caps()]
        fits = self._fits(made) and self._sheet.size(memory) <= self._sheet.budget.total
        if over or not fits or talk > self._sheet.budget.history:
            raise Invalid(
                f"what was shown before {self._of.event.event_id} does not fit these settings; "
                f"replay {self._of.epoch.first}, with which its epoch began, or use requery=True"
            )
        return made

    def receipt(self, made: _Made) -> Receipt:
        """Every candidate and every figure as they would have been."""
        stable = made.stable.weighed if made.stable is not None else ()
        shown = [*made.epoch.everything(), *made.chosen.shown]
        wanted, count = self._wanted, self._sheet.count
        return replace(
            receipt_of(self._of),
            budget=wanted.budget,
            window=wanted.window,
            candidates=tuple(
                record.read_candidates(record.candidates([*stable, *made.chosen.weighed]))
            ),
            sections=record.figures(made.parts, shown, self._caps(), wanted.window, count),
            stable_prefix_tokens=self._sheet.size(made.before),
            new_tokens=sum(made.chosen.tokens.values()),
            confidence=round(self._confidence, 6),
            recomputed=True,
        )

    # ---- one context -----------------------------------------------------------------------

    def _assembled(self, epoch: Epoch, events: Sequence[Event]) -> _Made:
        sheet, of = self._sheet, self._of
        stable = sheet.entries(epoch.shown)
        added = [part for parts in sheet.added(epoch).values() for part in parts]
        left = sheet.budget.total - sheet.size([*stable, *added]) - sheet.budget.scratchpad
        room = sheet.room(epoch, events, left, self._wanted.new_tokens)
        chosen = self._chosen(self._turn, room, epoch, events)
        talk, notes = sheet.talk(epoch, events, of.first), sheet.notes(of.pad)
        earlier = [event for event in events if event.event_seq <= epoch.position]
        same = bool(self._known.last_pack) and self._known.epochs[-1].fixed == self._wanted.fixed()
        before = (*stable, *sheet.talk(epoch, earlier, of.first)) if epoch.first else ()
        return _Made(
            epoch=epoch,
            parts=(*sheet.fixed, *stable, *talk, *chosen.parts, *notes),
            before=(*sheet.fixed, *before) if epoch.first or same else (),
            chosen=chosen,
        )

    def _chosen(
        self,
        weighed: Sequence[Weighed],
        room: Room,
        epoch: Epoch | None = None,
        events: Sequence[Event] = (),
    ) -> Chosen:
        number = self._known.number
        if epoch is not None and self._of.begins:
            number += len(epoch.shown)
        heard = {one.event_id for one in events if self._sheet.turns.part(one).whole}
        before = epoch.levels() if epoch is not None else {}
        mine = [one for one in weighed if one.shown.section in room.caps]
        chooser = Chooser(self._wanted.compose, self._sheet.count, number)
        if epoch is None:
            return chooser.choose([self._candidate(one, heard, before) for one in mine], room)
        return chooser.choose_from(
            lambda whole: [self._candidate(one, heard, before, whole=whole) for one in mine], room
        )

    def _candidate(
        self,
        one: Weighed,
        heard: set[str],
        before: dict[Passage, int],
        *,
        whole: bool = False,
    ) -> Candidate:
        verdict, why = (one.verdict, one.why) if one.verdict in _SETTLED or one.why else ("", "")
        if not verdict and one.shown.id in heard:
            verdict, why = "duplicate", "shown already"
        elif not verdict and one.parts and one.relevance < self._floor:
            verdict = "floor"
        corrects = one.shown.kind == "correction"
        whole = whole and bool(one.parts)  # as `compose.sources` offers them
        item = self._sheet.showing.item(one.shown, whole=whole)
        known = before.get((one.shown.id, one.shown.span), before.get((one.shown.id, ())))
        return Candidate(
            item=replace(item, levels=item.levels[:1] * 4) if whole else item,
            section=one.shown.section,
            score=one.score,
            relevance=one.relevance,
            parts=one.parts,
            verdict=verdict,
            why=why,
            must=corrects,
            known=None if corrects else known,
        )

    def _caps(self) -> dict[str, int]:
        return {**self._sheet.budget.caps, "scratchpad": self._sheet.budget.scratchpad}

    def _fits(self, made: _Made) -> bool:
        space = self._wanted.space
        return space is None or self._sheet.size(made.parts) <= space.limit
