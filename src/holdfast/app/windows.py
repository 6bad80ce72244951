"""The window of a session between two contexts: what it holds, how full it is, making room in it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec.structs import replace

from holdfast.compact import strategies
from holdfast.compact.pressure import Bounds
from holdfast.compact.room import Room
from holdfast.compose import render
from holdfast.compose.history import Turns
from holdfast.errors import Invalid
from holdfast.model.cold import Cold
from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Compaction, Past, Pressure
from holdfast.model.compose import window_of
from holdfast.model.epochs import Epochs
from holdfast.model.events import Event

from . import compactions, pressing, recovering, workflows
from .compacting import Compactor, known_of, standing_in, window
from .wanting import unknown_window

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What a window holds now."""

    known: Epochs
    #: the compaction that stands in it; None where the plain log does
    stands: Compaction | None
    past: Past
    events: tuple[Event, ...]
    #: tokens of the conversation, and of everything beside it in the last context
    talk: int
    beside: int
    #: how much each of the last turns added
    growth: tuple[int, ...]


class SessionCompacting:
    """Verbs about the window of a session."""

    def pressure(self, *, window: int | None = None, model: str = "") -> Pressure:
        """How full its window is, in which band that is, and when the next compaction will be.

        It is the window of its last context, unless another one is named, or a model's.
        """
        return pressing.pressure_of(cast("Session", self), window, model)

    def compact(
        self,
        prompt: str = "",
        *,
        to: int | None = None,
        window: int | None = None,
        model: str = "",
        strategy: str | None = None,
    ) -> Compaction | None:
        """Make room in its window for what is asked now; None when nothing would leave.

        `to` is how many tokens of the conversation may stay; by default the share of the window that
        the settings say. Its window is the largest of its latest contexts, unless one is named, or a
        model's. What leaves keeps a handle: `expand` and `recover` show it verbatim.
        """
        s = cast("Session", self)
        s.check()
        _text("prompt", prompt)
        hf, chosen = s._hf, chosen_by(workflows.compaction(s), strategy)
        limit = limit_in(s, window, model)
        room = room_in(limit, chosen)
        if to is not None:
            room = Room.named(_tokens("to", to), limit)
        turns, count = turns_for(hf, model, limit), hf.counter(model).count
        made = Compactor(s, turns, count, chosen, limit).compact(prompt, room, "asked")
        hf.activity.follow()
        return compactions.recorded(hf, made) if made is not None else None

    def recover(self, chunk_id: str, *, prompt: str = "") -> Cold:
        """What a compaction dropped, verbatim, by the id of its chunk; that it was needed is recorded.

        Of any session of the same agent and user. `prompt` is what it is needed for.
        """
        s = cast("Session", self)
        s.check()
        _text("prompt", prompt)
        return recovering.recover(s, chunk_id, prompt)


def chosen_by(settings: CompactSettings, strategy: str | None) -> CompactSettings:
    """The settings with another strategy, by its name."""
    if strategy is None:
        return settings
    if strategy not in strategies.STRATEGIES:
        known = ", ".join(sorted(strategies.STRATEGIES))
        raise Invalid(f"{strategy!r} is no strategy; there are {known}")
    return replace(settings, strategy=cast("Any", strategy))


def limit_in(s: Session, given: int | None, model: str) -> int:
    """The same for a session: where nobody says, the largest window of its latest contexts."""
    if given is not None or model:
        return limit_of(s._hf, given, model)
    usual = 2 * s._hf.settings.compose.history_tokens
    latest = [epoch.window or usual for epoch in known_of(s).epochs if epoch.first]
    return max(latest) if latest else limit_of(s._hf, None, "")


def limit_of(hf: Holdfast, given: int | None, model: str) -> int:
    """The window: as given, else the model's, else what settings give a conversation, twice.

    Invalid where nobody knows the window of the model that is named.
    """
    _text("model", model)
    if given is not None:
        return _tokens("window", given)
    compose, named = hf.settings.compose, model or hf.settings.tokens.model
    known = window_of(named, compose.windows) if named else None
    if known is None and model:
        raise unknown_window(model)
    return known or 2 * compose.history_tokens


def room_in(limit: int, settings: CompactSettings) -> Room:
    """What a compaction of a conversation is to leave that may take a whole window."""
    bounds = Bounds(limit=limit, history=int(settings.most * limit), refill=1.0)
    return replace(bounds.room(settings), window=limit)


def _text(name: str, given: Any) -> None:
    if not isinstance(given, str):
        raise Invalid(f"{name} is a text, not {type(given).__name__}")


def _tokens(name: str, given: Any) -> int:
    if type(given) is not int or given < 1:
        raise Invalid(f"{name} is a number of tokens, not {given!r}")
    return given


def turns_for(hf: Holdfast, model: str, limit: int) -> Turns:
    """How the events of a conversation are shown: none takes more than a quarter of the window."""
    most = min(hf.settings.compose.event_tokens, max(1, limit // 4))
    return Turns(most, hf.counter(model).count)


def holding(s: Session, turns: Turns, model: str, limit: int) -> Held:
    """What the window of a session holds, one of so many tokens."""
    hf, known = s._hf, known_of(s)
    count = hf.counter(model).count
    stands = standing_in(s, known, turns, count, limit)
    past = stands.past if stands else Past()
    events = window(s, replace(known, through=stands.through if stands else 0), past)
    sizes = [turns.tokens(event) for event in events]
    spans = [part for _, part in render.past(past)]
    return Held(
        known=known,
        stands=stands,
        past=past,
        events=tuple(events),
        talk=sum(sizes) + (count(render.text_of(spans)) if spans else 0),
        beside=_beside(hf, known),
        growth=_growth(events, sizes),
    )


def _beside(hf: Holdfast, known: Epochs) -> int:
    """What the last context held beside the conversation."""
    event = hf.log.find(known.last_pack) if known.last_pack else None
    said = event.payload.get("tokens") if event and isinstance(event.payload, dict) else None
    if not isinstance(said, dict):
        return 0
    total, talk = said.get("total"), said.get("history")
    return max(0, total - talk) if type(total) is int and type(talk) is int else 0


def _growth(events: Sequence[Event], sizes: Sequence[int]) -> tuple[int, ...]:
    """What each turn of the person's added, with all that followed it."""
    places = [n for n, event in enumerate(events) if event.kind == "user_message"]
    sums = [0, *accumulate(sizes)]
    ends = [*places[1:], len(events)] if places else []
    return tuple(sums[end] - sums[start] for start, end in zip(places, ends, strict=True))
