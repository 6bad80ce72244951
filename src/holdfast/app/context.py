"""The verb that composes: keep what stands, add the best that fits, write down why, hand it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from holdfast.capture.stamp import fresh_id
from holdfast.compose import history, render
from holdfast.compose.choosing import Chooser, Chosen, Room
from holdfast.compose.render import Part
from holdfast.compose.sources import OF_A_TURN, OF_AN_EPOCH, floor_for, offered
from holdfast.errors import Conflict, Erased, Limit
from holdfast.model.epochs import Epoch, Epochs, Passage
from holdfast.model.events import Event
from holdfast.model.memories import plain
from holdfast.model.packs import Pack, Shown
from holdfast.model.recall import Found
from holdfast.text.spoken import said
from holdfast.views import state as views
from holdfast.views.epochs import EpochView, asked, follows
from holdfast.views.runner import Reading
from holdfast.views.view import session_key, session_keys

from . import citing, situation, wanting, weighing
from .assembling import Sheet
from .compacting import standing_in
from .filling import Filling, Talk
from .history import at
from .packing import Assembled, elsewhere, handed_out
from .quoting import said_as
from .recovering import Need, came_back_by_itself, noted
from .showing import Showing
from .situation import Seen, Standing
from .wanting import Wanted

if TYPE_CHECKING:
    from .session import Session


#: so often a context is made anew because another one of the same session was faster
_MOST_TRIES = 50
#: why an epoch begins
_FIRST, _SHORTENED = "the first", "the host has shortened its conversation"
_FULL = "the window is full"
_COMPACTED = "the conversation was compacted"
_CURATED = "much of what was given is beside the point by now"


class Composer:
    """Composes one context of one session."""

    def __init__(self, s: Session, wanted: Wanted, *, compacts: bool = True) -> None:
        self._s = s
        self._hf = s._hf
        self._wanted = wanted
        showing = Showing(self._hf, s.principal, lately=True)
        self._sheet = Sheet(wanted, self._hf.counter(wanted.model), showing)
        self._heard: dict[int, list[Event]] = {}
        self._stands: dict[str, Standing] = {}
        self._stayed: dict[str, list[Event]] = {}
        self._filling = Filling(s, self._sheet, wanted, may=compacts)
        #: tokens of a context that turned out to be too full
        self._taken = 0
        #: what stands once it was decided whether something leaves
        self._after: Epochs | None = None

    def compose(self) -> Pack | None:
        """The context, written down and handed out; None when another one was faster."""
        known, position = self._known()
        made = self._made(known)
        query = self._wanted.query
        said_by = said_as(self._s, self._shown_talk(made.epoch), query)
        pack, first = handed_out(self._s, self._wanted, made, said_by)
        if self._overtaken(known.last_pack, position, first):
            return None
        s, shown = self._s, made.chosen.shown
        noted(self._hf, lambda: elsewhere(s, shown))
        noted(
            self._hf, lambda: came_back_by_itself(s, shown, Need(query, "auto", said_by), pack.id)
        )
        s.watching.append(citing.Watch(_given(made.found, shown)))
        return pack

    def _made(self, known: Epochs) -> Assembled:
        epoch = next((one for one in known.epochs if one.key == self._wanted.key()), None)
        why = _FIRST if epoch is None else self._cannot_go_on(epoch, known)
        if epoch is not None and not why:
            found = self._found(epoch, self._wanted.new_tokens)
            made = self._assembled(epoch, known, found)
            why = self._lacks(made, known)
            if not why:
                tight = self._talk_tokens(epoch) if self._taken else 0
                return replace(made, came_to_nothing=tight)
            if why == _CURATED:
                fresh = self._anew(known, why)
                return replace(fresh, curation=self._filling.curation(epoch, fresh))
        return self._anew(known, why)

    # ---- epochs ----------------------------------------------------------------------------

    def _known(self) -> tuple[Epochs, int]:
        """What this session was shown, and up to which event that is known."""
        key = session_key(self._s.principal, self._s.agent, self._s.id)

        def ask(reading: Reading) -> tuple[Epochs, int]:
            found: Epochs | None = reading.row(EpochView(), key)
            return found or Epochs(), reading.position.event_seq if reading.position else 0

        known, position = self._hf.views.read(ask)
        return self._in_this_window(self._sheet.showing.standing(known)), position

    def _in_this_window(self, known: Epochs) -> Epochs:
        """The same with the compaction that stands in a window of this size."""
        turns, count, limit = self._sheet.turns, self._sheet.count, self._filling.limit
        stands = standing_in(self._s, known, turns, count, limit)
        past, through = (stands.id, stands.through) if stands else ("", 0)
        return replace(known, past=past, through=through)

    def _overtaken(self, last_pack: str, position: int, first: int) -> bool:
        """Was another context of this session written down in between?"""
        if first == position + 1:
            return False
        view, s = EpochView(), self._s
        whose = session_keys(s.principal, s.agent, s.id)
        for event in self._hf.log.read(position):
            if not isinstance(event, Event):
                continue
            if event.event_seq >= first:
                break
            if event.kind in view.kinds and view.keys(event) == whose and follows(event, last_pack):
                return True
        return False

    def _cannot_go_on(self, epoch: Epoch, known: Epochs) -> str:
        """Why the beginning of the context cannot stay as it is; empty when it can."""
        if epoch.event_seq < known.compacted:
            return _SHORTENED
        if epoch.past != known.past:
            return _COMPACTED
        if epoch.generation != self._wanted.generation:
            return "something was erased"
        try:
            broken = self._standing(epoch).broken()
        except Erased as exc:
            return str(exc)
        if not broken and self._talk_tokens(epoch) > self._sheet.budget.history:
            return _FULL
        return broken

    def _lacks(self, made: Assembled, known: Epochs) -> str:
        """Why a context that goes on is not good enough; empty when it is, or nothing can leave it."""
        if not self._fits(made.parts):
            return _FULL
        epoch = made.epoch
        shown, tokens = self._shown_talk(epoch), self._talk_tokens(epoch)
        talk = Talk(shown, tokens, epoch.past, epoch.came_to_nothing)
        if self._filling.due(self._sheet.size(made.parts), talk):
            self._taken = self._sheet.size(made.parts)
            if self._compacted(known).past != known.past:
                return _COMPACTED
        if self._filling.curates(made, talk):
            return _CURATED
        weighed = made.chosen.weighed
        no_room = ("budget", "share", "cap")
        if any(one.shown.kind == "correction" and one.verdict in no_room for one in weighed):
            return "something has to be corrected and there is no room for that"
        if self._misses(made) and self._filling.renews(made, talk):
            return "the budget is full"
        return ""

    def _misses(self, made: Assembled) -> bool:
        """Is what there was no room for likelier to be meant than what is shown?"""
        weighed = made.chosen.weighed
        refused = [one.relevance for one in weighed if one.verdict in ("budget", "share")]
        there = [one.relevance for one in weighed if one.verdict == "duplicate"]
        better = max(refused, default=0.0) > 2 * max(there, default=0.0)
        return bool(made.epoch.added) and better and sum(refused) >= self._wanted.compose.renew

    def _anew(self, known: Epochs, why: str) -> Assembled:
        """A new epoch: background and index packed anew, the conversation from where it fits."""
        stable, before = self._stable(known.number), known.past
        known = replace(self._compacted(known), number=known.number + len(stable.shown))
        if known.past != before and why not in (_FIRST, _SHORTENED):
            why = _COMPACTED
        room = self._sheet.budget.total - self._sheet.budget.stable
        found: Found | None = None
        for epoch in self._epochs(known, stable):
            found = found or self._found(epoch, room)
            made = self._assembled(epoch, known, found)
            if self._fits(made.parts):
                return replace(made, why=why, stable=stable)
        raise Limit(
            f"a context of {self._sheet.size(made.parts)} tokens does not fit a window of "
            f"{self._wanted.window}, of which {self._wanted.most:.0%} are filled at most; a smaller "
            "budget= would help"
        )

    def _epochs(self, known: Epochs, stable: Chosen) -> Iterator[Epoch]:
        """Where the conversation may begin: the best first, then less and less of it."""
        refill = self._wanted.compose.history_refill
        for past in dict.fromkeys((known.past, "")):
            begin = max(known.through + 1 if past else 0, known.compacted)
            events = self._spoken(begin)
            sizes = [self._sheet.turns.tokens(event) for event in events]
            left = self._sheet.budget.history - (self._past_tokens(past) if past else 0)
            for opening in history.openings(events, sizes, max(0, left), refill):
                yield Epoch(
                    id=fresh_id("epo"),
                    event_seq=0,
                    key=self._wanted.key(),
                    history_from=max(opening.first, begin),
                    pinned=opening.pinned,
                    past=past,
                    shown=stable.shown,
                )

    def _compacted(self, known: Epochs) -> Epochs:
        """The same after a compaction, where one is due; that is decided once for a context."""
        if self._after is None:
            talk = [*self._kept(known.past), *self._spoken(max(known.through + 1, known.compacted))]
            tokens = sum(map(self._sheet.turns.tokens, talk)) + self._spans_tokens(known.past)
            of = Talk(talk, tokens, known.past)
            made = self._filling.compacted(of, self._taken) if talk else None
            self._after = known
            if made is not None:
                self._after = replace(known, past=made.id, through=made.through)
        return self._after

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
        sheet, events = self._sheet, self._shown_talk(epoch)
        stable, added = sheet.entries(epoch.shown), sheet.added(epoch)
        pad = self._s.scratchpad()
        notes = sheet.notes(pad)
        used = [*stable, *(part for parts in added.values() for part in parts)]
        left = sheet.budget.total - sheet.size(used) - sheet.budget.scratchpad
        room = sheet.room(epoch, events, left, self._wanted.new_tokens)
        position = self._position(epoch, events)
        of = situation.of_a_turn(
            self._s,
            self._wanted,
            found,
            self._standing(epoch),
            self._seen(epoch),
            self._shown(epoch, events),
            again=(epoch.position, epoch.asked) == (position, self._asked()),
        )
        later, query = bool(known.last_pack), self._wanted.query
        of = replace(of, floor=floor_for(self._wanted.compose, events, query, later=later))
        chooser = Chooser(self._wanted.compose, sheet.count, known.number)
        chosen = chooser.choose_from(
            lambda whole: offered(OF_A_TURN, replace(of, whole=whole)), room
        )
        earlier = [event for event in events if event.event_seq <= epoch.position]
        before = (*stable, *sheet.talk(epoch, earlier, self._first())) if epoch.first else ()
        talk = sheet.talk(epoch, events, self._first())
        return Assembled(
            epoch=epoch,
            parts=(*sheet.fixed, *stable, *talk, *chosen.parts, *notes),
            before=(*sheet.fixed, *before) if epoch.first or self._same_beginning(known) else (),
            after=known.last_pack,
            chosen=chosen,
            found=found,
            caps={**sheet.budget.caps, "scratchpad": sheet.budget.scratchpad},
            position=position,
            scratchpad=pad.version if notes else 0,
        )

    # ---- small things ----------------------------------------------------------------------

    def _position(self, epoch: Epoch, events: Sequence[Event]) -> int:
        """The last event a context takes in: as it was said, left by a compaction, or named only."""
        last = events[-1].event_seq if events else 0
        through = self._sheet.showing.compaction(epoch.past).through if epoch.past else 0
        return max(last, through, epoch.history_from - 1)

    def _same_beginning(self, known: Epochs) -> bool:
        """Did the context before this one have the same system text and tools?"""
        return bool(known.last_pack) and known.epochs[-1].fixed == self._wanted.fixed()

    def _standing(self, epoch: Epoch) -> Standing:
        if epoch.id not in self._stands:
            showing = self._sheet.showing
            self._stands[epoch.id] = Standing(
                self._hf, self._s.principal, self._s.agent, showing, epoch
            )
        return self._stands[epoch.id]

    def _spoken(self, first: int) -> list[Event]:
        longer = next((found for begun, found in self._heard.items() if begun <= first), None)
        if longer is not None:  # as it was then: what is said meanwhile is for the next context
            return [event for event in longer if event.event_seq >= first]
        if first not in self._heard:
            events = situation.spoken_in(self._s, max(0, first - 1))
            self._heard[first] = [event for event in events if history.spoken(event)]
        return self._heard[first]

    def _shown_talk(self, epoch: Epoch) -> list[Event]:
        """The conversation as an epoch shows it, as it was said."""
        pinned = list(at(self._hf, [epoch.pinned])) if epoch.pinned else []
        return [
            *self._kept(epoch.past),
            *filter(history.spoken, pinned),
            *self._spoken(epoch.history_from),
        ]

    def _kept(self, past: str) -> list[Event]:
        """What a compaction left as it was."""
        if not past:
            return []
        if past not in self._stayed:
            seqs = list(self._sheet.showing.compaction(past).past.kept)
            self._stayed[past] = list(filter(history.spoken, at(self._hf, seqs)))
        return self._stayed[past]

    def _talk_tokens(self, epoch: Epoch) -> int:
        talk = self._shown_talk(epoch)
        return sum(map(self._sheet.turns.tokens, talk)) + self._spans_tokens(epoch.past)

    def _past_tokens(self, past: str) -> int:
        return sum(map(self._sheet.turns.tokens, self._kept(past))) + self._spans_tokens(past)

    def _spans_tokens(self, past: str) -> int:
        if not past:
            return 0
        held = self._sheet.showing.compaction(past).past
        return self._sheet.size([part for _, part in render.past(held)])

    def _found(self, epoch: Epoch, room: int) -> Found:
        return situation.found_for(self._s, self._wanted, self._seen(epoch), room)

    def _seen(self, epoch: Epoch) -> Seen:
        turns, events = self._sheet.turns, self._shown_talk(epoch)
        return Seen(
            first=epoch.history_from,
            said=frozenset(plain(said(event)) for event in events if turns.part(event).whole),
            partly=tuple(event.event_seq for event in events if not turns.part(event).whole),
        )

    def _shown(self, epoch: Epoch, events: Sequence[Event]) -> dict[Passage, int]:
        """What the window shows: entries at their best level, the conversation where it is whole."""
        heard = [event for event in events if self._sheet.turns.part(event).whole]
        return epoch.levels() | {(event.event_id, ()): 0 for event in heard}

    def _asked(self) -> str:
        return asked(self._wanted.query, msgspec.to_builtins(self._wanted.signals))

    def _first(self) -> int:
        s = self._s
        of = self._hf.views.read(lambda reading: views.info(reading, s.principal, s.agent, s.id))
        return of.first_seq if of is not None else 0

    def _fits(self, parts: Sequence[Part]) -> bool:
        space = self._wanted.space
        return space is None or self._sheet.size(parts) <= space.limit


def _given(found: Found, shown: Sequence[Shown]) -> Found:
    """Of what was found, what is shown."""
    ids = {one.id for one in shown}
    return msgspec.structs.replace(found, hits=tuple(hit for hit in found if hit.id in ids))


def context(s: Session, query: str, given: dict[str, Any], *, compacts: bool = True) -> Pack:
    """A context for what is asked now; the session is compacted for it where that is due, or never."""
    s.check()
    if compacts:
        weighing.follow(s._hf, s.principal, s.agent)
    for _ in range(_MOST_TRIES):
        pack = Composer(s, wanting.wanted(s, query, given), compacts=compacts).compose()
        if pack is not None:
            return pack
    raise Conflict("other contexts of this session are made all the time; try again")
