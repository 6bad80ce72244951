"""When a context is due for a compaction, and that compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.model.compactions import Compaction

from .assembling import Sheet
from .compacting import Compactor, Room
from .wanting import Wanted

if TYPE_CHECKING:
    from .session import Session

#: a compaction that would save less than this share of the conversation is not worth a new beginning
_WORTHWHILE = 0.25


class Filling:
    """How full the window of one context is."""

    def __init__(self, s: Session, sheet: Sheet, wanted: Wanted) -> None:
        self._s = s
        self._sheet = sheet
        self._wanted = wanted
        self._settings = s._hf.settings.compact
        #: without a window, the conversation may take half of it
        self._limit = wanted.window or 2 * wanted.compose.history_tokens

    @property
    def _target(self) -> int:
        """What of the conversation is to be left."""
        refill = int(self._wanted.compose.history_refill * self._sheet.budget.history)
        return min(int(self._settings.compact_to * self._limit), refill)

    def compacts(self, tokens: int, talk: int, past: str) -> bool:
        """Is a compaction due when the whole context takes so many tokens, and so many of them talk?

        `past` is the compaction before, which left what it could not do without.
        """
        if "tokens" not in self._settings.triggers:
            return False
        left = self._sheet.showing.compaction(past).tokens_after if past else 0
        over = (
            tokens >= self._settings.compact_at * self._limit or talk > self._sheet.budget.history
        )
        return over and talk * (1 - _WORTHWHILE) > max(left, self._target)

    def compacted(self, talk: int, past: str) -> Compaction | None:
        """Compact, if that is due with a conversation of so many tokens."""
        fixed = self._sheet.size(self._sheet.fixed) + self._sheet.budget.stable
        if not self.compacts(fixed + talk, talk, past):
            return None
        compactor = Compactor(self._s, self._sheet.turns, self._sheet.count, self._settings)
        room = Room(tokens=self._target, window=self._wanted.window)
        return compactor.compact(self._wanted.query, room, "tokens")
