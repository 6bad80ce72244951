"""What leaves a window, by several ways of deciding; the receipt says of each chunk what and why.

What always holds, whichever way: all of it fits what the window can show. What is pinned and what the
person said last never leave; where they are too much for the window the question is summarised, then
the largest pinned ones. What is important, a decision or an instruction of the person stays as long as
there is room beside them, the smallest longest; a part of the room is theirs whatever stands beside
them. The last chunks, and what is worth keeping, stay as long as all of it takes no more than what is
held for that; the very last is summarised at most, and only where it takes most of the room by itself,
such as the results of many calls at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from holdfast.errors import Invalid
from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Decided, Verdict

from .chunks import Chunk
from .room import Room
from .scoring import Score

#: a summary takes this share of what it stands for, and at least so many tokens
_SHARE, _LEAST = 0.25, 24
#: tokens of the marks around a summary, or around all lines
MARKS = 46
#: why something never leaves, and is summarised at most
NEVER = ("pinned", "asked")
#: what should stay, and of the room what it may take beside what never leaves
_BOUND, _PART = ("decision", "instruction", "important"), 0.75
#: of all that can be shown, what stays takes so much at most, and leaves the rest to what comes
_HELD = 0.75
#: what is no longer takes no less in a summary, with the marks around it
_WORTH = 100
#: the strategy whose summaries have half of the room, whatever stays beside them
SUMMARIES = "recursive_summarization"


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be decided."""

    chunks: tuple[Chunk, ...]
    scores: tuple[Score, ...]
    #: what there is for chunks and summaries of them, beside the lines of what leaves
    room: Room
    #: and what never leaves may take, where those lines are as few as can be
    never: int
    settings: CompactSettings
    #: what the person said up to this event is answered, but for a question whose summary stands
    answered: int = 0


def decided(task: Task) -> list[Decided]:
    """A verdict on every chunk that, together, fits the room."""
    way = STRATEGIES.get(task.settings.strategy)
    if way is None:
        known = ", ".join(sorted(STRATEGIES))
        raise Invalid(f"{task.settings.strategy!r} is no strategy; there are {known}")
    verdicts = _protected(task, way(task))
    if not task.settings.summarize:
        verdicts = [
            ("drop", why) if verdict == "summarize" else (verdict, why) for verdict, why in verdicts
        ]
    return _fitted(task, verdicts)


_Judged = tuple[Verdict, str]


# ---- ways of deciding ------------------------------------------------------------------------------


def adaptive(task: Task) -> list[_Judged]:
    """By what each chunk is worth for what is asked now."""
    found: list[_Judged] = []
    for score in task.scores:
        if score.total >= task.settings.keep:
            found.append(("keep", "relevant"))
        elif score.total <= task.settings.drop:
            found.append(("drop", "low_relevance"))
        else:
            found.append(("summarize", "between"))
    return found


def sliding_window(task: Task) -> list[_Judged]:
    """The last turns stay."""
    turns = [n for n, chunk in enumerate(task.chunks) if chunk.turn]
    first = turns[-task.settings.turns] if len(turns) > task.settings.turns else 0
    return [
        ("keep", "in_window") if n >= first else ("drop", "before_window")
        for n in range(len(task.chunks))
    ]


def token_truncation(task: Task) -> list[_Judged]:
    """The latest that fit stay."""
    found: list[_Judged] = []
    left = task.room.aim
    for chunk in reversed(task.chunks):
        left -= chunk.tokens
        found.append(("keep", "fits") if left >= 0 else ("drop", "over_budget"))
    return found[::-1]


def recursive_summarization(task: Task) -> list[_Judged]:
    """The last chunks stay, all before them is summarised."""
    return [("summarize", "older")] * len(task.chunks)


STRATEGIES: dict[str, Callable[[Task], list[_Judged]]] = {
    "adaptive": adaptive,
    "sliding_window": sliding_window,
    "token_truncation": token_truncation,
    SUMMARIES: recursive_summarization,
}


# ---- what holds for all of them --------------------------------------------------------------------


def _protected(task: Task, judged: Sequence[_Judged]) -> list[_Judged]:
    """The verdicts, with what stays whatever it is worth."""
    found = list(judged)
    count = len(task.chunks)
    asked = [n for n, chunk in enumerate(task.chunks) if chunk.turn and chunk.first > task.answered]
    for n, chunk in enumerate(task.chunks):
        if asked and n == asked[-1]:
            found[n] = ("keep", "asked")
        elif chunk.stays:
            found[n] = ("keep", chunk.stays)
        elif n >= count - task.settings.recent:
            found[n] = ("keep", "recent")
    return found


def _fitted(task: Task, judged: Sequence[_Judged]) -> list[Decided]:
    """Step down what is worth least until all of it fits."""
    found = _weighed(task, judged)
    held = min(_staying(found), _for_late(task, found))
    _step_down_late(task, found, held)
    _step_down_free(task, found, held)
    _shorten_always(task, found)
    _step_down_bound(task, found)
    return found


def _weighed(task: Task, judged: Sequence[_Judged]) -> list[Decided]:
    """The verdicts with what each chunk was worth."""
    return [
        Decided(
            id=chunk.id,
            first=chunk.first,
            last=chunk.last,
            tokens=chunk.tokens,
            verdict=verdict,
            why=why,
            score=round(score.total, 6),
            parts={
                "similarity": round(score.similarity, 6),
                "recency": round(score.recency, 6),
                "importance": round(score.importance, 6),
            },
        )
        for chunk, score, (verdict, why) in zip(task.chunks, task.scores, judged, strict=True)
    ]


def _staying(found: Sequence[Decided]) -> int:
    """Tokens of what stays whatever it is worth."""
    return sum(one.tokens for one in found if one.why in _STAYS)


def _for_late(task: Task, found: Sequence[Decided]) -> int:
    """What the last chunks may take together with what must stay."""
    must = sum(one.tokens for one in found if one.why in _STAYS[1:])
    return min(task.room.most, max(task.room.hold, must + task.room.aim))


def _step_down_late(task: Task, found: list[Decided], held: int) -> None:
    """The last chunks, the oldest first; the very last only where it takes most of the room.

    Where that one has no room by itself it steps down before the others, which may stay then.
    """
    late = [n for n, one in enumerate(found) if one.why == "recent"]
    end = len(found) - 1
    giant = [n for n in late if n == end and 2 * found[n].tokens > task.room.aim]
    late = [n for n in late if n != end]
    taken = _staying(found)
    alone = taken - sum(found[n].tokens for n in late)
    for n in (*giant, *late) if alone > held else (*late, *giant):
        if taken <= held:
            return
        taken -= found[n].tokens
        found[n] = _lower(found[n], task.settings)
        taken += cost(found[n], task.settings) if n == end else 0


def _step_down_free(task: Task, found: list[Decided], held: int) -> None:
    """Summaries first, those of the last chunks after all others, then what is worth keeping."""
    room, end = task.room, len(found) - 1
    free = [n for n, one in enumerate(found) if one.why not in _STAYS]
    free = [n for n in free if n != end or found[n].why != "no_room"]
    by_worth = sorted(free, key=lambda n: (found[n].why == "no_room", found[n].score, n))
    short = [n for n in by_worth if found[n].verdict == "summarize"]
    worth = [n for n in by_worth if found[n].verdict == "keep"]
    most = min(room.most, max(room.aim, held + _for_summaries(task)))
    _step_down(found, short, most, task.settings)
    _step_down(found, [*worth, *worth], room.hold, task.settings)


def _for_summaries(task: Task) -> int:
    """What they have, whatever stays beside them."""
    return task.room.aim // 2 if task.settings.strategy == SUMMARIES else task.room.short


def _shorten_always(task: Task, found: list[Decided]) -> None:
    """What never leaves takes less where it does not fit beside a part for what should stay."""
    bound = _largest(found, _BOUND)
    beside = min(int(_PART * task.room.aim), sum(found[n].tokens for n in bound))
    for n in (*_largest(found, ("asked",)), *_largest(found, ("pinned",))):
        there = sum(cost(one, task.settings) for n, one in enumerate(found) if n not in bound)
        if there + beside > task.never and found[n].tokens > _WORTH:
            found[n] = replace(found[n], verdict="summarize")


def _step_down_bound(task: Task, found: list[Decided]) -> None:
    """What should stay, the largest first."""
    bound = _largest(found, _BOUND)
    beside = sum(cost(one, task.settings) for n, one in enumerate(found) if n not in bound)
    theirs = min(task.never, int(_PART * task.room.aim) + beside)
    room = max(int(_HELD * task.room.most), theirs)
    _step_down(found, [*bound, *bound], room, task.settings)


def _largest(found: Sequence[Decided], why: Sequence[str]) -> list[int]:
    """Those that stay for these reasons, the largest first."""
    there = [n for n, one in enumerate(found) if one.why in why]
    return sorted(there, key=lambda n: (-found[n].tokens, n))


def _step_down(
    found: list[Decided], order: Sequence[int], room: int, settings: CompactSettings
) -> None:
    """One after the other takes less, until all of them fit."""
    taken = sum(cost(one, settings) for one in found)
    for n in order:
        if taken <= room:
            return
        taken -= cost(found[n], settings)
        found[n] = _lower(found[n], settings)
        taken += cost(found[n], settings)


#: why something stays whatever it is worth; where there is no room, the first leave first, and the
#: last two never
_STAYS = ("recent", *_BOUND, *NEVER)


def _lower(one: Decided, settings: CompactSettings) -> Decided:
    shorter = summary_size(one.tokens, settings) < one.tokens
    if one.verdict == "keep" and settings.summarize and shorter and one.why != "no_room":
        return replace(one, verdict="summarize", why="no_room")
    return replace(one, verdict="drop", why=one.why if one.verdict == "drop" else "no_room")


def cost(one: Decided, settings: CompactSettings) -> int:
    """What a chunk takes in the window under its verdict; lines have a room of their own."""
    if one.verdict == "keep":
        return one.tokens
    if one.verdict == "drop":
        return 0
    # what never leaves has a summary of its own
    return summary_size(one.tokens, settings) + (MARKS if one.why in NEVER else 0)


def shortest(tokens: int) -> int:
    """How short the summary of what never leaves may become where there is little room."""
    return min(tokens, _LEAST // 2)


def summary_size(tokens: int, settings: CompactSettings) -> int:
    """How long the summary of so many tokens may be."""
    return min(tokens, max(_LEAST, min(settings.summary_tokens, int(_SHARE * tokens))))
