"""A Markdown text in blocks: prose, headings, tables, fenced code. Any text whatever has blocks."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Sort = Literal["prose", "heading", "table", "code"]

# Four tildes and more underline a heading in other markups.
_FENCE = re.compile(r"\s*(`{3,}|~~~(?!~))[ \t]*([\w+#.-]{0,20})[^`]*")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+\S")
_RUN = re.compile(r"`{3,}|~{3,}")


class Block(msgspec.Struct, frozen=True):
    """Lines of one sort, without what fences them in."""

    sort: Sort
    lines: tuple[str, ...]
    #: the number of its first line in the text
    first: int
    #: what a fence says about the language
    language: str = ""


def blocks(text: str) -> list[Block]:
    """The blocks in order; a fence that is never closed reaches to the end."""
    found: list[Block] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        opened = _FENCE.fullmatch(lines[at])
        if opened:
            end, inside = _fenced(lines, at + 1, opened[1])
            found.append(Block("code", inside, at + 1, opened[2]))
        else:
            sort = _sort(lines[at])
            end = at + 1
            while end < len(lines) and sort != "heading" and _goes_on(lines[end], sort):
                end += 1
            found.append(Block(sort, tuple(lines[at:end]), at))
        at = end
    return found


def without_fences(text: str) -> str:
    """The text with every run that could open or close a fence made one character."""
    return _RUN.sub(lambda run: run[0][0], text)


def is_closed(text: str) -> bool:
    """Whether every run that could be a fence is one, on its own line, opened and closed in turn."""
    runs = len(_RUN.findall(text))
    if not runs:
        return True
    lines = iter(text.splitlines())
    for line in lines:
        opened = _FENCE.fullmatch(line)
        if opened:
            runs -= 2
            if not any(inside.strip() == opened[1] for inside in lines):
                return False
    return runs == 0


def _fenced(lines: list[str], at: int, fence: str) -> tuple[int, tuple[str, ...]]:
    """Where the text goes on behind what a fence opened, and the lines in between."""
    inside: list[str] = []
    while at < len(lines):
        line = lines[at].rstrip()
        at += 1
        if line.endswith(fence):
            last = line.rstrip(fence[0])
            inside += [last] if last.strip() else []
            break
        inside.append(line)
    return at, tuple(inside)


def _goes_on(line: str, sort: Sort) -> bool:
    return _sort(line) == sort and not _FENCE.fullmatch(line)


def _sort(line: str) -> Sort:
    if _HEADING.match(line):
        return "heading"
    bare = line.strip()
    return "table" if len(bare) > 1 and bare[0] == bare[-1] == "|" else "prose"
