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
from .chunks import Chunk, stays
from .strategies import MARKS, NEVER, shortest, summary_size

Count = Callable[[str], int]
#: a summary of the events of a span in so many tokens, and who wrote it; None where there is none
Summarize = Callable[[Sequence[Event], int], tuple[str, str] | None]
#: tokens of what stands before the names of a line: "events 123456-123499: "
_HANDLE = 14
#: tokens of what stands before the names behind a summary
_ALSO = 6
#: a line of fewer tokens names nothing
_SHORTEST = 16
#: tokens of the fewest lines that can stand for what left: a single one
FEWEST = MARKS + _HANDLE + _SHORTEST
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
    #: what those that never leave may take, where lines are as few as can be
    never: int = 0

    def share(self, every: Sequence[int], never: Sequence[int]) -> float:
        """Which part of what they should take there is for new ones that never leave.

        It is half at least, though others find no room, and less only where they have none themselves.
        """
        there = sum(size(one, self.count) for one in self.earlier if one.stays)
        part = min(1.0, max(0.5, self._part(self.room - there, every)))
        return min(part, self._part(self.never - there, never))

    def _part(self, room: int, wanted: Sequence[int]) -> float:
        return max(0, room - MARKS * len(wanted)) / max(1, sum(wanted))

    def beside(self, span: Span, written: Sequence[Span]) -> int:
        """What there is for the summary of a span, beside those that stay longer than it."""
        longer = [one for one in (*written, *self.earlier) if one.stays or one.first > span.first]
        return self.room - sum(size(one, self.count) for one in longer) - MARKS


def size(span: Span, count: Count) -> int:
    """Tokens of a summary with its marks."""
    return count(span.text) + MARKS


_Judged = tuple[Chunk, Decided]
#: a span that leaves, its events, and whether it is summarised
_Left = tuple[Span, list[Event], Verdict]


def planned(
    chunks: Sequence[Chunk],
    verdicts: Sequence[Decided],
    events: Mapping[int, Event],
    summarize: Summarize,
    settings: CompactSettings,
    shorts: Shorts,
) -> Past:
    """What the verdicts make of a window; lines are not written yet.

    Summaries are made from the latest to the oldest, as long as they will find room; first of what
    never leaves, which has room.
    """
    left: list[_Left] = []
    kept: list[int] = []
    pairs = zip(chunks, verdicts, strict=True)
    for (verdict, never, _), some in groupby(pairs, lambda pair: _alike(*pair)):
        together = list(some)
        if verdict == "keep":
            kept += [seq for chunk, _ in together for seq in chunk.seqs]
            continue
        for part in _spans(together, settings.span_tokens):
            there = [events[seq] for chunk, _ in part for seq in chunk.seqs]
            left.append((replace(_span(part, there), stays=never), there, verdict))
    written = _summaries(left, summarize, settings, shorts)
    short = {span.first for span in written}
    return Past(
        lines=tuple(_as_line(span) for span, _, _ in left if span.first not in short),
        shorts=tuple(sorted(written, key=lambda span: span.first)),
        kept=tuple(kept),
    )


def _summaries(
    left: Sequence[_Left], summarize: Summarize, settings: CompactSettings, shorts: Shorts
) -> list[Span]:
    """The summaries there is room for, one after the other."""
    written: list[Span] = []
    asked = [span for span, _, verdict in left if verdict == "summarize"]
    sizes = [summary_size(span.tokens, settings) for span in asked]
    never = [wanted for span, wanted in zip(asked, sizes, strict=True) if span.stays]
    share = shorts.share(sizes, never)
    for span, there, verdict in sorted(left, key=lambda one: (not one[0].stays, -one[0].first)):
        room, wanted = shorts.beside(span, written), summary_size(span.tokens, settings)
        made = None
        if span.stays:
            size_ = max(shortest(span.tokens), int(share * wanted))
            made = summarize(there, size_) or summarize(_marked(there), size_)
        elif verdict == "summarize" and 2 * room >= wanted:
            made = summarize(there, min(wanted, room))
        if made is not None:
            written.append(replace(span, text=made[0], by=made[1]))
    return written


def _marked(events: Sequence[Event]) -> list[Event]:
    """Those for which a chunk never leaves: pinned, or what the person said."""
    return [one for one in events if stays(one) == "pinned" or one.kind == "user_message"]


def _alike(chunk: Chunk, one: Decided) -> tuple[Verdict, str, str]:
    """Equal where chunks in a row can be one span; what never leaves has its own."""
    if one.verdict != "summarize" or one.why not in NEVER:
        return one.verdict, "", ""
    return one.verdict, chunk.stays if chunk.stays in NEVER else one.why, chunk.id


def _spans(judged: Sequence[_Judged], most: int) -> Iterator[list[_Judged]]:
    """Chunks in a row that can be shown together; a long one is alone."""
    span: list[_Judged] = []
    for one in judged:
        if span and sum(chunk.tokens for chunk, _ in span) + one[0].tokens > most:
            yield span
            span = []
        span.append(one)
    if span:
        yield span


def _span(judged: Sequence[_Judged], events: Sequence[Event]) -> Span:
    return Span(
        first=judged[0][0].first,
        last=judged[-1][0].last,
        tokens=sum(chunk.tokens for chunk, _ in judged),
        facts=naming.facts(events),
        chunks=tuple(
            Summed(
                id=chunk.id,
                seqs=chunk.seqs,
                tokens=chunk.tokens,
                score=one.score,
                parts=one.parts,
            )
            for chunk, one in judged
        ),
    )


def _as_line(span: Span) -> Span:
    """The same without its summary."""
    return replace(span, text="", by="rule", names="", chunks=(), stays="")


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


def asked_last(earlier: Past) -> Span | None:
    """The summary of what the person said last, if that was summarised."""
    return next((one for one in reversed(earlier.shorts) if one.stays == "asked"), None)


def answered(earlier: Past) -> Past:
    """The same where summaries of what was asked may leave."""
    shorts = (replace(one, stays="") if one.stays == "asked" else one for one in earlier.shorts)
    return replace(earlier, shorts=tuple(shorts))


def joined(earlier: Past, new: Past) -> Past:
    """What stands in the window after another compaction; what is kept is decided anew each time."""
    return Past(
        lines=tuple(sorted((*earlier.lines, *new.lines), key=lambda span: span.first)),
        shorts=tuple(sorted((*earlier.shorts, *new.shorts), key=lambda span: span.first)),
        kept=new.kept,
    )


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What stays in a window as it was said."""

    text: str = ""
    #: of it, what the person said
    person: str = ""


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

    def with_rules(self, tokens: int, can_show: int) -> Space:
        """The same and so much for rules, as far as all of it takes no more than can be shown."""
        more = max(0, min(tokens, can_show - self.room))
        return replace(self, room=self.room + more, lines=self.lines + more, rules=more)


def settled(past: Past, space: Space, count: Count, shown: Shown | None = None) -> Past:
    """The same within its room: the oldest summaries become lines, lines of little become one.

    Those that never leave do so only where nothing is left but them and a single line. What is shown
    needs no name; what a summary leaves out is named behind it.
    """
    room, lines = space.room, space.lines
    kept = list(past.shorts)
    left: list[Span] = list(past.lines)
    sizes = [size(span, count) for span in kept]
    while kept and sum(sizes) > room - lines:
        n = min(range(len(kept)), key=lambda n: (kept[n].stays != "", kept[n].stays == "asked", n))
        left.append(_as_line(kept.pop(n)))
        sizes.pop(n)
    lines = max(lines, room - sum(sizes))
    left = _merged(sorted(left, key=lambda span: span.first), space.span)
    while len(left) > 1 and lines - MARKS < len(left) * (_SHORTEST + _HANDLE):
        n = min(range(len(left) - 1), key=lambda n: (left[n].tokens + left[n + 1].tokens, n))
        left[n : n + 2] = [_one(left[n], left[n + 1])]
    return _written(left, kept, past.kept, replace(space, lines=lines), count, shown or Shown())


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
            parts=one.parts,
        )
        for one in gone
    )


def taken(past: Past, count: Count) -> int:
    """Tokens of everything that stands in the place of what left, with what stands around it."""
    lines = sum(count(line.text) + _HANDLE for line in past.lines)
    shorts = sum(count(f"\nalso: {one.names}") + size(one, count) for one in past.shorts)
    return (lines + MARKS if past.lines else 0) + shorts


def lines_room(count: int, line: int) -> int:
    """Tokens of so many lines, with what stands around them."""
    return MARKS + count * (line + _HANDLE)


def rules_size(past: Past, count: Count, shown: Shown) -> int:
    """Tokens of what the person told to be done from then on, where only what left says it."""
    rules = dict.fromkeys(rule for line in past.lines for rule in line.facts.rules)
    return sum(count(f"; {rule}") for rule in rules if not naming.stands(rule, shown.person))


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
    shown: Shown,
) -> Past:
    """Every line with its names, every summary with those it leaves out.

    Lines stay as an earlier compaction wrote them, for what begins alike is cached, until there is no
    room for the others beside them; then all are written anew, and leave room for some more.
    """
    room = space.lines
    marks = len(lines) * _HANDLE + len(shorts) * _ALSO + MARKS
    left = max(0, room - marks)
    stand = [n for n, line in enumerate(lines) if line.text]
    taken = sum(count(lines[n].text) for n in stand)
    if taken and left - taken < _FAIR * left * (1 - len(stand) / len(lines)):
        stand, taken, left = [], 0, int(_REFILL * left)
    fresh = [n for n in range(len(lines)) if n not in stand]
    standing = [lines[n].text for n in stand]
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
        visible="\n".join([shown.text, *(short.text for short in shorts), *standing]),
        lasting="\n".join([shown.person, *standing]),
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
    """The first names of each sort, up to so many characters of them; of rules all."""
    return Facts(
        **{
            sort: tuple(
                name
                for name, taken in zip(names, accumulate(map(len, names)), strict=True)
                if taken <= most or sort == "rules"
            )
            for sort in Facts.__struct_fields__
            if (names := getattr(facts, sort))
        }
    )
