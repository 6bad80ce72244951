"""From verdicts to what stands in the window afterwards: kept events, summaries, lines.

What always holds: every event is kept, or lies in a span that is summarised or has a line; summaries and
lines take no more than their room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, pairwise

import msgspec
from msgspec.structs import replace

from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Decided, Facts, Past, Span, Summed, Verdict
from holdfast.model.events import Event
from holdfast.text.levels import fitted
from holdfast.text.spoken import said, shortened_as, speaker

from . import naming
from .chunks import Chunk
from .strategies import summary_size

Count = Callable[[str], int]
#: a summary of the events of a span in so many tokens, and who wrote it; None where there is none
Summarize = Callable[[Sequence[Event], int], tuple[str, str] | None]
#: tokens of what stands before the names of a line: "events 123456-123499: "
_HANDLE = 14
#: tokens of the marks around a summary, or around all lines; of what stands before names behind one
_MARKS, _ALSO = 46, 6
#: a line of fewer tokens names nothing
_SHORTEST = 16
#: tokens of the fewest lines that can stand for what left: a single one
FEWEST = _MARKS + _HANDLE + _SHORTEST
#: characters of a token, about
_CHARS = 4
#: of each sort of names, a line keeps for later so many times what all it shows may take
_TIMES = 4
#: new lines get at least this part of what they would get if all were written anew; those that are
#: written anew take this part of their room
_FAIR, _REFILL = 0.5, 0.7


class Shorts(msgspec.Struct, frozen=True, kw_only=True):
    """What summaries may take, those of earlier compactions included."""

    room: int
    count: Count
    earlier: tuple[Span, ...] = ()

    def size(self, span: Span) -> int:
        """Tokens of a summary with its marks."""
        return self.count(span.text) + _MARKS


def planned(
    chunks: Sequence[Chunk],
    verdicts: Sequence[Decided],
    events: Mapping[int, Event],
    summarize: Summarize,
    settings: CompactSettings,
    shorts: Shorts,
) -> Past:
    """What the verdicts make of a window; lines are not written yet.

    Summaries are made from the latest to the oldest, as long as they will find room.
    """
    left: list[tuple[Span, list[Event], Verdict]] = []
    scores = {one.id: one.score for one in verdicts}
    kept: list[int] = []
    for verdict, pairs in groupby(zip(chunks, verdicts, strict=True), lambda pair: pair[1].verdict):
        together = [chunk for chunk, _ in pairs]
        if verdict == "keep":
            kept += [seq for chunk in together for seq in chunk.seqs]
            continue
        for chunks_of_span in _spans(together, settings.span_tokens):
            there = [events[seq] for chunk in chunks_of_span for seq in chunk.seqs]
            left.append((_span(chunks_of_span, there, scores), there, verdict))
    written: list[Span] = []
    for span, there, verdict in reversed(left):
        later = [one for one in (*written, *shorts.earlier) if one.first > span.first]
        room = shorts.room - sum(map(shorts.size, later)) - _MARKS
        made = None
        if verdict == "summarize" and 2 * room >= (size := summary_size(span.tokens, settings)):
            made = summarize(there, min(size, room))
        if made is not None:
            written.append(replace(span, text=made[0], by=made[1]))
    short = {span.first for span in written}
    return Past(
        lines=tuple(_as_line(span) for span, _, _ in left if span.first not in short),
        shorts=tuple(reversed(written)),
        kept=tuple(kept),
    )


def _spans(chunks: Sequence[Chunk], most: int) -> Iterator[list[Chunk]]:
    """Chunks in a row that can be shown together; a long one is alone."""
    span: list[Chunk] = []
    for chunk in chunks:
        if span and sum(one.tokens for one in span) + chunk.tokens > most:
            yield span
            span = []
        span.append(chunk)
    if span:
        yield span


def _span(chunks: Sequence[Chunk], events: Sequence[Event], scores: Mapping[str, float]) -> Span:
    return Span(
        first=chunks[0].first,
        last=chunks[-1].last,
        tokens=sum(chunk.tokens for chunk in chunks),
        facts=naming.facts(events),
        chunks=tuple(
            Summed(id=one.id, seqs=one.seqs, tokens=one.tokens, score=scores[one.id])
            for one in chunks
        ),
    )


def _as_line(span: Span) -> Span:
    """The same without its summary."""
    return replace(span, text="", by="rule", names="", chunks=())


def by_rule(count: Count) -> Summarize:
    """Summaries without a model: each event in fewer of its own words."""

    def summarize(events: Sequence[Event], room: int) -> tuple[str, str] | None:
        sizes = [max(1, len(said(event))) for event in events]
        chars = room * _CHARS
        while chars >= len(events) * _CHARS:
            told = [
                f"{speaker(event)}: {short}"
                for event, size in zip(events, sizes, strict=True)
                if (short := fitted(shortened_as(event), said(event), chars * size // sum(sizes)))
            ]
            text = "\n".join(told)
            if count(text) <= room:
                return (text, "rule") if text else None
            chars = chars * 3 // 4
        return None

    return summarize


# ---- what earlier compactions left -------------------------------------------------------------------


def joined(earlier: Past, new: Past) -> Past:
    """What stands in the window after another compaction; what is kept is decided anew each time."""
    return Past(
        lines=tuple(sorted((*earlier.lines, *new.lines), key=lambda span: span.first)),
        shorts=tuple(sorted((*earlier.shorts, *new.shorts), key=lambda span: span.first)),
        kept=new.kept,
    )


class Space(msgspec.Struct, frozen=True, kw_only=True):
    """What summaries and lines may take."""

    #: tokens of both, and what lines get of them at least
    room: int
    lines: int
    #: lines that can be shown together in so many tokens are one
    span: int
    #: words are added to what a line names exactly until it has so many tokens, on the average
    line: int = 96
    #: and no line takes more than so many
    most: int = 400

    #: of what lines get, so much is for what the person told to be done from then on
    rules: int = 0

    def with_rules(self, tokens: int, most: int) -> Space:
        """The same and so much for rules, as far as all of it takes no more than can be shown."""
        more = max(0, min(tokens, most - self.room))
        return replace(self, room=self.room + more, lines=self.lines + more, rules=more)


def settled(past: Past, space: Space, count: Count, visible: str = "") -> Past:
    """The same within its room: the oldest summaries become lines, lines of little become one.

    What stands in `visible` needs no name; what a summary leaves out is named behind it.
    """
    room, lines = space.room, space.lines
    kept = list(past.shorts)
    left: list[Span] = list(past.lines)
    sizes = [count(span.text) + _MARKS for span in kept]
    while kept and sum(sizes) > room - lines:
        left.append(_as_line(kept.pop(0)))
        sizes.pop(0)
    lines = max(lines, room - sum(sizes))
    left = _merged(sorted(left, key=lambda span: span.first), space.span)
    while len(left) > 1 and lines - _MARKS < len(left) * (_SHORTEST + _HANDLE):
        n = min(range(len(left) - 1), key=lambda n: (left[n].tokens + left[n + 1].tokens, n))
        left[n : n + 2] = [_one(left[n], left[n + 1])]
    return _written(left, kept, past.kept, replace(space, lines=lines), count, visible)


def let_go(earlier: Past, past: Past) -> tuple[Summed, ...]:
    """The chunks whose summaries stood in a window and stand there no more."""
    there = {one.id for span in past.shorts for one in span.chunks}
    return tuple(one for span in earlier.shorts for one in span.chunks if one.id not in there)


def left_with_it(gone: Iterable[Summed]) -> tuple[Decided, ...]:
    """What becomes of the chunks of a summary that leaves."""
    return tuple(
        Decided(
            id=one.id,
            first=one.seqs[0],
            last=one.seqs[-1],
            tokens=one.tokens,
            verdict="drop",
            why="summary_left",
            score=one.score,
        )
        for one in gone
    )


def lines_room(count: int, line: int) -> int:
    """Tokens of so many lines, with what stands around them."""
    return _MARKS + count * (line + _HANDLE)


def rules_size(past: Past, count: Count, visible: str) -> int:
    """Tokens of what the person told to be done from then on, where only what left says it."""
    rules = dict.fromkeys(rule for line in past.lines for rule in line.facts.rules)
    return sum(count(f"; {rule}") for rule in rules if not naming.stands(rule, visible))


def _merged(lines: Sequence[Span], most: int) -> list[Span]:
    """Lines in a row that are short enough to be shown together are one."""
    found = list(lines[:1])
    for _, line in pairwise(lines):
        if found[-1].tokens + line.tokens <= most:
            found[-1] = _one(found[-1], line)
        else:
            found.append(line)
    return found


def _one(first: Span, second: Span) -> Span:
    return Span(
        first=first.first,
        last=max(first.last, second.last),
        tokens=first.tokens + second.tokens,
        facts=naming.together(first.facts, second.facts),
    )


def _written(
    lines: Sequence[Span],
    shorts: Sequence[Span],
    kept: tuple[int, ...],
    space: Space,
    count: Count,
    visible: str,
) -> Past:
    """Every line with its names, every summary with those it leaves out.

    Lines stay as an earlier compaction wrote them, for what begins alike is cached, until there is no
    room for the others beside them; then all are written anew, and leave room for some more.
    """
    room = space.lines
    marks = len(lines) * _HANDLE + len(shorts) * _ALSO + _MARKS
    left = max(0, room - marks)
    stand = [n for n, line in enumerate(lines) if line.text]
    taken = sum(count(lines[n].text) for n in stand)
    if taken and left - taken < _FAIR * left * (1 - len(stand) / len(lines)):
        stand, taken, left = [], 0, int(_REFILL * left)
    fresh = [n for n in range(len(lines)) if n not in stand]
    told = naming.lines(
        [lines[n].facts for n in fresh],
        naming.Sheet(
            room=left - taken,
            most=space.most,
            rules=space.rules,
            enough=space.line * len(fresh),
        ),
        count,
        beside=[short.facts for short in shorts],
        visible="\n".join(
            [visible, *(short.text for short in shorts), *(lines[n].text for n in stand)]
        ),
    )
    most = _TIMES * _CHARS * max(_SHORTEST, room // max(1, len(lines)))
    made = list(lines)
    for n, text in zip(fresh, told, strict=False):
        made[n] = replace(made[n], text=text, facts=_fewer(made[n].facts, most))
    return Past(
        lines=tuple(made),
        shorts=tuple(
            replace(of, names=names) for of, names in zip(shorts, told[len(fresh) :], strict=True)
        ),
        kept=kept,
    )


def _fewer(facts: Facts, most: int) -> Facts:
    """The first names of each sort, up to so many characters of them."""
    return Facts(
        **{
            sort: tuple(
                name
                for name, taken in zip(names, accumulate(map(len, names)), strict=True)
                if taken <= most
            )
            for sort in Facts.__struct_fields__
            if (names := getattr(facts, sort))
        }
    )
