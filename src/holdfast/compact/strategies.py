"""What leaves a window, by several ways of deciding; the receipt says of each chunk what and why.

What always holds, whichever way: what the person said last stays, unless somebody named a room that is
smaller. What is pinned or important, a decision or an instruction of the person stays as long as all of
that fits what is held for it, which is more than the room; pinned ones that do not fit by themselves are
summarised, the oldest first. An instruction somewhere in a long text stays as long as there is room, and
its sentence in a line. The last chunks stay where there is room, which what must stay does not take
whole; the very last is summarised at most, and only where it takes most of the room by itself, such
as the results of many calls at once. A long question alone makes no instruction leave: a part of the
room is theirs, whatever stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from holdfast.errors import Invalid
from holdfast.model.compact import CompactSettings
from holdfast.model.compactions import Decided, Verdict

from .chunks import Chunk
from .scoring import Score

#: a summary takes this share of what it stands for, and at least so many tokens
_SHARE, _LEAST = 0.25, 24
#: of the room, what is important, decided or an instruction may take beside what always stays
_BOUND = 0.75
#: a text of more tokens with an instruction in it is more than that instruction
_RULE = 200


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be decided."""

    chunks: tuple[Chunk, ...]
    scores: tuple[Score, ...]
    #: tokens there are for chunks and summaries of them
    room: int
    #: and for the lines of what leaves, too
    whole: int = 0
    #: and that what must stay may take, though the room is smaller
    hold: int = 0
    #: somebody named that room: no question takes more than all of it
    named: bool = False
    settings: CompactSettings


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
    left = task.room
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
    "recursive_summarization": recursive_summarization,
}


# ---- what holds for all of them --------------------------------------------------------------------


def _protected(task: Task, judged: Sequence[_Judged]) -> list[_Judged]:
    """The verdicts, with what stays whatever it is worth."""
    found = list(judged)
    count = len(task.chunks)
    asked = [n for n, chunk in enumerate(task.chunks) if chunk.turn]
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
    found = [
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
    hold = max(task.room, task.hold)
    pinned = [n for n, one in enumerate(found) if one.why == "pinned"]
    while pinned and sum(found[n].tokens for n in pinned) > max(hold, task.whole):
        found[pinned[0]] = replace(found[pinned[0]], verdict="summarize", why="no_room")
        pinned.pop(0)
    for n, one in enumerate(found):
        if task.named and one.why == "asked" and one.tokens > task.room:
            found[n] = replace(one, verdict="summarize", why="no_room")
    free, late, bound = _in_order(found, task.room)
    _step_down(found, free, task.room, task.settings)
    must = sum(cost(one, task.settings) for one in found if one.why in _STAYS[1:])
    _step_down(found, late, min(hold, must + task.room), task.settings)
    theirs = int(_BOUND * task.room) + sum(
        cost(one, task.settings) for n, one in enumerate(found) if n not in bound
    )
    long = [n for n in bound if found[n].why == "instruction" and found[n].tokens > _RULE]
    _step_down(found, long, max(task.room, theirs), task.settings)
    _step_down(found, bound, max(hold, theirs), task.settings)
    return found


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


def _in_order(found: Sequence[Decided], room: int) -> tuple[list[int], list[int], list[int]]:
    """Which steps down first: summaries, then what is merely relevant; the last; what should stay."""
    free = [n for n, one in enumerate(found) if one.why not in _STAYS]
    by_worth = sorted(free, key=lambda n: (found[n].score, n))
    summaries = [n for n in by_worth if found[n].verdict == "summarize"]
    kept = [n for n in by_worth if found[n].verdict == "keep"]
    late = [n for n, one in enumerate(found[:-1]) if one.why == "recent"]
    end = len(found) - 1
    giant = [end] if found and found[end].why == "recent" and 2 * found[end].tokens > room else []
    bound = [[n for n, one in enumerate(found) if one.why == why] for why in _STAYS[1:4]]
    # each that is kept steps down twice: to a summary, then out; a giant one that came last only once
    return (
        [*summaries, *kept, *kept],
        [*late, *late, *giant],
        [n for of in bound for n in (*of, *of)],
    )


#: why something stays whatever it is worth; when there is no room at all, what stands first leaves
#: first, and the last two never
_STAYS = ("recent", "decision", "instruction", "important", "pinned", "asked")


def _lower(one: Decided, settings: CompactSettings) -> Decided:
    shorter = summary_size(one.tokens, settings) < one.tokens
    if one.verdict == "keep" and settings.summarize and shorter and one.why != "no_room":
        return replace(one, verdict="summarize", why="no_room")
    return replace(one, verdict="drop", why=one.why if one.verdict == "drop" else "no_room")


def cost(one: Decided, settings: CompactSettings) -> int:
    """What a chunk takes in the window under its verdict; lines have a room of their own."""
    if one.verdict == "keep":
        return one.tokens
    return summary_size(one.tokens, settings) if one.verdict == "summarize" else 0


def summary_size(tokens: int, settings: CompactSettings) -> int:
    """How long the summary of so many tokens may be."""
    return min(tokens, max(_LEAST, min(settings.summary_tokens, int(_SHARE * tokens))))
