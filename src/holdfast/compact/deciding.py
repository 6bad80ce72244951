"""One compaction as a decision: what each chunk is worth, what becomes of it, what is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Decided, Past
from holdfast.model.events import Event

from . import planning, scoring, strategies
from .chunks import Chunk
from .planning import Count, Summarize
from .room import Room


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """What is decided about, and for what."""

    chunks: tuple[Chunk, ...]
    events: Mapping[int, Event]
    #: what earlier compactions left
    earlier: Past
    #: what is asked; empty: what the person said last
    prompt: str
    now: int
    #: tokens that may be left of all of it
    room: Room
    #: a chunk as the window shows it while it stays
    shown: Callable[[Chunk], str] = lambda chunk: chunk.text


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts, and what stands in the window afterwards."""

    decided: tuple[Decided, ...]
    #: chunks of earlier summaries that have no room any more
    gone: tuple[Decided, ...]
    past: Past
    #: tokens of what stays as it is
    kept: int


def decide(
    window: Window,
    settings: CompactSettings,
    summarize: Summarize,
    count: Count,
    *,
    floor: float = 0.0,
) -> Left | None:
    """What becomes of a window; None when nothing would leave it. Likeness below `floor` is none."""
    lines = _room_for_lines(window, settings)
    verdicts = _verdicts(window, settings, lines, floor)
    stay = [n for n, one in enumerate(verdicts) if one.verdict == "keep"]
    kept = sum(verdicts[n].tokens for n in stay)
    short = sum(strategies.cost(one, settings) for one in verdicts if one.verdict == "summarize")
    room = min(max(lines + short, window.room.aim - kept), max(0, window.room.most - kept))
    space = planning.Space(
        room=room,
        lines=min(lines, max(_fewest(window, lines), room - short), room),
        span=settings.span_tokens,
        line=settings.line_tokens,
        most=settings.line_most,
    )
    shorts = planning.Shorts(room=space.room - lines, count=count, earlier=window.earlier.shorts)
    new = planning.planned(window.chunks, verdicts, window.events, summarize, settings, shorts)
    if not new.lines and not new.shorts:
        return None
    visible = "\n".join(window.shown(window.chunks[n]) for n in stay)
    joined = planning.joined(window.earlier, new)
    rules = planning.rules_size(joined, count, visible)
    space = space.with_rules(rules, window.room.most - kept)
    past = planning.settled(joined, space, count, visible)
    return Left(
        decided=tuple(_as_it_came(verdicts, past)),
        gone=planning.left_with_it(planning.let_go(window.earlier, past)),
        past=past,
        kept=kept,
    )


def _as_it_came(verdicts: Sequence[Decided], past: Past) -> Iterator[Decided]:
    """The verdicts as they were carried out: what found no room for a summary was dropped."""
    short = {chunk.id for span in past.shorts for chunk in span.chunks}
    for one in verdicts:
        dropped = one.verdict == "summarize" and one.id not in short
        yield replace(one, verdict="drop", why="no_room") if dropped else one


def _fewest(window: Window, lines: int) -> int:
    """What lines get whatever stays: a single one, or their part of a room that somebody named."""
    return lines if window.room.aim == window.room.most else min(lines, planning.FEWEST)


def _room_for_lines(window: Window, settings: CompactSettings) -> int:
    """What lines get at least: their share of the room, if so many are needed for what may leave."""
    spans = sum(chunk.tokens for chunk in window.chunks) // settings.span_tokens + 1
    lines = len(window.earlier.lines) + len(window.earlier.shorts) + spans
    needed = planning.lines_room(lines, settings.line_tokens)
    return min(int(settings.lines * window.room.aim), needed)


def _verdicts(
    window: Window, settings: CompactSettings, lines: int, floor: float
) -> Sequence[Decided]:
    chunks = window.chunks
    last = next((chunk.text for chunk in reversed(chunks) if chunk.turn), "")
    alike = scoring.likeness(window.prompt or last, [chunk.text for chunk in chunks])
    alike = [one if one >= floor else 0.0 for one in alike]
    scores = scoring.scores(chunks, alike, window.now, settings)
    return strategies.decided(
        strategies.Task(
            chunks=chunks,
            scores=tuple(scores),
            room=window.room.beside(lines),
            never=max(0, window.room.most - _fewest(window, lines)),
            settings=settings,
        )
    )
