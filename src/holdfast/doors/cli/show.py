"""How things look: tables for people, JSON for machines, and no control character ever."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import msgspec
from rich.console import Console
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from holdfast.errors import HoldfastError

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

#: columns a paragraph has at least, however narrow the window is
_NARROWEST = 20
_LONGEST_VALUE = 80


def clean(text: object) -> str:
    """Text that cannot move the cursor, recolour the screen or reorder a line."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", str(text))


def out() -> Console:
    """Where answers go."""
    return Console(highlight=False, soft_wrap=False)


def say(text: str, style: str = "") -> None:
    """One paragraph."""
    out().print(Text(clean(text), style=style))


def beside(head: Text, text: str, style: str = "") -> None:
    """A paragraph to the right of its head: every line of it begins in the same column."""
    console = out()
    width = max(_NARROWEST, console.width - head.cell_len)
    lines = Text(clean(text), style=style).wrap(console, width, overflow="fold")
    for number, line in enumerate(lines or [Text()]):
        line.rstrip()
        begin = Text(" " * head.cell_len) if number else head
        console.print(begin + line, soft_wrap=True)


def indented(text: str, columns: int, style: str = "") -> None:
    """One paragraph, every line of it moved to the right."""
    beside(Text(" " * columns), text, style)


def page(text: str) -> None:
    """A text as it is, for a person or a model: no wrapping, no control character."""
    sys.stdout.write(clean(text) + "\n")


def framed(text: str) -> None:
    """A page with a line around it."""
    out().print(Panel(Text(clean(text)), expand=False))


def one_line(value: Any) -> str:
    """A value in a cell."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def all_of(value: Any) -> str:
    """A value as people write it: lists without brackets, and nothing for nothing."""
    if isinstance(value, list | tuple):
        return ", ".join(all_of(part) for part in value)
    if isinstance(value, dict) and value.keys() == {"type", "ref"}:  # an artifact
        return f"{value['type']}:{value['ref']}"
    return "" if value is None else one_line(value)


def in_short(value: Any) -> str:
    """The same on one line, and the beginning of what is long."""
    said = " ".join(all_of(value).split())
    return said if len(said) <= _LONGEST_VALUE else said[: _LONGEST_VALUE - 2] + " …"


def count(number: int, thing: str) -> str:
    """So many things, in words a person would use."""
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def moment(at: str) -> str:
    """A time as people read it: to the minute, UTC."""
    return at[:16].replace("T", " ")


def span(begin: str, end: str) -> str:
    """How long it was, in words."""
    try:
        seconds = (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
    except (ValueError, TypeError):
        return "?"
    days, rest = divmod(max(0, round(seconds)), 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, left = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (left, "s")]
    said = [f"{count} {unit}" for count, unit in parts if count]
    return " ".join(said[:2]) or "0 s"


def as_json(value: Any) -> None:
    """The same answer for a machine."""
    built = msgspec.to_builtins(value)
    text = msgspec.json.format(msgspec.json.encode(built), indent=2).decode()
    sys.stdout.write(_CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n")


def error(exc: HoldfastError, *, as_json: bool) -> None:
    """What went wrong, on stderr."""
    if as_json:
        said = {"error": type(exc).__name__, "message": str(exc)}
        sys.stderr.write(msgspec.json.encode(said).decode() + "\n")
    else:
        Console(stderr=True, highlight=False).print(
            Text.assemble(("holdfast: ", "bold red"), clean(exc))
        )


def warn(text: str) -> None:
    """Something a person should know, on stderr."""
    Console(stderr=True, highlight=False).print(Text(clean(text), "yellow"))


def table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "", whole: str = ""
) -> None:
    """A table; long cells wrap, nothing is cut away. The column `whole` never wraps: ids are copied.

    Where that leaves the others no room, each row is a paragraph instead.
    """
    cells = [
        [cell if isinstance(cell, Text) else Text(clean(cell)) for cell in row] for row in rows
    ]
    if whole and not _fits(columns, cells, columns.index(whole)):
        _paragraphs(columns, cells, title)
        return
    made = Table(title=clean(title) if title else None, title_justify="left", expand=False)
    for name in columns:
        made.add_column(name, overflow="fold", no_wrap=name == whole != "")
    for row in cells:
        made.add_row(*row)
    out().print(made)


def _fits(columns: Sequence[str], rows: Sequence[Sequence[Text]], whole: int) -> bool:
    """Does a table fit in which one column is as wide as it is, and no word of another is cut?"""
    words = [[len(name)] for name in columns]
    for row in rows:
        for n, cell in enumerate(row):
            parts = cell.plain.splitlines() if n == whole else cell.plain.split()
            words[n].append(max(map(len, parts), default=0))
    return sum(max(one) + 3 for one in words) + 1 <= out().width


def _paragraphs(columns: Sequence[str], rows: Sequence[Sequence[Text]], title: str) -> None:
    """Each row by itself: its first cell on a line of its own, the others below it."""
    if title:
        say(title)
    for row in rows:
        out().print(row[0], soft_wrap=True)
        rest = [f"{name} {cell.plain}" for name, cell in zip(columns, row, strict=True) if cell][1:]
        indented(", ".join(rest), 2)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr for work that may take long; silent where stderr is not a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=total or None)
        yield lambda done: bar.update(task, completed=done)
