"""A recorded session lived again under other settings: what leaves, and what was needed of it.

Before each step of the model its window is asked whether a compaction is due, and compacted by the
same rules as a session is, with summaries by rule and the time of the event as now. What still does
not fit begins later, as a context does.

Regret is what the model went on to use. A step needs each exact name that it says or asks a tool
for and that something before it said. A need is met where an event that was kept or came since says
the name, or a summary does. A line that names it is enough for a step that uses this one name of
what left: it points at it. A step that uses several names of one span that left works with what the
span says, and a name that stands nowhere in the window is missed too. Each span that is missed by a
step is one fetch, and there from then on until the next compaction. What somebody did ask back, by
an event of the log, is needed as well.

What always holds: no prompt is larger than the room for the conversation; where nothing leaves,
nothing is missed; the same session under the same settings comes to the same; nothing is written.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from math import inf

import msgspec
from msgspec.structs import replace

from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Decided, Past
from holdfast.model.events import Event
from holdfast.model.pairs import starts
from holdfast.model.tuning import PARTS

from .chunks import chunks, milliseconds
from .deciding import Left, Window, decide
from .needing import Places, stands_in, used
from .planning import Count, Summarize
from .pressure import Bounds, Fill, due
from .room import Room

#: what a model says and does in one step; each step takes the whole prompt
_STEPS = ("model_message", "tool_call")
#: what a token costs that a provider has cached, and one that it has to take in anew
CACHED, NEW = 0.1, 1.25
#: why something is not shown though no compaction dropped it
NO_ROOM = "cut"


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A call of the model."""

    #: the place of the first event it led to: all before it may be in the prompt
    place: int
    #: each name it needs, and where that was said before
    needs: tuple[tuple[str, tuple[int, ...]], ...]
    #: events that were asked back in this step or before the next one
    asked: tuple[tuple[int, ...], ...] = ()


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A session, with what every setting asks of it worked out once."""

    id: str
    events: tuple[Event, ...]
    #: tokens of each event as a window shows it
    sizes: tuple[int, ...]
    steps: tuple[Step, ...]


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay measures with."""

    count: Count
    summarize: Summarize
    #: what stands in a window for what left, as it is written
    shown: Callable[[Past], str]


class Lived(msgspec.Struct, kw_only=True):
    """What one session came to."""

    steps: int = 0
    sent: int = 0
    cached: int = 0
    fullest: int = 0
    #: tokens of what was fetched back, and cached ones that were sent again for that
    brought: int = 0
    again: int = 0
    needed: int = 0
    missed: int = 0
    fetched: int = 0
    compactions: int = 0
    #: chunks and tokens that left, by reason
    drops: dict[str, tuple[int, int]] = {}
    #: chunks by score, by what became of them
    scores: dict[str, list[int]] = {}

    @property
    def price(self) -> float:
        """What it costs, in tokens at the plain price: prompts, and fetching back what was missed."""
        return price([self])


def price(of: Sequence[Lived]) -> float:
    """What sessions cost together, the same in any order."""
    cached = sum(one.cached + one.again for one in of)
    return CACHED * cached + NEW * (
        sum(one.sent + one.brought for one in of) - sum(one.cached for one in of)
    )


def recorded(
    id_: str,
    events: Sequence[Event],
    sizes: Sequence[int],
    texts: Sequence[str],
    asked: Mapping[int, Sequence[int]],
) -> Recorded:
    """A session made ready; `texts` are what a window shows of each event.

    `asked` are the places in the log at which somebody asked something back, with what that was.
    """
    where = Places(texts)
    known: dict[str, tuple[int, ...]] = {}
    steps, runs = [], list(_runs(events))
    begins = [events[place].event_seq for place, _ in runs]
    ends = [*begins[1:], inf]
    for n, (place, run) in enumerate(runs):
        found = dict.fromkeys(name for event in run for name in used(event))
        for name in found:
            if name not in known:
                known[name] = where.of(name)
        needs = tuple(
            (name, known[name][:end]) for name in found if (end := bisect_left(known[name], place))
        )
        first = begins[n] if n else 0
        back = [asked[at] for at in sorted(asked) if first <= at < ends[n]]
        steps.append(Step(place=place, needs=needs, asked=tuple(map(tuple, back))))
    return Recorded(id=id_, events=tuple(events), sizes=tuple(sizes), steps=tuple(steps))


def _runs(events: Sequence[Event]) -> Iterator[tuple[int, list[Event]]]:
    """What a model said and did in each of its steps, and where that begins."""
    of = groupby(enumerate(events), key=lambda pair: pair[1].kind in _STEPS)
    for spoken, pairs in of:
        run = list(pairs)
        if spoken:
            yield run[0][0], [event for _, event in run]


def outcome(bounds: Bounds, settings: CompactSettings) -> tuple[float, Room, CompactSettings]:
    """What of settings decides anything in a window: where it is equal, sessions come to the same."""
    over = min(settings.compact_at * bounds.limit, bounds.history + 1.0)
    rest = replace(settings, compact_at=0.0, compact_to=0.0)
    return over, bounds.room(settings), rest


def everything(of: Recorded) -> Lived:
    """The same session carrying everything, in a window without an end."""
    lived, before = Lived(), 0
    place = 0
    for step in of.steps:
        tokens = before + sum(of.sizes[place : step.place])
        _sent(lived, tokens, before)
        lived.needed += len(step.needs) + len(step.asked)
        before, place = tokens, step.place
    return lived


def _sent(lived: Lived, tokens: int, cached: int) -> None:
    lived.steps += 1
    lived.sent += tokens
    lived.cached += cached
    lived.fullest = max(lived.fullest, tokens)


def simulated(of: Recorded, bounds: Bounds, settings: CompactSettings, means: Means) -> Lived:
    """What a session comes to under some settings."""
    window, lived, before = _Window(of, bounds, settings, means), Lived(), 0
    for step in of.steps:
        anew = window.compacted(step.place, lived)
        anew = window.cut(step.place, lived) or anew
        tokens = window.tokens(step.place)
        _sent(lived, tokens, 0 if anew else before)
        window.judged(step, tokens, lived)
        before = tokens
    return lived


class _Window:
    """The window of one session as it goes on; events are known by their places."""

    def __init__(
        self, of: Recorded, bounds: Bounds, settings: CompactSettings, means: Means
    ) -> None:
        self._of = of
        self._bounds = bounds
        self._settings = settings
        self._means = means
        self._at = {event.event_seq: n for n, event in enumerate(of.events)}
        #: tokens of all events before each place
        self._before = [0, *accumulate(of.sizes)]
        #: what the compaction before left: up to which place, what it kept, and what stands for the rest
        self._through = 0
        self._kept: dict[int, None] = {}
        self._past = Past()
        self._left = 0
        #: its summaries and its lines, and what both take as they are shown
        self._short = self._named = ""
        self._said_tokens = 0
        #: what does not fit is not shown: all before a place but the person's last words
        self._first = 0
        self._asked = -1
        #: what was fetched back since, and the tokens of it
        self._back: set[int] = set()
        self._carried = 0

    def _talk(self, place: int) -> list[int]:
        """All there is to show before a place."""
        return [*self._kept, *range(self._through, place)]

    def _shows(self, n: int) -> bool:
        """Does the window show an event that was said by now?"""
        there = n >= self._through or n in self._kept
        return (there and n >= self._first) or n == self._asked

    def _knows(self, n: int) -> bool:
        """Does it, or was the event fetched back?"""
        return n in self._back or self._shows(n)

    def _size(self, places: Iterable[int]) -> int:
        return sum(self._of.sizes[n] for n in places)

    def _talk_tokens(self, place: int) -> int:
        since = self._before[place] - self._before[self._through]
        return self._size(self._kept) + since + self._said_tokens

    def tokens(self, place: int) -> int:
        """What a prompt takes."""
        if not self._first:
            return self._talk_tokens(place)
        kept = self._size(n for n in self._kept if n >= self._first)
        since = self._before[place] - self._before[min(place, max(self._first, self._through))]
        asked = self._of.sizes[self._asked] if 0 <= self._asked < self._first else 0
        return kept + since + asked + self._said_tokens

    # ---- making room -----------------------------------------------------------------------

    def compacted(self, place: int, lived: Lived) -> bool:
        """Compact, if that is due."""
        talk = self._talk(place)
        tokens = self._talk_tokens(place)
        since = self._of.events[self._through : place]
        fill = Fill(tokens=tokens, talk=tokens, left=self._left, since=since)
        if not talk or not due(fill, self._bounds, self._settings):
            return False
        left = self._decided([self._of.events[n] for n in talk])
        if left is None:
            return False
        _counted(lived, left.decided)
        for one in left.gone:
            _left(lived, one.why, 1, one.tokens)
        self._through = place
        self._kept = dict.fromkeys(self._at[seq] for seq in left.past.kept)
        self._past = left.past
        self._short = "\n".join(span.text for span in left.past.shorts)
        self._named = "\n".join(span.text for span in left.past.lines)
        shown = self._means.shown(left.past)
        self._said_tokens = self._means.count(shown) if shown else 0
        self._left = left.kept + self._said_tokens
        self._first, self._asked = 0, -1
        self._back.clear()
        self._carried = 0
        return True

    def _decided(self, events: Sequence[Event]) -> Left | None:
        asked = Window(
            chunks=tuple(chunks(events, lambda event: self._of.sizes[self._at[event.event_seq]])),
            events={event.event_seq: event for event in events},
            earlier=self._past,
            prompt="",
            now=milliseconds(events[-1].timestamp),
            room=self._bounds.room(self._settings),
        )
        return decide(asked, self._settings, self._means.summarize, self._means.count)

    def cut(self, place: int, lived: Lived) -> bool:
        """Show less where all of it does not fit, so that what comes has room."""
        room = self._bounds.history
        if self.tokens(place) <= room:
            return False
        talk = self._talk(place)
        before = {n for n in talk if self._shows(n)}
        if self._said_tokens > room:
            self._short, self._named, self._said_tokens = "", "", 0
        users = [n for n in talk if self._of.events[n].kind == "user_message"]
        self._first, self._asked = 0, users[-1] if users else -1
        if self._asked >= 0 and self._of.sizes[self._asked] + self._said_tokens > room:
            self._asked = -1
        began = [talk[n] for n in starts([self._of.events[n] for n in talk])]
        for most in (int(self._bounds.refill * room), room):
            for self._first in (*began, place):
                if self.tokens(place) <= most:
                    break
            if self._first < place:
                break
        gone = [n for n in talk if n in before and not self._shows(n)]
        _left(lived, NO_ROOM, len(gone), self._size(gone))
        return True

    # ---- what was needed -------------------------------------------------------------------

    def judged(self, step: Step, tokens: int, lived: Lived) -> None:
        """What a step misses, and what fetching it back costs."""
        away: dict[range, list[bool]] = {}
        for name, places in step.needs:
            if not any(map(self._knows, reversed(places))) and not stands_in(name, self._short):
                span, _ = self._span(places[-1])
                away.setdefault(span, []).append(stands_in(name, self._named))
        missed = [span for span, named in away.items() if len(named) > 1 or not all(named)]
        back = [[n for n in map(self._at.get, seqs) if n is not None] for seqs in step.asked]
        wanted = [places for places in back if not all(map(self._knows, places))]
        lived.needed += len(step.needs) + len(back)
        lived.missed += sum(len(away[span]) for span in missed) + len(wanted)
        lived.again += self._carried
        for n in (*(span[0] for span in missed), *(n for one in wanted for n in one)):
            if n not in self._back:
                self._fetch(n, tokens, lived)

    def _fetch(self, n: int, tokens: int, lived: Lived) -> None:
        """One more call with the same prompt, and what it brings."""
        span, size = self._span(n)
        size = min(self._settings.span_tokens, size)
        lived.fetched += 1
        lived.again += tokens + self._carried
        lived.brought += size
        self._back.update(span)
        self._carried += size

    def _span(self, n: int) -> tuple[range, int]:
        """The places that are shown together with one that left, and their tokens."""
        seq = self._of.events[n].event_seq
        for span in (*self._past.lines, *self._past.shorts):
            if span.first <= seq <= span.last:
                return range(self._at[span.first], self._at[span.last] + 1), span.tokens
        return range(n, n + 1), self._of.sizes[n]


def _counted(lived: Lived, decided: Sequence[Decided]) -> None:
    lived.compactions += 1
    for one in decided:
        parts = lived.scores.setdefault(one.verdict, [0] * PARTS)
        parts[min(PARTS - 1, max(0, int(one.score * PARTS)))] += 1
        if one.verdict == "drop":
            _left(lived, one.why, 1, one.tokens)


def _left(lived: Lived, why: str, chunks_: int, tokens: int) -> None:
    known = lived.drops.get(why, (0, 0))
    lived.drops[why] = (known[0] + chunks_, known[1] + tokens)
