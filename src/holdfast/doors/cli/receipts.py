"""How a receipt looks: for people as tables, for machines with every part by its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict
from rich import box
from rich.table import Table
from rich.text import Text

from holdfast.app.packs import Followed, Told, reason
from holdfast.model.compose import LEVELS, SECTIONS
from holdfast.model.packs import Receipt, SectionFigures, Weighed

from . import show

#: columns of numbers and of what is between columns; columns that words have at least
_NARROW, _NARROWEST = 27, 30


def plain(value: Any) -> dict[str, Any]:
    """A struct as JSON has it."""
    built: dict[str, Any] = msgspec.to_builtins(value)
    return built


def by_name(of: Receipt, said: Sequence[Told] = ()) -> dict[str, Any]:
    """A receipt for a machine: every part of it by name, and what each candidate says."""
    told = plain(of)
    for n, (one, candidate) in enumerate(zip(of.candidates, told["candidates"], strict=True)):
        candidate["shown"] = asdict(one.shown)
        if said:
            candidate.update(head=said[n].head, says=said[n].text)
    return told


def follow(of: Followed, *, as_json: bool) -> None:
    """One memory or event, step by step."""
    if as_json:
        found = [{**plain(one), "shown": asdict(one.shown)} for one in of.found]
        show.as_json({**plain(of), "found": found})
        return
    show.say(f"{of.of} in {of.pack}", "bold")
    if of.says:
        show.say(show.in_short(of.says), "dim")
    for number, step in enumerate(of.steps, 1):
        show.beside(Text(f"{number:>3}. "), step)


def receipt(of: Receipt, said: Sequence[Told]) -> None:
    """The whole receipt as tables; `said` is what each candidate says."""
    show.say(f"{of.pack}  {show.moment(of.at)}  behind event {of.position}", "bold")
    show.say(f"asked: {of.query or '(nothing)'}")
    began = f"began with it: {of.epoch_began}" if of.epoch_began else "goes on"
    show.say(f"epoch {of.epoch} {began}; {of.stable_prefix_tokens:,} tokens as before")
    none = SectionFigures(tokens=0)
    figures = [(name, of.sections.get(name, none)) for name in (*SECTIONS, "total")]
    rows = [
        (name, one.entries or "", f"{one.tokens:,}", "" if one.cap is None else f"{one.cap:,}")
        for name, one in figures
    ]
    show.table(("section", "entries", "tokens", "of"), rows, f"{of.counted_with} tokens")
    _candidates(of, said)
    for notice in of.notices:
        show.say(notice, "yellow")
    show.say(f"Chance that the answer was found: {of.confidence:.0%}.")


def _candidates(of: Receipt, said: Sequence[Told]) -> None:
    """Every candidate, section by section as they are rendered: what is shown, then the best left."""
    console = show.out()
    room = console.width - _NARROW
    words = max(_NARROWEST, room * 5 // 8)
    made = Table(
        title=show.count(len(of.candidates), "candidate"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    made.add_column("n", justify="right", width=4)
    made.add_column("what it says", overflow="fold", width=words)
    made.add_column("tokens", overflow="fold", width=10)
    made.add_column("score", overflow="fold", width=6)
    made.add_column("verdict", overflow="fold", width=max(_NARROWEST // 2, room - words))
    for section in SECTIONS:
        pairs = zip(of.candidates, said, strict=True)
        mine = [(one, told) for one, told in pairs if one.shown.section == section]
        if mine:
            made.add_section()
            made.add_row("", Text(section, "bold"))
        for one, told in sorted(mine, key=_order):
            made.add_row(*_candidate(one, told, 2 * words))
    console.print(made)


def _order(pair: tuple[Weighed, Told]) -> tuple[bool, int, float]:
    one = pair[0]
    return one.verdict != "taken", one.shown.number, -one.score


def _candidate(one: Weighed, told: Told, most: int) -> tuple[Text, ...]:
    taken = one.verdict == "taken"
    size = one.shown.tokens if taken else next(iter(one.sizes), 0)
    says = " ".join(show.clean(told.text).split())
    says = says if len(says) <= most else f"{says[: most - 2]} …"
    about = ", ".join(filter(None, (told.head, one.shown.kind)))
    return (
        Text(str(one.shown.number or "")),
        Text.assemble(says, (f"\n{show.clean(about)}\n{show.clean(one.shown.id)}", "dim")),
        Text(f"{size} {LEVELS[one.shown.level]}" if taken else f"({size})" if size else ""),
        Text(f"{one.score:.3f}" + (f" ({one.relevance:.0%})" if one.parts else "")),
        Text(show.clean(reason(one)), "green" if taken else "yellow"),
    )
