"""Reading a context back: its blocks, its entries, and whatever must not be in it.

Written from what a context promises and not from the code that writes one, so that both can be wrong
only in different ways.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

#: what opens or closes a mark of ours, or one of a model's own template, however it is spaced
SUSPECT = re.compile(r"[<\uff1c\ufe64]\s*/?\s*(?:hf\s*:|\|)", re.IGNORECASE)
_MARK = re.compile(r'<(/?)hf:([a-z]+)((?: [a-z]+="[^"]*")*)>')
_NUMBER = re.compile(r"^\[(\d+)(\+?)\] ", re.MULTILINE)
_ATTRIBUTE = re.compile(r'([a-z]+)="([^"]*)"')
#: what hides, reorders or carries a hidden text
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\U000e0000-\U000e01ef]"
)


class Block(NamedTuple):
    """One block of a context."""

    mark: str
    attributes: dict[str, str]
    body: str
    start: int
    end: int


def blocks(text: str) -> list[Block]:
    """Every block in order; an assertion fails where a mark has no other half or stands in a block."""
    found: list[Block] = []
    opening: re.Match[str] | None = None
    for mark in _MARK.finditer(text):
        closes, name, attributes = mark.groups()
        if closes:
            assert opening is not None, f"</hf:{name}> closes nothing"
            assert name == opening[2], f"</hf:{name}> closes <hf:{opening[2]}>"
            assert not attributes
            body = text[opening.end() : mark.start()]
            named = dict(_ATTRIBUTE.findall(opening[3]))
            found.append(Block(name, named, body, opening.start(), mark.end()))
            opening = None
        else:
            assert opening is None, f"<hf:{name}> stands in another block"
            opening = mark
    assert opening is None, "a block is never closed"
    emitted = 2 * len(found)
    assert len(SUSPECT.findall(text)) == emitted, "something else passes for a mark"
    return found


def unseen(text: str) -> list[str]:
    """The controls and hidden signs that are left in a text."""
    controls = [
        sign
        for sign in text
        if unicodedata.category(sign) in ("Cc", "Cs", "Co", "Cn") and sign not in "\n\t"
    ]
    return [*controls, *_UNSEEN.findall(text)]


def entries(block: Block) -> dict[int, str]:
    """The entries of a block by number, without number and sign."""
    places = [*_NUMBER.finditer(block.body)]
    ends = [*(place.start() for place in places[1:]), len(block.body)]
    return {
        int(place[1]): block.body[place.end() : end].rstrip("\n")
        for place, end in zip(places, ends, strict=True)
    }


def remembered(text: str) -> Iterator[Block]:
    """The blocks that hold memory."""
    return (block for block in blocks(text) if block.mark in ("memory", "instructions"))


def numbered(text: str) -> dict[int, str]:
    """Every entry of a context by number; an assertion fails where a number comes twice."""
    found: dict[int, str] = {}
    for block in remembered(text):
        for number, said in entries(block).items():
            assert number not in found, f"[{number}] comes twice"
            found[number] = said
    return found


def in_order(whole: str, pieces: Sequence[str]) -> bool:
    """Does the whole hold these pieces one behind the other?"""
    place = 0
    for piece in pieces:
        place = whole.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True
