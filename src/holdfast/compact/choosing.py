"""Which settings are better, on sessions they were chosen by and on others.

Settings are better when all of it costs less (`simulating`: prompts, and fetching back what was
missed), in more sessions than it costs more, and not noticeably more of what was needed is missed.
Knobs are turned one after the other, each from the best so far. What comes out wins only if it is
better by a margin on sessions it was not chosen by, in so many of them that chance would hardly do
the same.

What always holds: the order of sessions makes no difference; what is no better is not chosen, and
what is set wins a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import comb
from typing import Any

from msgspec.structs import replace

from holdfast.model.compact import CompactSettings
from holdfast.model.contradictions import contradiction
from holdfast.model.tuning import PARTS, Drops, Figures, Judged

from .simulating import Lived, price

#: sessions without which nothing wins: half of them cheaper by chance is less likely than `_CHANCE`
NEEDED = 8
#: a result so likely by chance is none
_CHANCE = 0.1
#: what a proposal must save of the price, and each knob it turns by itself
_MARGIN = 0.01
#: so much more of what was needed may be missed
_REGRET = 0.01
#: what is tried of each knob, those first that matter most
_KNOBS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("compact_to", (0.15, 0.25, 0.35, 0.5)),
    ("compact_at", (0.35, 0.5, 0.65, 0.8)),
    (
        "strategy",
        ("adaptive", "recursive_summarization", "sliding_window", "token_truncation"),
    ),
    ("recent", (4, 10, 20)),
    ("drop", (0.1, 0.2, 0.3, 0.45)),
    ("keep", (0.5, 0.7, 0.9)),
    ("summary_tokens", (120, 500, 1_000)),
    ("lines", (0.15, 0.3, 0.5)),
    ("anew", (0.01, 0.02, 0.05)),
    ("similarity", (0.4, 0.6, 0.8)),
    ("recency", (0.1, 0.2, 0.4)),
    ("recency_hours", (1.0, 6.0, 24.0)),
)
_QUICK = 4
#: the knobs are gone through so often, unless nothing changes any more
_ROUNDS = 2

Measure = Callable[[CompactSettings], Sequence[Lived]]


def searched(
    now: CompactSettings, measure: Measure, *, quick: bool = False
) -> tuple[CompactSettings, list[tuple[CompactSettings, Sequence[Lived]]]]:
    """The best settings on some sessions, and everything that was tried on the way."""
    tried: dict[CompactSettings, Sequence[Lived]] = {now: measure(now)}
    best = now
    for _ in range(1 if quick else _ROUNDS):
        before = best
        for one in _KNOBS[: _QUICK if quick else None]:
            for other in _turned(best, *one):
                if other not in tried:
                    tried[other] = measure(other)
            best = _best([best, *_turned(best, *one)], now, tried)
        if best == before:
            break
    return best, list(tried.items())


def most_tried(*, quick: bool = False) -> int:
    """No search tries more settings than this."""
    knobs = _KNOBS[: _QUICK if quick else None]
    return 1 + (1 if quick else _ROUNDS) * sum(len(values) for _, values in knobs)


def _turned(of: CompactSettings, name: str, values: Sequence[Any]) -> Iterator[CompactSettings]:
    for value in values:
        other = replace(of, **{name: value})
        if value != getattr(of, name) and contradiction(other) is None:
            yield other


def _best(
    among: Sequence[CompactSettings],
    now: CompactSettings,
    tried: dict[CompactSettings, Sequence[Lived]],
) -> CompactSettings:
    """The cheapest that is better than the first; the first where none is."""
    found = best = among[0]
    for one in among[1:]:
        seen = judged(tried[best], tried[one])
        fair = judged(tried[now], tried[one])
        better = seen.gain >= _MARGIN and seen.cheaper >= seen.dearer and _no_worse(fair)
        if better and price(tried[one]) < price(tried[found]):
            found = one
    return found


def regret(of: Sequence[Lived]) -> float:
    """Of what was needed, the share that was missed."""
    needed = sum(one.needed for one in of)
    return sum(one.missed for one in of) / needed if needed else 0.0


def _no_worse(of: Judged) -> bool:
    return of.regret_after <= of.regret_before + _REGRET


def judged(first: Sequence[Lived], second: Sequence[Lived]) -> Judged:
    """The second settings against the first, session by session."""
    pairs = list(zip(first, second, strict=True))
    cheaper = sum(other.price < one.price for one, other in pairs)
    dearer = sum(other.price > one.price for one, other in pairs)
    before = price(first)
    found = Judged(
        cheaper=cheaper,
        dearer=dearer,
        same=len(pairs) - cheaper - dearer,
        gain=1 - price(second) / before if before else 0.0,
        chance=_chance(cheaper, dearer),
        regret_before=regret(first),
        regret_after=regret(second),
        wins=False,
        why="",
    )
    lost = _lost(found)
    how = f"{found.gain:.1%} cheaper, in {cheaper} of {len(pairs)} sessions and dearer in {dearer}"
    return replace(found, wins=not lost, why=lost or how)


def _lost(of: Judged) -> str:
    """Why the second does not win; empty where it does."""
    number = of.cheaper + of.dearer + of.same
    if of.gain < _MARGIN:
        return f"it saves {of.gain:.1%} of the price, and less than {_MARGIN:.0%} is nothing"
    if of.chance > _CHANCE:
        how = f"it is cheaper in {of.cheaper} of {number} sessions and dearer in {of.dearer}"
        return f"{how}, which may be chance"
    if not _no_worse(of):
        now = f"it misses {of.regret_after:.1%} of what was needed"
        return f"{now} instead of {of.regret_before:.1%}"
    return ""


def _chance(cheaper: int, dearer: int) -> float:
    """How likely so many of those that differ would be cheaper if a coin decided."""
    number = cheaper + dearer
    ways = sum(comb(number, k) for k in range(cheaper, number + 1))
    return float(ways / 2**number)


def halves(sizes: Sequence[tuple[int, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sessions in two halves of about the same sizes; where one is left over the second has it."""
    ids = [name for _, name in sorted(sizes)]
    second = {name for n, name in enumerate(ids) if n % 4 in (0, 3)}
    return tuple(name for name in ids if name not in second), tuple(
        name for name in ids if name in second
    )


def figures(of: Sequence[Lived], whole: Sequence[Lived]) -> Figures:
    """What sessions come to together; `whole` are the same carrying everything."""
    drops: dict[str, tuple[int, int]] = {}
    scores: dict[str, list[int]] = {}
    for one in of:
        for why, (chunks, tokens) in one.drops.items():
            known = drops.get(why, (0, 0))
            drops[why] = (known[0] + chunks, known[1] + tokens)
        for verdict, parts in one.scores.items():
            sums = scores.setdefault(verdict, [0] * PARTS)
            scores[verdict] = [a + b for a, b in zip(sums, parts, strict=True)]
    listed = [Drops(why=why, chunks=n, tokens=t) for why, (n, t) in drops.items()]
    all_of_it = price(whole)
    return Figures(
        sessions=len(of),
        steps=sum(one.steps for one in of),
        sent=sum(one.sent for one in of),
        cached=sum(one.cached for one in of),
        fullest=max((one.fullest for one in of), default=0),
        price=price(of),
        savings=1 - price(of) / all_of_it if all_of_it else 0.0,
        needed=sum(one.needed for one in of),
        missed=sum(one.missed for one in of),
        fetched=sum(one.fetched for one in of),
        regret=regret(of),
        compactions=sum(one.compactions for one in of),
        drops=tuple(sorted(listed, key=lambda one: (-one.tokens, one.why))),
        scores={verdict: tuple(scores[verdict]) for verdict in sorted(scores)},
    )
