"""All of something that was shown in short, within a budget; and what there is to ask for.

A text is given verbatim, as much of it as fits, and what is left has a handle: the texts of a chain of
handles, one behind the other, are the whole. Offsets count in the text as it is shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from holdfast.capture.parse import NOTES
from holdfast.compose import history, render
from holdfast.documents.whole import whole as whole_document
from holdfast.errors import Damaged, Invalid, NotFound
from holdfast.model import memories as model
from holdfast.model.documents import EVENT as DOCUMENT
from holdfast.model.events import Event
from holdfast.model.items import is_item_id
from holdfast.model.memories import Memory
from holdfast.model.packs import Expanded, Shown, Topic
from holdfast.text.passages import split
from holdfast.text.quoting import quoted
from holdfast.text.spoken import beyond, said
from holdfast.views import items
from holdfast.views import state as views
from holdfast.views.epochs import EpochView
from holdfast.views.memories import is_memory_id
from holdfast.views.view import session_key

from . import retrieve
from .asking import Asked, mended
from .bodies import payload
from .history import session_events
from .memories import now
from .packs import changed, stands
from .telling import Author, find

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

Count = Callable[[str], int]
#: a part of the conversation, as the mark in a context names it
_EVENTS = re.compile(r"events ([0-9]{1,18})-([0-9]{1,18})")
_NUMBER = re.compile(r"[0-9]{1,18}")
#: where a text goes on that did not fit
_GOES_ON = re.compile(r"(.+)@([0-9]{1,18})")
#: lines of a document, as a receipt names them: where they begin, in the first of them too
_LINES = re.compile(r"(.+):([0-9]{1,18})(?:\.([0-9]{1,18}))?-([0-9]{1,18})")
#: a body that is kept beside the log
_BODY = re.compile(r"[0-9a-f]{64}")
#: about so many characters are a token
_CHARS = 4
_BETWEEN = "\n\n"
_LATEST = 1_000


class _Whole(NamedTuple):
    """What a handle stands for: a text, and which part of it is meant."""

    #: the handle that stands for all of the text
    ref: str
    #: of the memory, event or part of a document
    id: str
    text: str
    start: int = 0
    #: where what is meant ends, though the text may go on
    end: int | None = None
    #: what should be known about it: that it holds no longer
    note: str = ""


def expand(s: Session, ref: str | int, tokens: int) -> Expanded:
    """What a handle stands for: the number of an entry, an id, or a part of the conversation."""
    if type(tokens) is not int or tokens < 1:
        raise Invalid(f"tokens must be a whole number from 1 on, not {tokens!r}")
    named = str(ref).strip().strip("[]").removesuffix("+")
    found = _GOES_ON.fullmatch(named)
    name, start = (found[1], int(found[2])) if found else (named, None)
    part = _EVENTS.fullmatch(name)
    if part is not None:
        return _conversation(s, int(part[1]), int(part[2]), start or 0, tokens)
    of = _meant(s, name)
    if start is not None:
        of = of._replace(start=start, end=None)
    if start and start >= len(of.text):
        raise NotFound(f"{name} ends before {named}: it has {len(of.text)} characters")
    shown = _beginning(of.text[of.start : of.end], tokens, s._hf.counter().count, named)
    end = of.start + len(shown)
    more = f"{of.ref}@{end}" if end < len(of.text) else ""
    size = s._hf.counter().count(shown)
    return Expanded(ref=named, id=of.id, text=shown, tokens=size, more=more, note=of.note)


def _beginning(text: str, tokens: int, count: Count, ref: str) -> str:
    """As much of a text as fits, to the end of a line, a sentence or a word where there is one."""
    fits, size = 0, min(len(text), tokens * _CHARS)
    while count(text[:size]) <= tokens:
        if size == len(text):
            return text
        fits, size = size, min(len(text), 2 * size)
    while size - fits > 1:
        middle = (fits + size) // 2
        if count(text[:middle]) <= tokens:
            fits = middle
        else:
            size = middle
    if not fits:
        raise Invalid(f"{tokens} tokens are too few for {ref}; {count(text[:1])} show a beginning")
    passages = split(text[: fits + 1], fits)
    ended = passages[0][1] if passages else text[:fits]
    return ended if count(ended) <= tokens else text[:fits]


# ---- what is meant ---------------------------------------------------------------------------


def _meant(s: Session, ref: str) -> _Whole:
    """All that a handle stands for; NotFound for what this agent may not see."""
    hf, shown = s._hf, None
    if _NUMBER.fullmatch(ref):
        shown = _shown(s, int(ref))
        if shown is None:
            raise NotFound(f"no entry {ref} is shown in this session's context")
    name = ref if shown is None else shown.id
    if is_memory_id(name):
        return _remembered(s, name)
    if is_item_id(name):
        return _kept(s, name)
    event, lines = hf.log.find(name), _LINES.fullmatch(name)
    if event is None and lines is not None:
        event = hf.log.find(lines[1])
    if event is None and _BODY.fullmatch(name):
        event = next((one for one in hf.events() if _keeps(one, name) and _may_see(s, one)), None)
    if event is None and (copy := _copied(s, name)) is not None:
        return copy
    if event is None or event.erased or not _may_see(s, event):
        raise NotFound(f"there is nothing {name!r} here to expand")
    if event.event_id == name or lines is None:
        fixes = shown.beside if shown is not None and shown.kind == "error" else ()
        return _said(hf, ref, name, event, fixes)
    return _lines(hf, name, event, lines, shown.span if shown is not None else ())


def _copied(s: Session, name: str) -> _Whole | None:
    """What left and the log cannot show any more, as its copy has it."""
    try:
        found = s._hf.cold.get(name, user=s.principal, agent=s.agent)
    except (Damaged, NotFound):
        return None
    return _Whole(ref=name, id=name, text=quoted(found.content), note=found.note)


def _may_see(s: Session, event: Event) -> bool:
    """What a person's agent said and heard, and documents, which are everybody's in the project."""
    return event.kind == DOCUMENT or (event.user, event.agent) == (s.principal, s.agent)


def _shown(s: Session, number: int) -> Shown | None:
    key = session_key(s.principal, s.agent, s.id)
    known = s._hf.views.read(lambda reading: reading.row(EpochView(), key))
    every = [one for epoch in (known.epochs if known else ()) for one in epoch.everything()]
    return next((one for one in every if one.number == number), None)


def _kept(s: Session, item_id: str) -> _Whole:
    """An item of this agent, as it stands."""
    item = s._hf.views.read(partial(items.item, user=s.principal, agent=s.agent, item_id=item_id))
    event = None if item is None else s._hf.log.find(item.event_id)
    if event is None or event.erased:
        raise NotFound(f"there is nothing {item_id!r} here to expand")
    return _Whole(ref=item_id, id=item_id, text=quoted(whole(s._hf, event)))


def _remembered(s: Session, memory_id: str) -> _Whole:
    """A memory, or what took its place, with a word about both."""
    hf, author = s._hf, Author(user=s.principal, agent=s.agent, origin="agent")
    _, memory = find(hf, memory_id, author)
    at, seen, notes = now(hf), {memory.id}, []
    while model.state(memory, at) in ("superseded", "merged"):
        after = memory.superseded_by or memory.merged_into or ""
        try:
            _, later = find(hf, after, author)
        except NotFound:
            break
        if later.id in seen:
            break
        seen.add(later.id)
        notes.append(stands(memory, at))
        memory = later
    notes.append(stands(memory, at))
    steps = [f"{n}. {step}" for n, step in enumerate(memory.steps, 1)]
    text = quoted("\n".join([memory.text, *steps]))
    return _Whole(ref=memory.id, id=memory.id, text=text, note="; ".join(filter(None, notes)))


def _said(hf: Holdfast, ref: str, name: str, event: Event, fixes: tuple[str, ...]) -> _Whole:
    """All an event says, and what was done about it."""
    body = event.event_id != name
    text = b"".join(hf.blobs.read(name)).decode("utf-8", "replace") if body else whole(hf, event)
    found = [hf.log.find(one) for one in fixes]
    then = [f"\nThen: {whole(hf, one)}" for one in found if one is not None and not one.erased]
    return _Whole(
        ref=ref if body or then else event.event_id,
        id=event.event_id,
        text=quoted("".join([text, *then])),
        note=changed(hf, event, now(hf)),
    )


def _lines(
    hf: Holdfast, name: str, event: Event, lines: re.Match[str], span: tuple[int, ...]
) -> _Whole:
    """Lines of a document; what stands behind them is what is left."""
    text = whole(hf, event)
    begins = [0, *(end.end() for end in re.finditer("\n", text)), len(text)]
    first, last = (min(int(lines[n]), len(begins) - 1) for n in (2, 4))
    start = min(begins[max(first, 1) - 1] + int(lines[3] or 0), len(text))
    start, end = span or (start, max(start, begins[last]))
    return _Whole(
        ref=event.event_id,
        id=name,
        text=quoted(text),
        start=len(quoted(text[:start])),
        end=len(quoted(text[:end])),
        note=changed(hf, event, now(hf)),
    )


def _keeps(event: Event, body: str) -> bool:
    """Does an event keep one of its texts under that name?"""
    notes = event.payload.get(NOTES) if isinstance(event.payload, dict) else None
    named = notes if isinstance(notes, list) else ()
    return any(isinstance(note, dict) and note.get("blob") == body for note in named)


def whole(hf: Holdfast, event: Event) -> str:
    """All an event says, from its body where it is too long for the line."""
    if event.kind == DOCUMENT:
        return whole_document(event, hf.log, hf.library.tell)
    try:
        return b"".join(hf.body(event)).decode("utf-8", "replace")
    except NotFound:
        if not beyond(event):
            return said(event)
    try:
        return said(replace(event, payload=payload(hf, event)))
    except Damaged:
        return said(event)


# ---- the conversation ------------------------------------------------------------------------


def _conversation(s: Session, first: int, last: int, start: int, tokens: int) -> Expanded:
    """Turns of this session, one behind the other; where the next part begins is named by its event."""
    ref, count = f"events {first}-{last}", s._hf.counter().count
    text, places, size, all_read = "", list[tuple[int, int]](), 0, False
    for event in _between(s, first, last):
        if size > tokens:
            break
        text += _BETWEEN if places else ""
        places.append((len(text), event.event_seq))
        text += render.turn(event, said(event), whole=not beyond(event)).text
        size += count(text[max(start, places[-1][0]) :])
    else:
        all_read = True
    if not places:
        raise NotFound(f"nothing was said between event {first} and event {last} of this session")
    if start and start >= len(text):
        raise NotFound(f"{ref} ends before {start}: it has {len(text)} characters")
    shown = _beginning(text[start:], tokens, count, ref)
    end, more = start + len(shown), ""
    if end < len(text) or not all_read:
        place, seq = next(one for one in reversed(places) if one[0] <= end)
        more = f"events {seq}-{last}@{end - place}"
    return Expanded(ref=ref, id="", text=shown, tokens=count(shown), more=more)


def _between(s: Session, first: int, last: int) -> Iterator[Event]:
    hf = s._hf
    of = hf.views.read(lambda reading: views.info(reading, s.principal, s.agent, s.id))
    if of is None:
        return
    for event in session_events(hf, of, after=max(0, first - 1), before=last + 1):
        if history.spoken(event):
            yield event


# ---- what there is ---------------------------------------------------------------------------


def topics(hf: Holdfast, asked: Asked, most: int) -> list[Topic]:
    """What memories are about, the most often named first: tags, subjects, keys."""
    if type(most) is not int or most < 1:
        raise Invalid(f"the number of topics is a whole number from 1 on, not {most!r}")
    found = mended(hf, asked, lambda: retrieve.labelled(hf, asked, [("what:memory",)], _LATEST)[0])
    named: Counter[str] = Counter()
    ids: dict[str, list[str]] = {}
    for memory, _ in found:
        for name in dict.fromkeys(_names(memory)):
            named[name] += 1
            ids.setdefault(name, []).append(memory.id)
    order = sorted(named, key=lambda name: (-named[name], name))[:most]
    return [Topic(name=name, memories=named[name], ids=tuple(ids[name][:10])) for name in order]


def _names(memory: Memory) -> list[str]:
    names = [*memory.tags, memory.subject, memory.key, memory.applies_to, memory.title]
    return [" ".join(name.split()) for name in names if name.strip()] or [memory.index]
