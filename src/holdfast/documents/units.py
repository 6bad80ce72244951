"""What the cutters of each kind of file have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Unit(NamedTuple):
    """Where something begins that belongs together, up to the next one; always at a line's beginning."""

    start: int
    title: str = ""
    #: of a Markdown heading, 1 to 6; 0 for everything else
    level: int = 0


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Every line with the place it starts at, without its end. Only `\\n` ends one, as editors count."""
    start = 0
    for line in text.split("\n"):
        yield start, line.removesuffix("\r")
        start += len(line) + 1


def indentation(line: str) -> int:
    """How far a line is moved to the right."""
    return len(line) - len(line.lstrip())
