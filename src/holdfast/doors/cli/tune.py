"""The command that tries other settings of compaction on recorded sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from holdfast.app.tuning import MOST
from holdfast.errors import Conflict
from holdfast.model.compact import CompactSettings
from holdfast.model.tuning import PARTS, Figures, Proposal, Row, Tuned

from . import show
from .program import DEFAULT, Common, app, opened
from .sessions import MINE, Whose

#: rows of settings that are shown to people, and columns of the longest bar
_ROWS, _WIDEST = 12, 40
#: what became of chunks, and how a bar shows it
_SIGNS = {"keep": "█", "summarize": "▒", "drop": "·"}
#: scores from which on, or up to which, something becomes of a chunk
_MARKS = ("drop", "keep")


@app.command
def tune(
    *,
    window: int | None = None,
    model: str = "",
    most: int = MOST,
    quick: Annotated[bool, Parameter(negative=())] = False,
    apply: Annotated[bool, Parameter(negative=())] = False,
    whose: Whose = MINE,
    common: Common = DEFAULT,
) -> int:
    """Replay recorded sessions under other settings of compaction, and propose the best.

    Parameters
    ----------
    window
        In a window of so many tokens. Default: the model's, or the largest that sessions fill.
    model
        Whose window it is, and who counts the tokens.
    most
        The newest so many sessions that fill the window.
    quick
        Only the knobs that matter most, once.
    apply
        Write the proposal into config.toml, if it wins on the sessions it was not chosen by.
    """
    with opened(common) as hf:
        with show.progress("replaying", 100) as progress:
            tuned = hf.tune(
                window=window,
                model=model,
                user=whose.user,
                agent=whose.agent,
                most=most,
                quick=quick,
                apply=apply,
                progress=progress,
            )
        now = hf.settings.compact
    if common.json:
        show.as_json(tuned)
    else:
        _show(tuned, now)
    return Conflict.exit_code if tuned.refused else 0


def _show(tuned: Tuned, now: CompactSettings) -> None:
    number = len(tuned.seen) + len(tuned.unseen)
    for note in (one for one in tuned.notes if one != tuned.refused):
        show.warn(f"{note[:1].upper()}{note[1:]}.")
    show.say(
        f"{show.count(number, 'session')} in a window of {tuned.window:,} tokens, "
        f"{tuned.history:,} of them for the conversation; {tuned.short:,} too short for it."
    )
    if tuned.now is not None:
        _tables(tuned, tuned.now, now)
    if tuned.applied:
        show.say(f"Written into {tuned.applied}, for whatever is opened from now on.", "bold green")
    elif tuned.refused:
        show.warn(f"Nothing was written: {tuned.refused}.")


def _tables(tuned: Tuned, figures: Figures, now: CompactSettings) -> None:
    rows = [("as set", tuned.rows[0].seen)] if tuned.rows else []
    others = _distinct(tuned.rows)
    rows += [(_said(row.knobs), row.seen) for row in others[:_ROWS]]
    if rows:
        show.table(
            ("settings", "price", "saved", "missed", "fetches", "compactions"),
            [(what, *_cells(of)) for what, of in rows],
            title=f"Tried on {show.count(len(tuned.seen), 'session')}, the cheapest first",
        )
        if len(others) > _ROWS:
            show.say(
                f"{len(others) - _ROWS:,} more came to something else; --json shows all of them."
            )
    drops = [(one.why, f"{one.chunks:,}", f"{one.tokens:,}") for one in figures.drops]
    show.table(("left, as set, because", "chunks", "tokens"), drops)
    _histogram(figures.scores, now)
    if tuned.proposal is None and tuned.rows:
        show.say("Nothing that was tried is better than what is set.")
    if tuned.proposal is not None:
        _proposal(tuned.proposal, now, len(tuned.unseen))
        if tuned.proposal.wins and not tuned.applied and not tuned.refused:
            show.say("holdfast tune --apply writes it into your config.toml.")


def _distinct(rows: Sequence[Row]) -> list[Row]:
    """What came to something else than what is set, the cheapest first.

    Of those that came to the same the one that turns the fewest knobs.
    """
    found: dict[tuple[object, ...], Row] = {}
    for row in sorted(rows, key=lambda row: (row.seen.price, len(row.knobs))):
        found.setdefault((row.seen.price, row.seen.sent, row.seen.missed), row)
    return [row for row in found.values() if row.knobs]


def _said(knobs: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in knobs.items())


def _cells(of: Figures) -> tuple[str, ...]:
    missed = f"{of.regret:.1%} ({of.missed:,} of {of.needed:,})"
    return (
        f"{of.price:,.0f}",
        f"{of.savings:.1%}",
        missed,
        f"{of.fetched:,}",
        f"{of.compactions:,}",
    )


def _histogram(scores: Mapping[str, tuple[int, ...]], now: CompactSettings) -> None:
    """How many chunks had which score, and what became of them."""
    sums = [sum(parts) for parts in zip(*scores.values(), strict=True)] or [0]
    if not any(sums):
        return
    marked = {name: min(PARTS - 1, int(getattr(now, name) * PARTS + 1e-9)) for name in _MARKS}
    there = [*(n for n, count in enumerate(sums) if count), *marked.values()]
    show.say(f"Scores, as set: {', '.join(f'{sign} {what}' for what, sign in _SIGNS.items())}")
    for n in range(min(there), max(there) + 1):
        bar = "".join(
            sign * round(_WIDEST * scores[what][n] / max(sums))
            for what, sign in _SIGNS.items()
            if what in scores
        )
        marks = " and ".join(name for name, part in marked.items() if part == n)
        mark = f"  ← {marks}" if marks else ""
        show.say(f"{n / PARTS:5.2f}  {bar} {sums[n]:,}{mark}")


def _proposal(of: Proposal, now: CompactSettings, unseen: int) -> None:
    knobs = [(name, getattr(now, name), value) for name, value in of.knobs.items()]
    show.table(("proposed", "set", "better"), knobs)
    show.table(
        ("on the others", "price", "saved", "missed", "fetches", "compactions"),
        [("as set", *_cells(of.before)), ("proposed", *_cells(of.after))],
        title=f"On {show.count(unseen, 'session')} it was not chosen by",
    )
    show.say(f"Where it was chosen: {of.seen.why}.")
    style = "bold green" if of.wins else "yellow"
    verdict = "It wins" if of.wins else "It does not win"
    show.say(f"{verdict} on the others: {of.unseen.why}.", style)
