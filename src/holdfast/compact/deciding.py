"""One compaction as a decision: what each chunk is worth, what becomes of it, what is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Decided, Past
from holdfast.model.events import Event

from . import planning, scoring, strategies
from .chunks import Chunk, by_person
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
    window = _up_to_date(window)
    earlier = window.earlier
    lasting = sum(planning.size(span, count) for span in earlier.shorts if span.stays)
    lines = _room_for_lines(window, settings)
    verdicts = _verdicts(window, settings, (lines, lasting), floor)
    kept = sum(one.tokens for one in verdicts if one.verdict == "keep")
    short = [one for one in verdicts if one.verdict == "summarize"]
    space = _space(window, settings, lines, _Taken.of(kept, lasting, short, settings))
    shorts = planning.Shorts(
        room=space.room - lines,
        count=count,
        earlier=earlier.shorts,
        never=space.room - space.lines,
    )
    new = planning.planned(window.chunks, verdicts, window.events, summarize, settings, shorts)
    fits = kept + planning.taken(earlier, count) <= window.room.most
    if fits and not new.lines and not new.shorts:
        return None
    shown = _shown(window, verdicts)
    joined = planning.joined(earlier, new)
    rules = planning.rules_size(joined, count, shown)
    space = space.with_rules(rules, window.room.most - kept)
    past = planning.settled(joined, space, count, shown)
    return Left(
        decided=tuple(_as_it_came(verdicts, past)),
        gone=planning.left_with_it(planning.let_go(window.earlier, past)),
        past=past,
        kept=kept,
    )


def _up_to_date(window: Window) -> Window:
    """The same; where the person said something since, the summary of a question may leave."""
    asked = planning.asked_last(window.earlier)
    if asked is None or not any(one.turn and one.first > asked.last for one in window.chunks):
        return window
    return replace(window, earlier=planning.answered(window.earlier))


class _Taken(msgspec.Struct, frozen=True):
    """What stands beside lines, in tokens."""

    kept: int
    #: summaries, and at least those of what never leaves
    short: int
    never: int

    @classmethod
    def of(
        cls, kept: int, lasting: int, short: Sequence[Decided], settings: CompactSettings
    ) -> _Taken:
        """So many tokens stay as they are; summaries of earlier compactions last, others are new."""
        new = sum(strategies.cost(one, settings) for one in short)
        never = [one.tokens for one in short if one.why in strategies.NEVER]
        least = sum(strategies.summary_size(one, settings) // 2 + strategies.MARKS for one in never)
        return cls(kept, lasting + new, lasting + least)


def _space(window: Window, settings: CompactSettings, lines: int, taken: _Taken) -> planning.Space:
    """What summaries and lines may take."""
    most = max(0, window.room.most - taken.kept)
    room = min(max(lines + taken.short, window.room.aim - taken.kept), most)
    most_lines = max(_fewest(window, lines), room - taken.short)
    return planning.Space(
        room=room,
        lines=min(lines, most_lines, max(planning.FEWEST, room - taken.never), room),
        span=settings.span_tokens,
        line=settings.line_tokens,
        most=settings.line_most,
    )


def _shown(window: Window, verdicts: Sequence[Decided]) -> planning.Shown:
    """What stays in a window as it was said."""
    stay = [
        chunk for chunk, one in zip(window.chunks, verdicts, strict=True) if one.verdict == "keep"
    ]
    person = [chunk for chunk in stay if all(by_person(window.events[seq]) for seq in chunk.seqs)]
    return planning.Shown(
        text="\n".join(map(window.shown, stay)), person="\n".join(map(window.shown, person))
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
    window: Window, settings: CompactSettings, beside: tuple[int, int], floor: float
) -> Sequence[Decided]:
    chunks, (lines, lasting) = window.chunks, beside
    question = planning.asked_last(window.earlier)
    last = next((chunk.text for chunk in reversed(chunks) if chunk.turn), "")
    last = question.text if question is not None else last
    alike = scoring.likeness(window.prompt or last, [chunk.text for chunk in chunks])
    alike = [one if one >= floor else 0.0 for one in alike]
    scores = scoring.scores(chunks, alike, window.now, settings)
    return strategies.decided(
        strategies.Task(
            chunks=chunks,
            scores=tuple(scores),
            room=window.room.beside(lines + lasting),
            never=max(0, window.room.most - _fewest(window, lines) - lasting),
            settings=settings,
            answered=question.last if question is not None else 0,
        )
    )
