"""How full the window of a session is after any event: what its last context held, and what came since.

What always holds: it is measured by the window that context was made for unless another is named, of
which counts what a context of that window would begin with; talk that no context shows counts for
nothing; where a host holds the window, what the host said last counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from holdfast.compact.activity import HEALTH, window_of_context
from holdfast.compact.hosted import HOSTED
from holdfast.compact.pressure import Since, hosted, pressure
from holdfast.compact.room import Room
from holdfast.compose.history import Turns, spoken
from holdfast.errors import HoldfastError
from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import RESTORE, Compaction, Pressure
from holdfast.model.epochs import Epochs
from holdfast.model.events import Event
from holdfast.model.sessions import SessionInfo
from holdfast.views import state as views

from . import compactions, history, windows, workflows
from .compacting import known_of

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

#: the forecast is made from so many turns
_TURNS = 10
#: so many events of the log are looked at first, going back for what a host said last
_FIRST_STEP = 1_000


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What a session's window held when that was last known."""

    #: with everything beside the conversation
    tokens: int
    #: of them, the conversation
    talk: int
    limit: int
    #: the compaction that stands in it
    stands: Compaction | None
    #: tokens of its conversation when a compaction that was due came to nothing
    came_to_nothing: int = 0
    #: what was said behind this event came since
    through: int


def info_of(s: Session) -> SessionInfo | None:
    """Who and since when; None before anything is recorded."""
    return s._hf.views.read(lambda reading: views.info(reading, s.principal, s.agent, s.id))


def is_hosted(info: SessionInfo | None) -> bool:
    """Does its host hold its window?"""
    return info is not None and info.skill == HOSTED


def pressure_of(s: Session, given: int | None, model: str) -> Pressure:
    """How full its window is, in which band that is, and when the next compaction will be."""
    hf, info = s._hf, info_of(s)
    said = reported(hf, info) if info is not None and is_hosted(info) else None
    if said is not None:
        limit = windows.limit_of(hf, given, model) if given or model else said["limit"]
        return pressure(said["tokens"], limit, hosted(hf.settings.compact, said["compact_at"]))
    known, chosen = known_of(s), _settings(s)
    shown = _shown(hf, known)
    if given is None and not model and shown is not None and shown.limit:
        limit = shown.limit
    else:
        limit = windows.limit_of(hf, given, model)
    turns, room = windows.turns_for(hf, model, limit), windows.room_in(limit, chosen)
    if shown is None or ((given or model) and limit != shown.limit):
        held = windows.holding(s, turns, model, limit)
        since = _since(held.events, held.talk, held.stands, room)
        return pressure(held.talk + held.beside, limit, chosen, held.growth, since)
    latest = _latest(hf, info, shown.through)
    new = sum(turns.tokens(event) for event in latest if event.event_seq > shown.through)
    since = _since(latest, shown.talk + new, shown.stands, room)
    since = replace(since, left=max(since.left, shown.came_to_nothing))
    return pressure(shown.tokens + new, limit, chosen, _growth(latest, turns), since)


def _since(events: Sequence[Event], talk: int, past: Compaction | None, room: Room) -> Since:
    """What came since a compaction, and what the next one leaves at least."""
    left = room.aim
    if past is not None and past.strategy != RESTORE:  # what was gone back to may be more than fits
        left = max(left, past.tokens_after)
    through = past.through if past is not None else 0
    asked = sum(e.kind == "user_message" and e.event_seq > through for e in events)
    return Since(turns=asked, talk=talk, left=left)


def _settings(s: Session) -> CompactSettings:
    """By which it is compacted; how full it is can be said though its workflow's file is wrong."""
    try:
        return workflows.compaction(s)
    except HoldfastError as exc:
        s._hf.tell(str(exc))
        return s._hf.settings.compact


def _shown(hf: Holdfast, known: Epochs) -> Shown | None:
    """What the last context held; after a compaction that came behind it, what that one left."""
    event = hf.log.find(known.last_pack) if known.last_pack else None
    said = event.payload if event is not None and isinstance(event.payload, dict) else {}
    tokens = said.get("tokens")
    total = tokens.get("total") if isinstance(tokens, dict) else None
    if event is None or type(total) is not int or known.compacted > event.event_seq:
        return None
    history_ = tokens.get("history") if isinstance(tokens, dict) else None
    talk = history_ if type(history_) is int else total
    position = said.get("position")
    epoch = known.epochs[-1] if known.epochs else None
    past = epoch.past if epoch is not None else ""
    shown = Shown(
        tokens=total,
        talk=talk,
        limit=window_of_context(said),
        stands=compactions.standing(hf, replace(known, past=past)) if past else None,
        came_to_nothing=epoch.came_to_nothing if epoch is not None else 0,
        through=position if type(position) is int else event.event_seq,
    )
    newest = compactions.standing(hf, known)
    if newest is None or newest.event_seq < event.event_seq:
        return shown
    beside = max(0, total - talk)
    return replace(
        shown,
        tokens=beside + newest.tokens_after,
        talk=newest.tokens_after,
        stands=newest,
        came_to_nothing=0,
        through=max(shown.through, newest.through),
    )


def _latest(hf: Holdfast, info: SessionInfo | None, through: int) -> list[Event]:
    """What was said lately, and all that was said behind an event."""
    if info is None:
        return []
    whole, latest = history.window(hf, info)
    if not whole and latest and latest[0].event_seq > through + 1:
        latest = list(history.session_events(hf, info, after=through))
    return [event for event in latest if spoken(event)]


def _growth(events: Sequence[Event], turns: Turns) -> tuple[int, ...]:
    """What each of the last turns of the person's added, with all that followed it."""
    places = [n for n, event in enumerate(events) if event.kind == "user_message"][-_TURNS:]
    ends = [*places[1:], len(events)] if places else []
    return tuple(
        sum(map(turns.tokens, events[start:end])) for start, end in zip(places, ends, strict=True)
    )


# ---- what a host says ----------------------------------------------------------------------------


def reported(hf: Holdfast, info: SessionInfo) -> dict[str, Any] | None:
    """What the host of this session said last of its window."""
    for events in _backwards(hf, info):
        for event in reversed(events):
            said = event.payload if isinstance(event.payload, dict) else {}
            mine = event.kind == "signal_observed" and event.origin == "system"
            if mine and not event.erased and said.get("signal") == HEALTH:
                share = said.get("compact_at")
                if type(said.get("tokens")) is int and type(said.get("limit")) is int:
                    usual = hf.settings.compact.compact_at
                    return {**said, "compact_at": share if isinstance(share, float) else usual}
    return None


def _backwards(hf: Holdfast, info: SessionInfo) -> Iterator[list[Event]]:
    """The events of a session, the latest first, in parts that grow."""
    before, step = info.last_seq + 1, _FIRST_STEP
    while before > info.first_seq:
        after = max(before - step, info.first_seq) - 1
        yield list(history.session_events(hf, info, after=after, before=before))
        before, step = after + 1, step * 2
