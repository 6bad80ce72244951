"""All of something that was shown in short, within a budget; and what there is to ask for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from holdfast.compose import history, render
from holdfast.compose.items import said
from holdfast.errors import Invalid, NotFound
from holdfast.model.events import Event
from holdfast.model.memories import Memory
from holdfast.model.packs import Expanded, Shown, Topic
from holdfast.text.passages import split
from holdfast.text.quoting import quoted
from holdfast.views import knowledge
from holdfast.views import state as views
from holdfast.views.epochs import EpochView
from holdfast.views.memories import is_memory_id
from holdfast.views.view import session_key

from . import retrieve
from .asking import Asked, mended
from .history import session_events
from .showing import Showing
from .telling import Author, find

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

#: a part of the conversation, as the mark in a context names it
_EVENTS = re.compile(r"events (\d+)-(\d+)")
#: where a text goes on that did not fit
_GOES_ON = re.compile(r"(.+)@(\d+)")
#: a text is given in pieces that end where a line, a sentence or a word does
_PIECE = 400
_LATEST = 1_000


def expand(s: Session, ref: str | int, tokens: int) -> Expanded:
    """What a handle stands for: the number of an entry, an id, or a part of the conversation."""
    if type(tokens) is not int or tokens < 1:
        raise Invalid(f"tokens must be a whole number from 1 on, not {tokens!r}")
    named = str(ref).strip().strip("[]").removesuffix("+")
    found = _GOES_ON.fullmatch(named)
    whole, start = (found[1], int(found[2])) if found else (named, 0)
    part = _EVENTS.fullmatch(whole)
    if part is not None:
        return _conversation(s, int(part[1]), int(part[2]), tokens)
    of, text = _text(s, whole)
    return _cut(s, whole, of, quoted(text), start, tokens)


def _text(s: Session, ref: str) -> tuple[str, str]:
    """The id of what is meant, and all it says."""
    hf = s._hf
    shown = _shown(s, int(ref)) if ref.isdigit() else None
    if shown is not None:
        ref = shown.id
    elif ref.isdigit():
        raise NotFound(f"no entry {ref} is shown in this session's context")
    if is_memory_id(ref):
        author = Author(user=s.principal, agent=s.agent, origin="agent")
        home, memory = find(hf, ref, author)
        return ref, _told(_standing(home, memory))
    if shown is not None and shown.kind == "document":
        return ref, Showing(hf, s.principal).item(shown).levels[0]
    event = hf.log.find(ref)
    if event is None or event.erased or not _may_see(s, event):
        raise NotFound(f"there is nothing {ref!r} here to expand")
    return ref, whole(hf, event)


def _may_see(s: Session, event: Event) -> bool:
    """What a person's agent said and heard, and documents, which are everybody's in the project."""
    return event.kind == "document_indexed" or (event.user, event.agent) == (s.principal, s.agent)


def _shown(s: Session, number: int) -> Shown | None:
    key = session_key(s.principal, s.agent, s.id)
    known = s._hf.views.read(lambda reading: reading.row(EpochView(), key))
    every = [one for epoch in (known.epochs if known else ()) for one in epoch.everything()]
    return next((one for one in every if one.number == number), None)


def _standing(home: Holdfast, memory: Memory) -> Memory:
    """What took the place of a memory, if something did."""
    seen = {memory.id}
    while (after := memory.superseded_by or memory.merged_into) and after not in seen:
        seen.add(after)
        later = home.views.read(partial(knowledge.memory, memory_id=after))
        if later is None:
            break
        memory = later
    return memory


def _told(memory: Memory) -> str:
    steps = [f"{n}. {step}" for n, step in enumerate(memory.steps, 1)]
    return "\n".join([memory.text, *steps])


def whole(hf: Holdfast, event: Event) -> str:
    """All an event says, from its body where it is too long for the line."""
    try:
        return b"".join(hf.body(event)).decode("utf-8", "replace")
    except NotFound:
        return said(event)


def _cut(s: Session, ref: str, of: str, text: str, start: int, tokens: int) -> Expanded:
    """As much of a text as fits, from an offset on; what is left has a handle of its own."""
    count, rest = s._hf.counter().count, text[start:]
    if count(rest) <= tokens:
        return Expanded(ref=ref, id=of, text=rest, tokens=count(rest))
    pieces = [place for place, _ in split(rest, _PIECE)][1:]
    low, high = 0, len(pieces)
    while low < high:
        middle = (low + high + 1) // 2
        if count(_marked(rest[: pieces[middle - 1]], ref, start + pieces[middle - 1])) <= tokens:
            low = middle
        else:
            high = middle - 1
    if not low:
        raise Invalid(f"{tokens} tokens are too few to show a piece of {ref}")
    end = pieces[low - 1]
    shown = _marked(rest[:end], ref, start + end)
    return Expanded(ref=ref, id=of, text=shown, tokens=count(shown), more=f"{ref}@{start + end}")


def _marked(text: str, ref: str, at: int) -> str:
    return f"{text.rstrip()} … [more: {ref}@{at}]"


def _conversation(s: Session, first: int, last: int, tokens: int) -> Expanded:
    """Turns of this session, as many as fit."""
    count = s._hf.counter().count
    turns = history.Turns(max(1, tokens // 2), count)
    parts: list[render.Part] = []
    size, more = 0, ""
    for event in _between(s, first, last):
        part = turns.part(event)
        size += turns.tokens(event)
        if parts and size > tokens:
            more = f"events {event.event_seq}-{last}"
            break
        parts.append(part)
    if not parts:
        raise NotFound(f"nothing was said between event {first} and event {last} of this session")
    text = render.text_of(parts)
    return Expanded(ref=f"events {first}-{last}", id="", text=text, tokens=count(text), more=more)


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
