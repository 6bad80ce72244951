"""What can be shown: a memory, a turn, an error with its fix, a document, each at four levels.

An item is made from the log alone, so the same record gives the same item for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.model.documents import place_of
from holdfast.model.events import Event
from holdfast.model.memories import Memory, levels_from
from holdfast.text.choose import MARK
from holdfast.text.excerpt import excerpt
from holdfast.text.levels import Levels, levels, shown_as
from holdfast.text.levels import whole as with_steps
from holdfast.text.spoken import PERSON, beyond, said, shortened_as, speaker

#: raised when an item of the same record would be another one; earlier ways are kept for replay
RULES = 1
_DATE = len("2026-01-01")
#: characters within which a passage that is a part says so, behind a fence and a language
_EDGE = 24
#: files that are read, not run
_PROSE = (
    ".md",
    ".markdown",
    ".mdx",
    ".rst",
    ".txt",
    ".adoc",
    ".sql",
    ".json",
    ".yaml",
    ".yml",
    ".toml",
)


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be shown."""

    #: memory, turn, document, item, error, correction or topic
    kind: str
    #: of the memory, of the item or of the event
    id: str
    #: the event that made it say this
    seq: int
    #: who says so and since when
    head: str
    levels: tuple[str, ...]
    trust: int
    project: str = ""
    beside: tuple[str, ...] = ()
    #: the passage of the whole text that stands for it
    span: tuple[int, ...] = ()
    #: there is more of it than its first level says
    part: bool = False
    #: a rule of a person's own: it may stand among instructions
    rule: bool = False


def of_memory(memory: Memory, project: str = "", *, whole: bool = False) -> Item:
    """One memory, as it stands; whole where no shorter levels are needed."""
    where = f" for {memory.applies_to}" if memory.applies_to else ""
    return Item(
        kind="memory",
        id=memory.id,
        seq=memory.history[-1].event_seq,
        head=f"{_source(memory)}{where} {memory.updated_at[:_DATE]}",
        levels=(_whole(memory),) * 4 if whole else falling(_levels(memory)),
        trust=memory.trust,
        project=project,
        rule=memory.trust == PERSON and memory.category in ("rules", "preferences"),
    )


def _whole(memory: Memory) -> str:
    """All it says, its steps too."""
    return with_steps(memory.text, memory.trigger or memory.title or memory.key, memory.steps)


def _levels(memory: Memory) -> list[str]:
    """The levels it was given; where it was given none, and its text was merely cut, those by rule."""
    given = [memory.text, memory.summary, memory.compressed, memory.index]
    if memory.index == memory.text and not memory.steps:
        return given
    made = levels(
        memory.kind,
        memory.text,
        key=memory.key,
        value=memory.value,
        applies_to=memory.applies_to,
        title=memory.title,
        steps=memory.steps,
        trigger=memory.trigger,
    )
    if (memory.summary, memory.compressed, memory.index) != levels_from(memory.text):
        return [made.full, *given[1:]]
    return _each(made)


def _source(memory: Memory) -> str:
    who = (memory.user if memory.trust == PERSON else memory.origin) or "somebody"
    return who if memory.kind == "fact" else f"{memory.kind} from {who}"


def of_event(
    event: Event,
    span: tuple[int, ...] = (),
    kind: str = "turn",
    project: str = "",
    *,
    whole: bool = False,
) -> Item:
    """One turn of a conversation; with a span, that passage stands for all of it."""
    text = said(event)
    passage = excerpt(text, *span) if span else text
    return Item(
        kind=kind,
        id=event.event_id,
        seq=event.event_seq,
        head=f"{speaker(event)} {event.timestamp[:_DATE]}",
        levels=_of_text(shortened_as(event), passage, whole=whole),
        trust=event.trust,
        project=project,
        span=span,
        part=bool(span) or beyond(event),
    )


def _of_text(kind: str, text: str, *, whole: bool) -> tuple[str, ...]:
    return (text,) * 4 if whole else falling(_each(shown_as(kind, text)))


def of_document(
    event: Event, part: str, passage: str, span: tuple[int, ...], *, whole: bool = False
) -> Item:
    """A part of a document, known by its file and its lines."""
    given = event.payload if isinstance(event.payload, dict) else {}
    path = str(given.get("path", ""))
    _, line, line_end = place_of(part)
    prose = path.lower().endswith(_PROSE)
    return Item(
        kind="document",
        id=part,
        seq=event.event_seq,
        head=f"file {path}:{line}-{line_end} {event.timestamp[:_DATE]}",
        levels=_of_text("document" if prose else "code", passage, whole=whole),
        trust=event.trust,
        span=span,
        part=MARK in passage[:_EDGE] + passage[-_EDGE:],
    )


def passage(event: Event, shown: str) -> tuple[int, ...]:
    """Where a passage lies in what an event says; nothing where it is all of it, or lies elsewhere."""
    text, words = said(event), event.words
    start, shift = text.find(shown), words.find(text)
    if start < 0:  # it was found in all the words of an event, its tool's name among them
        start = words.find(shown) - shift if shown in words and shift >= 0 else -1
        start, shown = max(0, start), shown[max(0, -start) :] if start < 0 else shown
        if not shown.strip() or not text[start : start + len(shown)].strip():
            return ()
    end = min(len(text), start + len(shown))
    return () if end - start >= len(text.strip()) else (start, end)


def of_error(event: Event, fix: Event | None) -> Item:
    """An error, and what was done about it."""
    item = of_event(event, kind="error")
    if fix is None:
        return item
    then = _each(shown_as("turn", said(fix)))
    both = [f"{one}\nThen: {other}" for one, other in zip(item.levels, then, strict=False)]
    return msgspec.structs.replace(item, levels=falling(both), beside=(fix.event_id,))


def topic(memory: Memory, project: str = "") -> Item:
    """The name of a memory, to be asked for; who calls it so, if not the person."""
    item = of_memory(memory, project, whole=True)
    name = (memory.index or item.levels[0],) * 4
    head = "" if memory.trust == PERSON else memory.origin
    return msgspec.structs.replace(item, kind="topic", head=head, levels=name, rule=False)


def correction(number: int, old: str, seq: int, trust: int, new: Item | None) -> Item:
    """What was shown under a number does not hold any more."""
    if new is not None:
        return corrected(number, old, new)
    return Item(
        kind="correction",
        id=old,
        seq=seq,
        head="correction",
        levels=(f"[{number}] no longer holds.",) * 4,
        trust=trust,
        beside=(str(number),),
    )


def corrected(number: int, old: str, new: Item) -> Item:
    """Something else holds in its place."""
    told = [f"[{number}] no longer holds; now: {level}" for level in new.levels]
    return msgspec.structs.replace(
        new,
        kind="correction",
        head=f"correction, {new.head}",
        levels=falling(told),
        beside=(str(number), old),
    )


def falling(given: Sequence[str]) -> tuple[str, ...]:
    """Levels that each are shorter than the one before; one that is not is that one."""
    found: list[str] = []
    for level in given:
        found.append(level if not found or len(level) < len(found[-1]) else found[-1])
    return tuple(found)


def _each(made: Levels) -> list[str]:
    return [made.full, made.summary, made.compressed, made.index]
