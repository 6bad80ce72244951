"""What replaying recorded sessions under other settings came to."""

from __future__ import annotations

from typing import Any

import msgspec

#: a score is counted in one of so many parts from 0 to 1
PARTS = 20


class Drops(msgspec.Struct, frozen=True, kw_only=True):
    """What left for one reason."""

    why: str
    chunks: int
    tokens: int


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What some sessions would have come to under some settings."""

    sessions: int
    #: calls of the model
    steps: int
    #: tokens of all prompts, and those of them a provider had cached
    sent: int
    cached: int
    #: tokens of the fullest prompt
    fullest: int
    #: what all of that costs, in tokens at the plain price, fetching what was missed included
    price: float
    #: of the price of carrying everything, the share that is saved
    savings: float
    #: names the model used that had been said before, and those that did not stand in its window
    needed: int
    missed: int
    #: how often something would have had to be fetched back for that
    fetched: int
    #: of what was needed, the share that was missed
    regret: float
    compactions: int
    #: what left, by reason: the most tokens first
    drops: tuple[Drops, ...]
    #: how many chunks had a score in each part from 0 to 1, by what became of them
    scores: dict[str, tuple[int, ...]]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One of the settings that were tried."""

    #: what is other than it is set; {} for the settings as they are
    knobs: dict[str, Any]
    #: on the sessions that settings are chosen by
    seen: Figures


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """Two settings, session by session."""

    #: sessions in which the second is cheaper, dearer, or the same
    cheaper: int
    dearer: int
    same: int
    #: of the price under the first, the share that the second saves
    gain: float
    #: how likely so many would be cheaper if it made no difference
    chance: float
    #: regret under the first and the second
    regret_before: float
    regret_after: float
    wins: bool
    #: what decided, in words
    why: str


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """The best of what was tried, and whether it holds on sessions it was not chosen by."""

    knobs: dict[str, Any]
    seen: Judged
    unseen: Judged
    #: what is set and what is proposed, both on the unseen half
    before: Figures
    after: Figures

    @property
    def wins(self) -> bool:
        """Is it better on the sessions it was not chosen by?"""
        return self.unseen.wins


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at recorded sessions says about the settings of compaction."""

    #: tokens of the window that was replayed, and of the conversation in it at most
    window: int
    history: int
    #: the sessions that were replayed: those that settings were chosen by, and the others
    seen: tuple[str, ...]
    unseen: tuple[str, ...]
    #: sessions that never fill such a window, and were left aside
    short: int
    #: is the window smaller than the one that is used, because too few sessions fill that?
    smaller: bool = False
    #: the settings as they are, on both halves; nothing to say without a session
    now: Figures | None = None
    #: carrying everything, on both halves
    everything: Figures | None = None
    #: what was tried, in that order; the settings as they are come first
    rows: tuple[Row, ...] = ()
    #: None where nothing that was tried is better than what is set
    proposal: Proposal | None = None
    #: what a person should know about the answer
    notes: tuple[str, ...] = ()
    #: the file the proposal was written into
    applied: str = ""
    #: why it was not, where that was asked for
    refused: str = ""
