"""Python by its definitions: functions, classes, and each method of a class."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence

from .units import Unit, lines

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
#: Python ends a line there, and nobody else does; and a long name of marks takes it for ever
_NOT_FOR_US = re.compile(r"\r(?!\n)|[^\x00-\x7f]{400}")


def units(text: str) -> list[Unit] | None:
    """Each definition, with the comments right above it; None for what is not Python."""
    if _NOT_FOR_US.search(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # what a compiler thinks of somebody's file is not our matter
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    table = list(lines(text))
    found: list[Unit] = []
    for line, title in _begins(tree.body, ""):
        start = table[_with_comments(table, line - 1)][0]
        if not found or start > found[-1].start:
            found.append(Unit(start, title))
    return found


def _begins(body: Sequence[ast.stmt], of: str) -> Iterator[tuple[int, str]]:
    """The first line of each definition, and of the statements behind one."""
    behind = not of  # what a class begins with stays with its name
    for node in body:
        if isinstance(node, _Definition):
            name = f"{of}.{node.name}" if of else node.name
            yield min([node.lineno, *(mark.lineno for mark in node.decorator_list)]), name
            if isinstance(node, ast.ClassDef) and not of:
                yield from _begins(node.body, name)
            behind = True
        elif behind:
            yield node.lineno, of
            behind = False


def _with_comments(table: Sequence[tuple[int, str]], at: int) -> int:
    """The line where the comment begins that stands right above a line."""
    while at and table[at - 1][1].lstrip().startswith("#"):
        at -= 1
    return at
