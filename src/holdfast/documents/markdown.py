"""Markdown by its headings. What looks like one in code, in a comment or in front matter is none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .units import Unit, lines

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_COMMENT, _COMMENT_END = re.compile(r" {0,3}<!--"), re.compile("-->")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?:(?!---|\.\.\.)[^\n]*\n)*+(?:---|\.\.\.)[ \t]*(?:\r?\n|$)"
)
_LONGEST_FRONT_MATTER = 10_000
#: what a line of plain prose does not begin with
_NOT_PROSE = re.compile(r"\s*$|\s{4}|\s*[#>|<`~*+-]|\s*[0-9]{1,9}[.)]\s")


def units(text: str) -> list[Unit]:
    """Each heading with what stands under it; its title is the path of headings down to it."""
    path: list[tuple[int, str]] = []
    found = []
    for start, level, title in _headings(text):
        path = [(of, said) for of, said in path if of < level]
        path.append((level, title))
        found.append(Unit(start, " > ".join(said for _, said in path if said), level))
    return found


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Place, level and words of every heading."""
    # what ends the code or the comment that a line stands in
    ends: re.Pattern[str] | None = None
    # the line before, when it may be the words of a heading that a line under it makes one
    prose: tuple[int, str] | None = None
    alone = True
    for start, line in _without_front_matter(text):
        if ends is not None:
            ends = None if ends.search(line) else ends
            prose, alone = None, True
        elif (ends := _opened(line)) is not None:
            prose = None
        elif (heading := _HEADING.match(line)) is not None:
            yield start, len(heading[1]), _words(line[heading.end() :])
            prose, alone = None, True
        elif prose is not None and (under := _UNDERLINE.match(line)) is not None:
            yield prose[0], 1 if under[1][0] == "=" else 2, prose[1].strip()
            prose, alone = None, True
        else:
            prose = (start, line) if alone and not _NOT_PROSE.match(line) else None
            alone = not line.strip()


def _opened(line: str) -> re.Pattern[str] | None:
    """What ends the code or the comment that begins with a line; None when it begins none."""
    fence = _FENCE.match(line)
    if fence is not None and "`" not in line[fence.end() :]:
        return re.compile(f"^ {{0,3}}{fence[1][0]}{{{len(fence[1])},}}\\s*$")
    return _COMMENT_END if _COMMENT.match(line) and not _COMMENT_END.search(line) else None


def _without_front_matter(text: str) -> Iterator[tuple[int, str]]:
    closed = _FRONT_MATTER.match(text[:_LONGEST_FRONT_MATTER])
    for start, line in lines(text):
        if closed is None or start >= closed.end():
            yield start, line


def _words(said: str) -> str:
    """The words of a heading, without the marks that may close it."""
    words = said.strip()
    bare = words.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else words
