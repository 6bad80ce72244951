"""Saving a whole working context at once, going on with what is hot, and coming back to it.

What always holds: the checkpoint is recorded before anything leaves the window, so whatever dies in
between loses nothing; what it names is in the log, so any checkpoint can be gone back to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec.structs import replace

from holdfast.capture.stamp import fresh_id
from holdfast.compact import naming
from holdfast.errors import Damaged, NotFound
from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Compaction, FlashSave, SavedContext, Span
from holdfast.model.events import Draft, Event

from . import compactions, nested
from .bodies import payload
from .compacting import Compactor, Room
from .windows import Held, holding, limit_of, turns_for

if TYPE_CHECKING:
    from .session import Session

_WHAT = "flash save"


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
        limit = limit_of(hf, window, model)
        turns = turns_for(hf, model, limit)
        s.items.update_tiers(why=_WHAT)
        held = holding(s, turns, model)
        saved = _saved(s, held, trigger)
        chosen = _hot_only(hf.settings.compact)
        room = Room(tokens=int(chosen.compact_to * limit), window=limit)
        made = Compactor(s, turns, hf.counter(model).count, chosen).compact("", room, _WHAT)
        hf.activity.follow()
        tiers = list(saved.tiers.values())
        return FlashSave(
            checkpoint_id=saved.id,
            items_archived=tiers.count("COLD"),
            hot_items_retained=tiers.count("HOT"),
            tokens_before=held.talk,
            tokens_after=made.tokens_after if made else held.talk,
            compaction=made.id if made else "",
        )

    def checkpoint(self, trigger: str = "asked") -> SavedContext:
        """Save the whole working context, and leave it as it is."""
        s = cast("Session", self)
        s.check()
        limit = limit_of(s._hf, None, "")
        return _saved(s, holding(s, turns_for(s._hf, "", limit)), trigger)

    def saved_context(self, checkpoint_id: str) -> SavedContext:
        """A working context as it was saved; NotFound where this session has no such checkpoint."""
        s = cast("Session", self)
        event = s._hf.log.find(checkpoint_id) if isinstance(checkpoint_id, str) else None
        whose = (s.principal, s.agent, s.id)
        if event is None or event.erased or (event.user, event.agent, event.session_id) != whose:
            raise NotFound(f"this session has no checkpoint {checkpoint_id}")
        return _read(s, event)

    def resume_from(self, checkpoint_id: str) -> Compaction:
        """Go back to a working context that was saved: its window again, what came since in a line."""
        s = cast("Session", self)
        saved = self.saved_context(checkpoint_id)
        now = holding(s, turns_for(s._hf, "", limit_of(s._hf, None, "")))
        since = [event for event in now.events if event.event_seq > saved.position]
        last = now.events[-1].event_seq if now.events else saved.position
        past = saved.past
        if since:
            left = Span(
                first=since[0].event_seq,
                last=last,
                tokens=now.talk,
                text=naming.lines([naming.facts(since)], _SINCE, s._hf.counter().count)[0],
                facts=naming.facts(since),
            )
            past = replace(past, lines=(*past.lines, left))
        made = Compaction(
            id=fresh_id("evt"),
            event_seq=0,
            at="",
            strategy="restore",
            trigger=checkpoint_id,
            prompt="",
            through=max(last, saved.position),
            after=now.known.past,
            tokens_before=now.talk,
            tokens_after=saved.tokens,
            window=None,
            past=past,
            decided=(),
        )
        _record(
            s,
            "compacted",
            compactions.said(s._hf, made, s._hf.settings.compact),
            made.id,
            checkpoint_id,
        )
        return made


#: tokens of the line for what came after a checkpoint that was gone back to
_SINCE = 200


def _hot_only(settings: CompactSettings) -> CompactSettings:
    """Settings under which only what must stay stays."""
    return replace(settings, strategy="adaptive", recent=1, keep=1.0, drop=1.0)


def _saved(s: Session, held: Held, trigger: str) -> SavedContext:
    """Write down everything the working context is made of."""
    events = held.events
    past = replace(held.past, kept=tuple(event.event_seq for event in events))
    items = s.items.list()
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
    said = {
        "what": _WHAT,
        "trigger": trigger,
        "position": made.position,
        "tokens": made.tokens,
        "scratchpad": made.scratchpad,
        "context": nested.text(s._hf, made),
    }
    _record(s, "checkpoint_saved", said, made.id, held.known.past)
    return made


def _record(s: Session, kind: str, said: dict[str, Any], event_id: str, source: str) -> None:
    s._hf.record(
        [
            Draft(
                type=kind,
                payload=said,
                origin="system",
                session_id=s.id,
                agent=s.agent,
                user=s.principal,
                event_id=event_id,
                sources=(source,) if source else (),
            )
        ]
    )


def _read(s: Session, event: Event) -> SavedContext:
    said = payload(s._hf, event)
    if event.kind != "checkpoint_saved" or "context" not in said:
        raise NotFound(
            f"{event.event_id} is a checkpoint of a host; it saved no working context here"
        )
    try:
        return msgspec.json.decode(said["context"], type=SavedContext)
    except (msgspec.MsgspecError, TypeError) as exc:
        raise Damaged(f"the checkpoint {event.event_id} cannot be read: {exc}") from exc
