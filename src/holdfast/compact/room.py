"""How much of a conversation a compaction leaves, in tokens, lines of what left included."""

from __future__ import annotations

import msgspec


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What it is to leave, and what may stay though that is more."""

    #: what is to be left of all of it
    aim: int
    #: what is worth keeping and what came last may take so much together with what must stay
    hold: int
    #: what can be shown of all of it
    most: int
    #: summaries have so much beside what stays, at least
    short: int = 0
    #: the whole window; 0 where nobody said
    window: int = 0

    @classmethod
    def named(cls, tokens: int, window: int = 0) -> Room:
        """So much and no more, whatever is worth keeping."""
        return cls(aim=tokens, hold=tokens, most=tokens, window=window)

    def beside(self, tokens: int) -> Room:
        """The same without what so many tokens take."""
        return Room(
            aim=max(0, self.aim - tokens),
            hold=max(0, self.hold - tokens),
            most=max(0, self.most - tokens),
            short=self.short,
            window=self.window,
        )
