"""A document in parts: each short enough to be read at once, none cut off from what it belongs to.

What always holds: joined the parts are the text; the lines of a part are those its words stand on; a
part of Markdown holds no second heading of the level it begins with, nor one above that; any text works,
in time linear in its length.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from holdfast.model.documents import Part
from holdfast.text.passages import SENTENCE_END

from . import data, markdown, python, source
from .units import Unit, indentation, lines

#: about what one can take in at once; longer sections are cut
MOST = 1_500
#: a shorter piece says too little on its own and is joined to its neighbour
LEAST = 200
_LONGEST_TITLE = 200
_BLANK_LINES = re.compile(r"(?:[^\S\n]*+\n)*+")

_Cutter = Callable[[str], list[Unit]]


def _paragraphs(text: str) -> list[Unit]:
    """What stands behind blank lines."""
    found, blank = [], True
    for start, line in lines(text):
        if line.strip() and blank:
            found.append(Unit(start))
        blank = not line.strip()
    return found


def _python(text: str) -> list[Unit]:
    found = python.units(text)
    return source.units(text) if found is None else found


#: what is cut in which way, by the ends of names
_KINDS: tuple[tuple[_Cutter, str], ...] = (
    (markdown.units, "md markdown mdown mkd mdx qmd"),
    (_python, "py pyi"),
    (data.sql, "sql ddl psql"),
    (data.json, "json jsonc json5 geojson avsc"),
    (data.yaml, "yaml yml"),
    (data.toml, "toml ini cfg conf properties"),
    (
        source.units,
        "js jsx mjs cjs ts tsx mts go rs java kt kts scala swift c h cc cpp cxx hpp hh cs m mm php "
        "rb pl pm lua sh bash zsh fish ps1 r jl ex exs erl hs ml fs clj dart groovy gradle css scss "
        "less vue svelte tf hcl zig nim v",
    ),
    (source.schema, "proto graphql gql graphqls thrift avdl sol prisma"),
)
_CUTTERS = {ending: cutter for cutter, endings in _KINDS for ending in endings.split()}


class _Piece(msgspec.Struct, frozen=True):
    """A stretch of the text on its way to a part."""

    start: int
    end: int
    title: str
    #: of the heading it stands under; 0 before the first one, and where there are none
    level: int
    #: does it begin with that heading?
    heads: bool

    @property
    def size(self) -> int:
        return self.end - self.start


def parts(path: str, text: str) -> list[Part]:
    """A document by its structure, which the end of its name tells; an empty one has no parts."""
    if not text:
        return []
    ending = path.rpartition("/")[2].rpartition(".")[2].lower()
    units = _CUTTERS.get(ending, _paragraphs)(text)
    pieces = [piece for one in _pieces(text, units) for piece in _cut(text, one)]
    return _numbered(text, _joined(_joined(pieces, backwards=False), backwards=True))


def _pieces(text: str, units: Sequence[Unit]) -> list[_Piece]:
    """From each beginning to the next; blank lines stay with what is above them."""
    begun: list[Unit] = []
    for unit in units:
        start = _BLANK_LINES.match(text, unit.start)
        at = start.end() if start else unit.start
        if at < len(text) and (not begun or at > begun[-1].start):
            begun.append(unit._replace(start=at))
    if not begun or text[: begun[0].start].strip():
        begun.insert(0, Unit(0))
    ends = [unit.start for unit in begun[1:]] + [len(text)]
    return [
        _Piece(start if n else 0, end, title[:_LONGEST_TITLE], level, bool(level))
        for n, ((start, title, level), end) in enumerate(zip(begun, ends, strict=True))
    ]


# ---- what is too long ------------------------------------------------------------------------


def _cut(text: str, piece: _Piece) -> list[_Piece]:
    """A piece in pieces that are not too long, of about the same size."""
    places = [piece.start]
    while piece.end - places[-1] > MOST:
        left = piece.end - places[-1]
        aim = -(-left // -(-left // MOST))
        places.append(_best_end(text, places[-1], aim))
    places.append(piece.end)
    return [
        replace(piece, start=start, end=end, heads=piece.heads and start == piece.start)
        for start, end in pairwise(places)
    ]


def _best_end(text: str, start: int, aim: int) -> int:
    """Where to cut: best behind a blank line and before little indentation, near what is aimed at."""
    low, high = start + max(1, min(LEAST, aim // 2)), start + MOST
    window = text[start:high]
    best: tuple[bool, int, int] | None = None
    place = 0
    for end in re.finditer("\n", window):
        at = start + end.end()
        if at < low:
            continue
        line = text[at : at + 120].split("\n", 1)[0]
        if not line.strip():
            continue  # blank lines stay with what is above them
        above = text[max(start, at - 120) : at - 1].rpartition("\n")[2]
        key = (not above.strip(), -indentation(line), -abs(at - start - aim))
        if best is None or key > best:
            best, place = key, at
    if place:
        return place
    found = [start + one.end() for one in SENTENCE_END.finditer(window, low - start)]
    return found[-1] if found else text.rfind(" ", low, high) + 1 or high


# ---- what is too short -----------------------------------------------------------------------


def _joined(pieces: Sequence[_Piece], *, backwards: bool) -> list[_Piece]:
    """Small ones together with what follows them or, backwards, with what is before them."""
    made: list[_Piece] = []
    for piece in pieces:
        small = made and (piece if backwards else made[-1]).size < LEAST
        if small and _may_join(made[-1], piece):
            made[-1] = _together(made[-1], piece)
        else:
            made.append(piece)
    return made


def _may_join(one: _Piece, other: _Piece) -> bool:
    """Do they fit together, and is the second no heading beside or above the first?"""
    below = not other.heads or other.level > one.level
    return below and one.size + other.size <= MOST


def _together(one: _Piece, other: _Piece) -> _Piece:
    """Both as one, called by the heading above them; where there is none, by the larger of them."""
    titles = (one.title, other.title)
    if not one.level and not other.level and other.size > one.size:
        titles = (other.title, one.title)
    return _Piece(
        one.start,
        other.end,
        titles[0] or titles[1],
        one.level or other.level,
        one.heads or (not one.level and other.heads),
    )


# ---- lines -----------------------------------------------------------------------------------


def _numbered(text: str, pieces: Sequence[_Piece]) -> list[Part]:
    """With the lines that their words stand on; of a blank one the line it begins on."""
    ends = [end.start() for end in re.finditer("\n", text)]
    made = []
    for piece in pieces:
        said = text[piece.start : piece.end]
        blank = not said.strip()
        first = piece.start + (0 if blank else len(said) - len(said.lstrip()))
        last = piece.start + (0 if blank else len(said.rstrip()) - 1)
        line = bisect_left(ends, first)
        begin = ends[line - 1] + 1 if line else 0
        made.append(
            Part(
                text=said,
                title=piece.title,
                line=line + 1,
                line_end=bisect_left(ends, last) + 1,
                column=0 if begin >= piece.start else first - begin,
            )
        )
    return made
