"""How full a window is, in bands; whether a compaction is due, and when the next one will be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

import msgspec
from msgspec.structs import replace

from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import BANDS, Band, Pressure
from holdfast.model.events import Event

from .chunks import milliseconds
from .room import Room

#: the growth of so many turns says how fast a window fills
_TURNS = 10
#: a compaction that would save less than this share of the conversation is not worth a new beginning
_WORTHWHILE = 0.25
_HOUR = 3_600_000
#: a small window keeps so many tokens, if that is no more than this share of what it is compacted at
_FEW, _SMALL = 1_000, 0.7
#: from here on everything is saved before anything leaves
LAST_BANDS = BANDS[BANDS.index("flash") :]
#: what a model says and does in one step; each step takes the whole prompt
_STEPS = ("model_message", "tool_call")


class Fill(msgspec.Struct, frozen=True, kw_only=True):
    """What a window holds when it is asked whether a compaction is due."""

    #: tokens of all of it, and of the conversation alone
    tokens: int
    talk: int
    #: what the compaction before left of the conversation, which it could not do without
    left: int
    #: what was said since that one
    since: Sequence[Event]
    #: does the prompt begin anew whatever is decided?
    anew: bool = False


class Since(msgspec.Struct, frozen=True, kw_only=True):
    """What a forecast knows of the conversation since the last compaction."""

    #: how often the person spoke
    turns: int
    #: tokens of all of it by now, and how many a compaction leaves at least
    talk: int
    left: int


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """How large a window is."""

    #: in tokens, for everything
    limit: int
    #: the most the conversation may take of it
    history: int
    #: of that, the share it begins anew with
    refill: float

    def target(self, settings: CompactSettings) -> int:
        """What of the conversation a compaction is to leave."""
        most = min(self.limit, settings.flash_tokens or self.limit)
        share = int(settings.compact_to * most)
        small = min(_FEW, int(_SMALL * settings.compact_at * most))
        return min(max(share, small), int(self.refill * self.history))

    def room(self, settings: CompactSettings) -> Room:
        """What of it a compaction is to leave, and what may stay though that is more."""
        limit = min(self.limit, settings.flash_tokens or self.limit)
        hold = min(
            int(settings.hold * settings.compact_at * limit), int(self.refill * self.history)
        )
        aim = self.target(settings)
        return Room(aim=aim, hold=max(aim, hold), most=max(aim, self.history))


def due(fill: Fill, bounds: Bounds, settings: CompactSettings) -> str:
    """Why a compaction is due; empty when none is, or it would save little.

    Where the conversation has no room left, and from the band on where everything is saved, one is due
    whatever the triggers are.
    """
    if fill.talk > bounds.history:
        return "tokens"
    if _short(fill.talk, max(fill.left, bounds.target(settings))):
        return ""
    if band(fill.tokens, bounds.limit, settings) in LAST_BANDS:
        return "tokens"
    over = fill.tokens >= settings.compact_at * bounds.limit
    asked = sum(event.kind == "user_message" for event in fill.since)
    found = {
        "tokens": over and (fill.anew or _pays(fill, bounds, settings)),
        "turns": asked > settings.turns,
        "idle": _gap(fill.since) > settings.idle_hours * _HOUR,
        "gate": any(map(_passed, fill.since)),
    }
    return next((why for why in settings.triggers if found.get(why)), "")


def _short(talk: int, left: int) -> int:
    """How many tokens a conversation lacks of what is worth a compaction that leaves so many."""
    return max(0, int(left / (1 - _WORTHWHILE)) + 1 - talk)


def _pays(fill: Fill, bounds: Bounds, settings: CompactSettings) -> bool:
    """Is a new beginning worth it by now?

    Whatever a prompt begins anew with is taken in anew by the provider, who had it cached.
    """
    anew = fill.tokens - (fill.talk - bounds.target(settings))
    return anew <= settings.anew * sent(
        fill.since, fill.tokens - (fill.talk - fill.left), fill.tokens
    )


def sent(since: Sequence[Event], first: int, last: int) -> int:
    """Tokens of all prompts since one of so many, now that the latest has so many: one for each step."""
    steps = sum(spoken for spoken, _ in groupby(event.kind in _STEPS for event in since))
    return steps * (first + last) // 2


def _gap(events: Sequence[Event]) -> int:
    """How long nobody said anything at most."""
    times = [milliseconds(event.timestamp) for event in events]
    return max((later - earlier for earlier, later in pairwise(times)), default=0)


def _passed(event: Event) -> bool:
    said = event.payload if isinstance(event.payload, dict) else {}
    return event.kind == "validation_gate" and said.get("passed") is True


def band(tokens: int, limit: int, settings: CompactSettings) -> Band:
    """Which band so many tokens of a window are in."""
    share = tokens / limit if limit > 0 else 1.0
    if share >= settings.most:
        return "full"
    if share >= settings.flash_at or tokens >= (settings.flash_tokens or tokens + 1):
        return "flash"
    if share >= settings.compact_at:
        return "compact"
    return "curate" if share >= settings.curate_at else "calm"


def next_at(limit: int, settings: CompactSettings) -> int:
    """Tokens of a window at which the next compaction begins."""
    share = settings.compact_at if "tokens" in settings.triggers else settings.flash_at
    # what is full is saved, too
    begins = int(min(share, settings.flash_at, settings.most) * limit)
    return min(begins, settings.flash_tokens or begins)


def hosted(settings: CompactSettings, share: float) -> CompactSettings:
    """What holds for a window whose host compacts it at a share, and saves nothing at any other."""
    last = max(share, settings.flash_at)
    return replace(
        settings, compact_at=share, flash_at=last, flash_tokens=None, triggers=("tokens",)
    )


def pressure(
    tokens: int,
    limit: int,
    settings: CompactSettings,
    growth: Sequence[int] = (),
    since: Since | None = None,
) -> Pressure:
    """The same, with a forecast: from what the last turns added, and what came since a compaction."""
    begins = next_at(limit, settings)
    lately = [one for one in growth[-_TURNS:] if one > 0]
    left = None
    if lately:
        left = max(0, begins - tokens) * len(lately) // sum(lately)
        if since is not None and "turns" in settings.triggers:
            worth = -(-_short(since.talk, since.left) * len(lately) // sum(lately))
            left = min(left, max(settings.turns + 1 - since.turns, worth, 0))
    return Pressure(
        tokens=tokens,
        limit=limit,
        band=band(tokens, limit, settings),
        next_at=begins,
        turns_left=left,
    )
