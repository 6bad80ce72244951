"""Going back to a checkpoint: its window, its scratchpad, its items; what came since keeps its handles.

What always holds: every event behind the checkpoint lies in a span with a handle, one that was there or
a new one of so many tokens at most; a chunk that is in the window again is cold no more, and what leaves
with going back is cold; all of it is one batch, so whatever dies before it leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from holdfast.capture.stamp import fresh_id
from holdfast.compact import naming
from holdfast.compact.chunks import Chunk, chunks
from holdfast.compact.planning import left_with_it, let_go
from holdfast.compose import history, render
from holdfast.compose.history import Turns
from holdfast.errors import Conflict
from holdfast.model.compactions import RESTORE, Compaction, Decided, Past, SavedContext, Span
from holdfast.model.events import Draft, Event
from holdfast.model.items import UNIT, ContextItem
from holdfast.model.sessions import Scratchpad
from holdfast.views.items import ITEMS, MOST_IDS
from holdfast.views.scratchpad import Scratchpads

from . import compactions, keeping, situation
from .compacting import summed
from .history import at, session_events
from .items import text_of
from .windows import Held, holding, limit_in, turns_for

if TYPE_CHECKING:
    from .session import Session

#: so often another compaction of the same session may be faster
_MOST_TRIES = 10
#: tokens of the names of one line
_LINE = 40
#: events that are named: the latest; a line for what lies before them is without names
_MOST_NAMED = 9_000


def resumed(s: Session, saved: SavedContext, checkpoint: Event) -> Compaction:
    """Go back; Conflict when the session is compacted all the time."""
    limit = limit_in(s, None, "")
    turns = turns_for(s._hf, "", limit)
    for _ in range(_MOST_TRIES):
        now = holding(s, turns, "", limit)
        made, sources = _window(s, saved, now, turns)
        pad = fresh_id("evt")
        drafts = [
            _draft(
                s,
                "compacted",
                compactions.said(s._hf, made, s._hf.settings.compact),
                event_id=made.id,
                sources=tuple(dict.fromkeys(filter(None, (checkpoint.event_id, *sources)))),
            ),
            *_notes(s, checkpoint, pad),
            *_items(s, checkpoint),
        ]
        recorded = s._hf.record(drafts)
        lost = any(draft.event_id == pad for draft in drafts) and pad not in s.scratchpad().winners
        if s._hf.cold.known.of(recorded[0]) is not None and not lost:
            return made
    raise Conflict("this session is compacted all the time; try again")


def _draft(s: Session, kind: str, payload: dict[str, Any], **more: Any) -> Draft:
    return Draft(
        type=kind,
        payload=payload,
        origin=more.pop("origin", "system"),
        session_id=s.id,
        agent=s.agent,
        user=s.principal,
        **more,
    )


# ---- the window ------------------------------------------------------------------------------


def _window(
    s: Session, saved: SavedContext, now: Held, turns: Turns
) -> tuple[Compaction, list[str]]:
    """The compaction that shows the window again, and the ids of the events it was made from."""
    past, count = saved.past, s._hf.counter().count
    stays = set(past.kept)
    since = [one for one in situation.spoken_in(s, saved.position) if history.spoken(one)]
    past = _with(past, now.past, since, turns, (saved.position, s._hf.settings.compact.span_tokens))
    past = replace(past, lines=_told(past.lines, saved.position, count))
    away = [event for event in now.events if event.event_seq not in stays]
    spans = [part for _, part in render.past(past)]
    before = [part for _, part in render.past(saved.past)]
    grown = count(render.text_of(spans)) if spans else 0
    grown -= count(render.text_of(before)) if before else 0
    gone = [one for one in let_go(now.past, past) if one.seqs[0] not in stays]
    made = Compaction(
        id=fresh_id("evt"),
        event_seq=0,
        at="",
        strategy=RESTORE,
        trigger=saved.id,
        prompt="",
        through=max(
            [saved.position, now.known.through, *(one.event_seq for one in (*since, *now.events))]
        ),
        after=now.known.past,
        tokens_before=now.talk,
        tokens_after=max(0, saved.tokens + grown),
        window=None,
        past=compactions.cleaned(s._hf, past),
        decided=(
            *left_with_it(gone),
            *_decided(s, {*stays, *summed(past)}, chunks(away, turns.tokens)),
        ),
    )
    more = at(s._hf, sorted(seq for one in gone for seq in one.seqs))
    named = {event.event_id: None for event in (*more, *away, *since[-_MOST_NAMED:])}
    return made, [now.known.past, *list(named)[-_MOST_NAMED:]]


def _with(
    past: Past, now: Past, since: Sequence[Event], turns: Turns, bounds: tuple[int, int]
) -> Past:
    """A window as it was saved, with a span for everything that came since."""
    position, most = bounds
    lines = [one for one in now.lines if one.first > position]
    shorts = [one for one in now.shorts if one.first > position]
    there = sorted((one.first, one.last) for one in (*lines, *shorts))
    free: list[list[Event]] = [[]]
    for event in since:
        while there and there[0][1] < event.event_seq:
            there.pop(0)
            free.append([])
        if not there or event.event_seq < there[0][0]:
            free[-1].append(event)
    named = {event.event_id for event in since[-_MOST_NAMED:]}
    for run in free:
        by_place = {event.event_seq: event for event in run}
        for some in _pieces(chunks(run, turns.tokens), most):
            events = [by_place[seq] for one in some for seq in one.seqs]
            lines.append(
                Span(
                    first=some[0].first,
                    last=some[-1].last,
                    tokens=sum(one.tokens for one in some),
                    facts=naming.facts(event for event in events if event.event_id in named),
                )
            )
    return replace(
        past,
        lines=(*past.lines, *sorted(lines, key=lambda one: one.first)),
        shorts=(*past.shorts, *shorts),
    )


def _pieces(given: Sequence[Chunk], most: int) -> Iterator[list[Chunk]]:
    """Chunks in a row of so many tokens at most; a longer one is alone."""
    some: list[Chunk] = []
    for chunk in given:
        if some and sum(one.tokens for one in some) + chunk.tokens > most:
            yield some
            some = []
        some.append(chunk)
    if some:
        yield some


def _told(lines: Sequence[Span], position: int, count: Any) -> tuple[Span, ...]:
    """The lines, those behind a position with what they name."""
    new = [one for one in lines if one.first > position]
    sheet = naming.Sheet(room=_LINE * len(new))
    texts = naming.lines([one.facts for one in new], sheet, count)
    told = [replace(one, text=text) for one, text in zip(new, texts, strict=True)]
    return (*(one for one in lines if one.first <= position), *told)


def _decided(s: Session, stays: set[int], away: Sequence[Chunk]) -> tuple[Decided, ...]:
    """What came back into the window, and what left it."""
    whose = (s.principal, s.agent, s.id)
    back = [
        Decided(
            id=one.id,
            first=one.first,
            last=one.last,
            tokens=one.tokens,
            verdict="keep",
            why="came back",
            score=one.score,
        )
        for one in s._hf.cold.known.holding(whose, stays)
        if one.first in stays
    ]
    left = [
        Decided(
            id=one.id,
            first=one.first,
            last=one.last,
            tokens=one.tokens,
            verdict="drop",
            why="said since",
        )
        for one in away
    ]
    return tuple(sorted((*back, *left), key=lambda one: one.first))


# ---- notes and items ---------------------------------------------------------------------------


def _notes(s: Session, checkpoint: Event, event_id: str) -> list[Draft]:
    """The change that makes the scratchpad say what it said."""
    view, then, now = Scratchpads(), Scratchpad(), s.scratchpad()
    if now.version:
        (key,) = view.keys(checkpoint)
        for event in session_events(s._hf, s.info(), before=checkpoint.event_seq):
            if event.kind in view.kinds and not event.erased:
                then = view.apply({key: then}, event).get(key, then)
    changes = _patch(now.content, then.content)
    if not changes:
        return []
    said = {"state": changes, "expect": now.version}
    sources = (checkpoint.event_id,)
    return [_draft(s, "state_updated", said, origin="agent", event_id=event_id, sources=sources)]


def _patch(now: Mapping[str, Any], then: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch from one to the other."""
    changes: dict[str, Any] = {name: None for name in now if name not in then}
    for name, value in then.items():
        before = now.get(name)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            if inner := _patch(before, value):
                changes[name] = inner
        elif name not in now or before != value:
            changes[name] = value
    return changes


def _items(s: Session, checkpoint: Event) -> list[Draft]:
    """What makes the items say what they said, as warm as they were; those saved since stay.

    So do those that were changed since by anything but this session: nobody's work is taken back.
    """
    now = {one.id: one for one in keeping.rows(s)}
    then, others = _items_at(s, checkpoint) if now else ({}, set())
    for item in sorted(others & then.keys()):
        named = f"{item} ({then[item].index!r})"
        s._hf.tell(f"{named} was changed since by somebody else; going back left it as it is")
    then = {item: one for item, one in then.items() if item not in others}
    drafts, tiers = [], dict[str, dict[str, Any]]()
    for one in (then[item] for item in sorted(then) if item in now):
        other = now[one.id]
        assigned = {"tier": one.tier, "score": round(one.score * UNIT)}
        said = {n: getattr(one, n) for n in _ABOUT if getattr(one, n) != getattr(other, n)}
        if "tags" in said:
            said["tags"] = list(one.tags)
        if (one.sha256, one.type) != (other.sha256, other.type):
            text = text_of(s._hf, one) if one.cut else one.text
            if text is not None:
                index = one.index
                said |= {"text": text, "item_type": one.type, "sha256": one.sha256, "index": index}
        if said:
            sources = (checkpoint.event_id, one.event_id)
            payload = {"item": one.id, **said, **assigned}
            drafts.append(_draft(s, "item_saved", payload, origin="agent", sources=sources))
        elif (one.tier, one.score) != (other.tier, other.score):
            tiers[one.id] = {**assigned, "state": other.state}
    some = list(tiers.items())
    for n in range(0, len(some), MOST_IDS):
        payload = {"tiers": dict(some[n : n + MOST_IDS]), "why": RESTORE}
        drafts.append(_draft(s, "tiers_assigned", payload, sources=(checkpoint.event_id,)))
    return drafts


_ABOUT = ("importance", "pinned", "important", "tags")


def _items_at(s: Session, checkpoint: Event) -> tuple[dict[str, ContextItem], set[str]]:
    """The items of this agent as they were at a checkpoint, and those that others changed since."""
    rows: dict[str, ContextItem] = {}
    others: set[str] = set()
    for event in s._hf.events():
        mine = (event.user, event.agent) == (s.principal, s.agent)
        if not mine or event.kind not in ITEMS.kinds or event.erased:
            continue
        keys = ITEMS.keys(event)
        if event.event_seq < checkpoint.event_seq:
            rows |= ITEMS.apply({key: rows.get(key) for key in keys}, event)
        elif event.kind == "item_saved" and event.session_id != s.id:
            others |= {rows[key].id for key in keys if key in rows}
    return {one.id: one for one in rows.values()}, others
