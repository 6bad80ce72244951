"""What is offered for each section: a visible list of sources, each a function of the situation.

A source gives candidates, with a verdict where it knows one already. Later rooms add theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from holdfast.model.compose import ComposeSettings
from holdfast.model.epochs import Passage
from holdfast.model.events import Event
from holdfast.model.memories import Memory, plain
from holdfast.model.packs import Signals
from holdfast.model.recall import Hit
from holdfast.text.quoting import quoted
from holdfast.text.spoken import said

from . import items, saved
from .choosing import Candidate
from .items import Item
from .saved import Saved

#: what an unsettled error, a failed gate, an open task of this session is worth beside a hit
_OPEN = 0.5
#: the same of a hot item: times its own score; what is pinned is worth more than any hit is likely to be
_HOT = 0.6
_PINNED = 1.0
#: the name of a cold item, beside those of memories
_COLD = 0.2
#: the same of an error of the last hours that is over
_RECENT = 0.2
#: as exact as scores are written down: what is packed again is packed alike
_DIGITS = 6
#: so many of the last events are looked at for what a query says again
_LATELY = 20
#: what comes from outside is shown where the question asks for it, and nowhere else
_TRUSTED = 1


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """Something that went wrong lately, and what was done last before it was over."""

    event: Event
    fix: Event | None = None


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown under a number and holds no longer, and what holds instead."""

    number: int
    #: the id of what was shown, the last event about it, how far it was trusted
    old: str
    seq: int
    trust: int
    #: where it lies, if in another project
    project: str = ""
    #: what was shown, and why that is over
    shown: Item
    ended: str
    new: Item | None = None


class Hot(msgspec.Struct, frozen=True, kw_only=True):
    """An item that is always loaded."""

    saved: Saved
    score: float
    pinned: bool = False
    #: there are so many before it that no context has room for it
    beyond: bool = False


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a context can be made from, read from the log and its views."""

    settings: ComposeSettings
    project: str
    #: hits that are less likely than this are left out
    floor: float = 0.0
    signals: Signals = Signals()
    hits: Sequence[Hit] = ()
    #: of the parts of documents among them what is shown, and where in the whole text that lies
    parts: Mapping[str, tuple[str, tuple[int, ...]]] = {}
    #: what is open in this session
    threads: Sequence[Event] = ()
    failures: Sequence[Failed] = ()
    corrections: Sequence[Correction] = ()
    #: memories of the reserved categories and kinds, each with the project it lies in
    rules: Sequence[tuple[Memory, str]] = ()
    habits: Sequence[tuple[Memory, str]] = ()
    episodes: Sequence[tuple[Memory, str]] = ()
    important: Sequence[tuple[Memory, str]] = ()
    latest: Sequence[tuple[Memory, str]] = ()
    #: what this agent saved and keeps at hand, and what of it is cold
    hot: Sequence[Hot] = ()
    cold: Sequence[Saved] = ()
    #: of the items among the hits what they say, and whether they are cold
    saved: Mapping[str, tuple[Saved, bool]] = {}
    #: what the epoch names already
    named: frozenset[str] = frozenset()
    #: what the window shows: entries with their level, turns of the conversation with 0
    shown: Mapping[Passage, int] = {}
    #: what the conversation says, in plain words
    said: frozenset[str] = frozenset()
    #: hits are offered as they are, and not in fewer words
    whole: bool = False
    #: the same was asked before, and nothing was said since
    again: bool = False


Source = Callable[[Situation], Iterator[Candidate]]


def floor_for(
    settings: ComposeSettings, talk: Sequence[Event], query: str, *, later: bool
) -> float:
    """How likely a hit must be: a conversation under way shows most of what it needs itself.

    The first context of a session knows nothing but what it is asked for; `talk` ends with what was said
    or done last, and all of it is before the model's eyes. A query that says again what stands there is
    a step of the model's own work; any other is asked by somebody, whether or not it was recorded.
    """
    if not later or not talk:
        return settings.floor
    asked = talk[-1].kind == "user_message" or not _says_again(query, talk)
    return max(settings.floor, settings.floor_asked if asked else settings.floor_step)


def _says_again(query: str, talk: Sequence[Event]) -> bool:
    """Is most of a query what was said or done lately, line by line? An empty one is."""
    lines = {line for line in map(plain, query.splitlines()) if line}
    half = sum(map(len, lines)) / 2
    asked = [event for event in talk if event.kind == "user_message"]
    for event in (*asked[-1:], *talk[: -_LATELY - 1 : -1]):
        if sum(map(len, lines)) <= half:
            break
        words = plain(said(event))
        lines = {line for line in lines if line not in words}
    return sum(map(len, lines)) <= half


# ---- what a turn adds ------------------------------------------------------------------------


def corrections(of: Situation) -> Iterator[Candidate]:
    """What was shown and holds no longer."""
    for one in of.corrections:
        item = items.correction(one.number, one.old, one.seq, one.trust, one.new)
        if one.new is None:
            item = msgspec.structs.replace(item, project=one.project)
        yield Candidate(item=item, section="critical", score=1.0, must=True)
        why = f"[{one.number}] is taken back"
        yield Candidate(item=one.shown, section="critical", score=0.0, verdict=one.ended, why=why)


def open_threads(of: Situation) -> Iterator[Candidate]:
    """What is unsettled in this session and no longer to be seen in it."""
    for event in of.threads:
        yield Candidate(item=items.of_error(event, None), section="critical", score=_OPEN)


def recent_errors(of: Situation) -> Iterator[Candidate]:
    """What went wrong lately, in any session, with what was done about it."""
    for one in of.failures:
        item = items.of_error(one.event, one.fix)
        yield Candidate(item=item, section="critical", score=_RECENT)


def hot(of: Situation) -> Iterator[Candidate]:
    """What this agent saved and keeps at hand."""
    for one in of.hot:
        repeats = plain(one.saved.text) in of.said
        outside = one.saved.trust < _TRUSTED
        if one.beyond:
            why = "more items are hot than a context can hold; load them"
            item = saved.named(one.saved)
            yield Candidate(item=item, section="critical", score=0.0, verdict="budget", why=why)
            continue
        yield Candidate(
            item=saved.shown(one.saved, whole=of.whole or repeats or outside),
            section="critical",
            score=_PINNED if one.pinned else _HOT * one.score,
            verdict="untrusted" if outside else "duplicate" if repeats else "",
            why="the conversation says the same" if repeats and not outside else "",
        )


def found(of: Situation) -> Iterator[Candidate]:
    """What recall found: decisions and errors are critical, the rest is relevant."""
    for hit in of.hits:
        critical = hit.event is not None and hit.event.kind in ("decision", "error")
        unlikely, repeats = hit.relevance < of.floor, plain(hit.full) in of.said
        named = hit.id in of.named and of.saved.get(hit.id, (None, False))[1]
        yield Candidate(
            item=_of_hit(of, hit, whole=of.whole or unlikely or repeats),
            section="critical" if critical else "relevant",
            score=hit.score,
            relevance=hit.relevance,
            parts=dict(hit.parts),
            verdict="duplicate" if repeats or named else "floor" if unlikely else "",
            why="the conversation says the same" if repeats else "named already" if named else "",
        )


def _of_hit(of: Situation, hit: Hit, *, whole: bool) -> Item:
    project = "" if hit.project == of.project else hit.project
    if hit.memory is not None:
        return items.of_memory(hit.memory, project, whole=whole)
    if hit.id in of.saved:
        what, cold = of.saved[hit.id]
        if cold:
            return saved.named(what)
        return saved.shown(what, saved.passage(what, hit.text), whole=whole)
    assert hit.event is not None  # noqa: S101  (a hit is one or the other)
    if hit.path:
        part = of.parts.get(hit.id, (hit.text, ()))
        return items.of_document(hit.event, hit.id, *part, whole=whole)
    span = items.passage(hit.event, hit.text)
    return items.of_event(hit.event, span, project=project, whole=whole)


def important(of: Situation) -> Iterator[Candidate]:
    """What matters whatever the question is."""
    for memory, project in of.important:
        yield Candidate(
            item=items.of_memory(memory, project),
            section="critical",
            score=memory.importance / 2,
            verdict=_trusted(memory),
        )


# ---- what an epoch begins with ---------------------------------------------------------------


def rules(of: Situation) -> Iterator[Candidate]:
    """Rules and preferences: they hold for every question."""
    yield from _background(of.rules, 1.0)


def habits(of: Situation) -> Iterator[Candidate]:
    """Patterns and workflows: those of the activity at hand first."""
    activity = of.signals.activity.casefold()
    for memory, project in of.habits:
        named = f"{memory.trigger} {memory.title} {' '.join(memory.tags)}".casefold()
        fits = 1.0 if activity and activity in named else 0.6
        yield from _background([(memory, project)], fits)


def episodes(of: Situation) -> Iterator[Candidate]:
    """What happened lately, told as episodes."""
    yield from _background(of.episodes, 0.5)


def topics(of: Situation) -> Iterator[Candidate]:
    """What else can be asked for: a name each."""
    for place, (memory, project) in enumerate(of.latest):
        yield Candidate(
            item=items.topic(memory, project),
            section="index",
            score=memory.importance / (1 + place / 50),
            verdict=_trusted(memory),
        )


def cold(of: Situation) -> Iterator[Candidate]:
    """What this agent saved and has not needed for long: a name each, to be asked for."""
    for place, one in enumerate(of.cold):
        yield Candidate(
            item=saved.named(one),
            section="index",
            score=_COLD / (1 + place / 50),
            verdict="" if one.trust >= _TRUSTED else "untrusted",
        )


def _background(of: Sequence[tuple[Memory, str]], worth: float) -> Iterator[Candidate]:
    for memory, project in of:
        yield Candidate(
            item=items.of_memory(memory, project),
            section="background",
            score=worth * (0.5 + memory.importance) / 1.5,
            verdict=_trusted(memory),
        )


def _trusted(memory: Memory) -> str:
    return "" if memory.trust >= _TRUSTED else "untrusted"


#: in the order in which an item that several of them name is taken from
OF_A_TURN: tuple[Source, ...] = (corrections, open_threads, recent_errors, hot, found, important)
OF_AN_EPOCH: tuple[Source, ...] = (rules, habits, episodes, topics, cold)


def offered(sources: Sequence[Source], of: Situation) -> list[Candidate]:
    """Every candidate once, as the first source that does not leave it to others offers it.

    What is shown already, or is said by a better one, is a duplicate.
    """
    made: dict[str, Candidate] = {}
    texts: set[str] = set()
    corrected: set[str] = set()
    for candidate in (one for source in sources for one in source(of)):
        item = candidate.item
        new = item.kind == "correction"
        known_by = f"{item.id} for {item.beside[0]}" if new else item.id
        corrected |= {item.id} if new and len(item.beside) > 1 else set()
        before = made.get(known_by)
        if before is not None and (before.verdict != "floor" or candidate.verdict):
            continue
        whole = of.shown.get((item.id, ()))
        shown = None if new else of.shown.get((item.id, item.span), whole)
        verdict, why = candidate.verdict, candidate.why
        text = "" if verdict else " ".join(quoted(item.levels[0]).split())
        if not verdict and not new:
            if of.again:
                verdict, why = "cap", "nothing was said since this was asked before"
            elif shown is not None and item.levels[shown] == item.levels[0]:
                verdict, why = "duplicate", "shown already"
            elif text in texts:
                verdict, why = "duplicate", "another one says the same"
            elif item.id in corrected:
                verdict, why = "duplicate", "a correction says it"
        if not verdict:
            texts.add(text)
        made[known_by] = msgspec.structs.replace(
            candidate,
            score=round(candidate.score, _DIGITS),
            relevance=round(candidate.relevance, _DIGITS),
            verdict=verdict,
            why=why,
            known=shown,
        )
    return list(made.values())
