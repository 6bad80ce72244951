"""Saving a whole working context at once, going on with what is hot, and coming back to it.

What always holds: the checkpoint is recorded before anything leaves the window, so whatever dies in
between loses nothing; what it names is in the log, so any checkpoint can be gone back to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec.structs import replace

from holdfast.capture.stamp import fresh_id
from holdfast.compact.planning import Count
from holdfast.compact.room import Room
from holdfast.compose.history import Turns
from holdfast.errors import Damaged, Invalid, NotFound
from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Compaction, FlashSave, SavedContext
from holdfast.model.events import Draft, Event
from holdfast.model.sessions import Checkpoint
from holdfast.views import state as views

from . import compactions, keeping, nested, resuming
from .bodies import payload
from .compacting import Compactor
from .compactions import PRESSURE
from .windows import Held, holding, limit_in, room_in, turns_for

if TYPE_CHECKING:
    from .session import Session

_WHAT = "flash save"
#: events one checkpoint names as its sources: the latest, those before them are named by compactions
_MOST_SOURCES = 9_000


class SessionFlash:
    """Verbs about checkpoints of a session's working context."""

    def flash_save(
        self, *, window: int | None = None, model: str = "", trigger: str = "asked"
    ) -> FlashSave:
        """Save the whole working context, and go on with what is hot: one checkpoint, then a compaction.

        Items are weighed anew; cold ones are archived. Of the conversation stays what is pinned,
        important, decided, an instruction, asked last or said last.
        """
        s = cast("Session", self)
        s.check()
        hf = s._hf
        limit = limit_in(s, window, model)
        turns, count = turns_for(hf, model, limit), hf.counter(model).count
        before = _weighed(s, turns, model, limit)
        saved = _saved(s, before, trigger)
        room = room_in(limit, hf.settings.compact)
        hot = _to_what_is_hot(hf.settings.compact)
        made = Compactor(s, turns, count, hot, limit).compact("", room, _WHAT)
        hf.activity.follow()
        tiers = list(saved.tiers.values())
        return FlashSave(
            checkpoint_id=saved.id,
            items_archived=tiers.count("COLD"),
            hot_items_retained=tiers.count("HOT"),
            tokens_before=before.talk,
            tokens_after=made.tokens_after if made else before.talk,
            compaction=made.id if made else "",
        )

    def checkpoint(self, trigger: str = "asked") -> SavedContext:
        """Save the whole working context, and leave it as it is."""
        s = cast("Session", self)
        s.check()
        limit = limit_in(s, None, "")
        return _saved(s, holding(s, turns_for(s._hf, "", limit), "", limit), trigger)

    def checkpoints(self) -> list[Checkpoint]:
        """The latest working contexts that were saved, the last one first: what `resume_from` takes."""
        s = cast("Session", self)
        s.check()
        points = s._hf.views.read(
            lambda reading: views.checkpoints(reading, s.principal, s.agent, s.id)
        )
        return list(reversed(points))

    def saved_context(self, checkpoint: str | int) -> SavedContext:
        """A working context as it was saved; NotFound where this session has no such checkpoint."""
        s = cast("Session", self)
        return _read(s, _event(s, checkpoint))

    def resume_from(self, checkpoint: str | int) -> Compaction:
        """Go back to a working context that was saved, by the id or the place of its checkpoint.

        The window shows again what it showed, and a line for what came since; the scratchpad and the
        items that were there are as they were. All of it is recorded as new events: nothing is lost.
        """
        s = cast("Session", self)
        event = _event(s, checkpoint)
        made = resuming.resumed(s, _read(s, event), event)
        s._hf.cold.take(made.id)
        s._hf.activity.follow()
        return compactions.recorded(s._hf, made)


def flashed(
    s: Session, turns: Turns, count: Count, settings: CompactSettings, prompt: str, room: Room
) -> Compaction | None:
    """The same as a context does it by itself, in the middle of some work: its last items stay.

    None, and nothing is saved, when nothing would leave.
    """
    limit = room.window
    compactor = Compactor(s, turns, count, _to_what_is_hot(settings, settings.recent), limit)
    return compactor.compact(
        prompt, room, PRESSURE, first=lambda: _saved(s, _weighed(s, turns, "", limit), PRESSURE)
    )


def _to_what_is_hot(settings: CompactSettings, recent: int = 1) -> CompactSettings:
    """By these, only what must stay stays."""
    return replace(settings, strategy="adaptive", recent=recent, keep=1.0, drop=1.0)


def _weighed(s: Session, turns: Turns, model: str, limit: int) -> Held:
    """What the window holds; items are weighed anew, so that what is cold is archived."""
    s.items.update_tiers(why=_WHAT)
    return holding(s, turns, model, limit)


def _saved(s: Session, held: Held, trigger: str) -> SavedContext:
    """Write down everything the working context is made of."""
    events = held.events
    past = replace(held.past, kept=tuple(event.event_seq for event in events))
    items = keeping.rows(s)
    made = SavedContext(
        id=fresh_id("evt"),
        position=events[-1].event_seq if events else held.known.through,
        trigger=trigger,
        tokens=held.talk,
        past=past,
        items={item.id: item.sha256 for item in items},
        tiers={item.id: item.tier for item in items},
        scratchpad=s.scratchpad().version,
    )
    said: dict[str, Any] = {
        "what": _WHAT,
        "trigger": trigger,
        "position": made.position,
        "tokens": made.tokens,
        "scratchpad": made.scratchpad,
        "context": nested.text(s._hf, made),
    }
    named = [event.event_id for event in events[-_MOST_SOURCES:]]
    s._hf.record(
        [
            Draft(
                type="checkpoint_saved",
                payload=said,
                origin="system",
                session_id=s.id,
                agent=s.agent,
                user=s.principal,
                event_id=made.id,
                sources=tuple(filter(None, (held.known.past, *named))),
            )
        ]
    )
    return made


def _event(s: Session, checkpoint: str | int) -> Event:
    """The event of a checkpoint of this session."""
    log, event = s._hf.log, None
    if isinstance(checkpoint, str):
        event = log.find(checkpoint)
    elif type(checkpoint) is int and checkpoint > 0:
        event = next((e for e in log.read(checkpoint - 1) if isinstance(e, Event)), None)
        event = event if event is not None and event.event_seq == checkpoint else None
    elif type(checkpoint) is not int:
        raise Invalid(f"a checkpoint is known by its id or its event_seq, not {checkpoint!r}")
    whose = (s.principal, s.agent, s.id)
    if event is None or event.erased or (event.user, event.agent, event.session_id) != whose:
        raise _no_checkpoint(checkpoint)
    return event


def _no_checkpoint(named: str | int) -> NotFound:
    return NotFound(
        f"this session has no checkpoint {named}; `holdfast session checkpoints` lists them"
    )


def _read(s: Session, event: Event) -> SavedContext:
    said = payload(s._hf, event)
    if event.kind != "checkpoint_saved":
        raise _no_checkpoint(event.event_id)
    if "context" not in said:
        raise NotFound(
            f"{event.event_id} is a checkpoint of a host; it saved no working context here"
        )
    try:
        return msgspec.json.decode(said["context"], type=SavedContext)
    except (msgspec.MsgspecError, TypeError) as exc:
        raise Damaged(f"the checkpoint {event.event_id} cannot be read: {exc}") from exc
