"""Commands about compactions that were: which there were, and what one of them decided and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from holdfast.app import compacted
from holdfast.app.holdfast import Holdfast
from holdfast.model.compactions import ARCHIVED, Compaction, Named

from . import show
from .program import DEFAULT, Common, opened
from .receipts import plain
from .sessions import MINE, Whose, one_of, session

_VERDICTS = {"keep": "stays", "summarize": "summarised", "drop": "left"}


@session.command
def compactions(
    session_id: str | None = None, /, *, whose: Whose = MINE, common: Common = DEFAULT
) -> int:
    """List the compactions of a session, the last one first; `holdfast debug ID` shows one.

    Parameters
    ----------
    session_id
        Default: the one that was active last.
    """
    with opened(common) as hf:
        found = one_of(hf, session_id, whose).compactions()
        if common.json:
            show.as_json([_in_figures(one) for one in found])
        elif not found:
            show.say(
                "No compaction of it yet. A full window makes one, `holdfast compact` another."
            )
        else:
            columns = ("compaction", "at", "why", "strategy", "tokens", *_VERDICTS.values())
            show.table(columns, [_row(one) for one in found], whole="compaction")
    return 0


def _in_figures(of: Compaction) -> dict[str, Any]:
    """A compaction without its decisions, but how many there are of each kind."""
    said = {name: value for name, value in plain(of).items() if name not in ("past", "decided")}
    return {**said, **dict(zip(_VERDICTS, _counts(of), strict=True))}


def _row(of: Compaction) -> tuple[object, ...]:
    place = show.clean(f"{of.event_seq}\n{of.id}")
    tokens = f"{of.tokens_before:,} → {of.tokens_after:,}"
    return (place, show.moment(of.at), of.trigger, of.strategy, tokens, *_counts(of))


def _counts(of: Compaction) -> list[int]:
    verdicts = Counter(one.verdict for one in of.decided)
    return [verdicts[verdict] for verdict in ("keep", "summarize", "drop")]


# ---- one of them ---------------------------------------------------------------------------------


def receipt(hf: Holdfast, of: Compaction, *, as_json: bool) -> None:
    """All of a compaction: when and why it was, what became of every chunk."""
    decided = compacted.told(hf, of)
    if as_json:
        show.as_json({**plain(of), "decided": [plain(one) for one in decided]})
        return
    show.say(f"{of.id}  {show.moment(of.at)}  event {of.event_seq}", "bold")
    show.table(("compaction", ""), _about(of))
    columns = ("chunk", "what", "why", "tokens", "score")
    parts = ("similarity", "recency", "importance")
    rows = [_decision(one, parts) for one in decided]
    show.table((*columns, *parts, "says"), rows, whole="chunk")
    if any(one.verdict != "keep" for one in decided):
        show.say("`holdfast expand events A-B` shows a chunk verbatim.")


def _about(of: Compaction) -> list[tuple[str, str]]:
    stay, summarised, left = _counts(of)
    rows = [
        ("strategy", of.strategy),
        ("trigger", of.trigger),
        ("prompt", show.in_short(of.prompt) or "(nothing)"),
        ("window", f"{of.window:,} tokens" if of.window else "(nobody named one)"),
        ("tokens", f"{of.tokens_before:,} → {of.tokens_after:,}"),
        ("chunks", f"{stay} stay, {summarised} summarised, {left} left"),
        ("shown for the rest", f"{show.count(len(of.past.lines), 'line')}{_summaries(of)}"),
        ("by rule because", of.by_rule),
        ("follows", of.after),
    ]
    return [row for row in rows if row[1]]


def _summaries(of: Compaction) -> str:
    """How many summaries there are, and who wrote them."""
    writers = Counter(span.by for span in of.past.shorts)
    by = [
        f"{number} by {'rule' if who == 'rule' else who}"
        for who, number in sorted(writers.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    number = len(of.past.shorts)
    what = "1 summary" if number == 1 else f"{number:,} summaries"
    return f", {what}: {', '.join(by)}" if by else ""


def _decision(of: Named, parts: Sequence[str]) -> tuple[object, ...]:
    """A row; what was decided without weighing it has no score."""
    weighed = bool(of.parts) and of.why != ARCHIVED
    figures = [of.score, *(of.parts.get(name, 0.0) for name in parts)]
    shown = [f"{one:.2f}" if weighed else "" for one in figures]
    return (of.handle, of.verdict, of.why, f"{of.tokens:,}", *shown, of.says)
