"""How full the window of a context is: when it is curated, compacted or saved, and doing that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from holdfast.compact.pressure import LAST_BANDS, Bounds, Fill, band, due, sent
from holdfast.model.compactions import RESTORE, Compaction, Curation
from holdfast.model.epochs import Epoch
from holdfast.model.events import Event

from . import workflows
from .assembling import Sheet
from .compacting import Compactor
from .flash import flashed
from .wanting import Wanted

if TYPE_CHECKING:
    from .packing import Assembled
    from .session import Session

#: what is less likely than this to be meant is beside the point
_MEANT = 0.02
#: what was just put together stays for so many turns
_LASTS = 5
#: less than this share of the window is not worth ranking anew
_FEW = 0.02


class Talk(msgspec.Struct, frozen=True):
    """The conversation as a window shows it."""

    events: Sequence[Event]
    tokens: int
    #: the compaction before, which left what it could not do without
    past: str
    #: tokens of it when a compaction that was due came to nothing
    came_to_nothing: int = 0


class Filling:
    """How full the window of one context is."""

    def __init__(self, s: Session, sheet: Sheet, wanted: Wanted, *, may: bool) -> None:
        self._s = s
        self._sheet = sheet
        self._wanted = wanted
        #: not for whoever only looks at a session
        self._may = may
        self._settings = workflows.compaction(s)
        #: without a window, the conversation may take half of it
        self.limit = wanted.window or 2 * wanted.compose.history_tokens

    @property
    def _bounds(self) -> Bounds:
        return Bounds(
            limit=self.limit,
            history=self._sheet.budget.history,
            refill=self._wanted.compose.history_refill,
        )

    def due(self, tokens: int, talk: Talk, *, anew: bool = False) -> str:
        """Why a compaction is due when the whole context takes so many tokens; empty when none is."""
        if not self._may:
            return ""
        held = self._sheet.showing.compaction(talk.past) if talk.past else None
        # what was gone back to may be more than fits
        left = held.tokens_after if held and held.strategy != RESTORE else 0
        fill = Fill(
            tokens=tokens,
            talk=talk.tokens,
            left=max(left, talk.came_to_nothing),
            since=[e for e in talk.events if held is None or e.event_seq > held.through],
            anew=anew,
        )
        return due(fill, self._bounds, self._settings)

    def compacted(self, talk: Talk, taken: int) -> Compaction | None:
        """Compact, if that is due; from the band on where everything is saved, it is a flash save.

        `taken` is what the context took that turned out to be too full; 0 where there was none.
        """
        fixed = self._sheet.size(self._sheet.fixed) + self._sheet.budget.stable
        tokens = taken or fixed + talk.tokens
        why = self.due(tokens, talk, anew=True)
        if not why:
            return None
        s, sheet, settings = self._s, self._sheet, self._settings
        room = replace(self._bounds.room(settings), window=self.limit)
        saves = band(tokens, self.limit, settings) in LAST_BANDS
        held = sheet.showing.compaction(talk.past) if talk.past else None
        if saves and (held is None or held.strategy != RESTORE):
            return flashed(s, sheet.turns, sheet.count, settings, self._wanted.query, room)
        # what was gone back to is saved already, and what of it is asked about now stays
        return Compactor(s, sheet.turns, sheet.count, settings, self.limit).compact(
            self._wanted.query, room, why
        )

    # ---- what recall put in ----------------------------------------------------------------

    def curates(self, made: Assembled, talk: Talk) -> bool:
        """Is much of what earlier turns were given beside the point of this one?"""
        tokens = self._sheet.size(made.parts)
        began = made.epoch.event_seq
        asked = [e for e in talk.events if e.kind == "user_message" and e.event_seq > began]
        if len(asked) < _LASTS:
            return False
        if band(tokens, self.limit, self._settings) == "calm":
            return False
        given = self._given(made.epoch)
        stale = given - self._still_meant(made)
        much = given > _FEW * self.limit and stale > self._settings.curate_stale * given
        return much and self._worth_it(made, talk, self._settings.curate_anew)

    def renews(self, made: Assembled, talk: Talk) -> bool:
        """May a context begin anew for what it has no room for?"""
        return self._worth_it(made, talk, self._wanted.compose.renew_anew)

    def _worth_it(self, made: Assembled, talk: Talk, share: float) -> bool:
        """May a context begin anew for what it shows, though nothing has to leave?

        The conversation is taken in anew then: that is weighed against all that was sent since the last
        time; what every turn may add is little enough anyway.
        """
        since = [event for event in talk.events if event.event_seq > made.epoch.event_seq]
        now = self._sheet.size(made.parts)
        first = now - sum(map(self._sheet.turns.tokens, since))
        little = share * sent(since, first, now)
        return talk.tokens <= max(self._wanted.new_tokens, little)

    def curation(self, before: Epoch, made: Assembled) -> Curation:
        """What a curation came to."""
        old = [one for added in before.added for one in added.shown]
        new = {(one.id, one.span) for one in made.chosen.shown}
        gone = [one for one in old if (one.id, one.span) not in new]
        return Curation(
            query=self._wanted.query,
            hits_found=len(old) - len(gone),
            total_hits_before_curation=len(old),
            token_savings=sum(one.tokens for one in gone),
            drops_triggered=len(gone),
        )

    def _given(self, epoch: Epoch) -> int:
        return sum(one.tokens for added in epoch.added for one in added.shown)

    def _still_meant(self, made: Assembled) -> int:
        """Tokens of what was given and is about this question too."""
        meant = {
            (one.shown.id, one.shown.span) for one in made.chosen.weighed if one.relevance >= _MEANT
        }
        shown = [one for added in made.epoch.added for one in added.shown]
        return sum(one.tokens for one in shown if (one.id, one.span) in meant)
