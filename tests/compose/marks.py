"""Reading a context back: its blocks, its entries, and whatever must not be in it.

Written from what a context promises and not from the code that writes one, so that both can be wrong
only in different ways.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

#: what opens or closes a mark of ours, or one of a model's own template
SUSPECT = re.compile(
    r"<\s*+/?+\s*+(?:(?i:hf)\s*+:|\|)|</?\w{1,30}\|>|</?(?:s|bos|eos|(?:start|end)_of_turn)>|<</?SYS>>"
    r"|\[/?INST\]|(?:\A|\n\n)(?:Human|Assistant):",
)
_MARK = re.compile(r'<(/?)hf:([a-z]+)((?: [a-z]+="[^"]*")*)>')
_NUMBER = re.compile(r"^\[(\d+)(\+?)\] ", re.MULTILINE)
_ATTRIBUTE = re.compile(r'([a-z]+)="([^"]*)"')
#: what hides, reorders, fills, is nobody's or carries a hidden text, of whatever version of Unicode
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0d\ufeff\uffa0"
    "\ufff0-\ufff8\ufffe\uffff\U00013430-\U0001343f\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
    + "".join(
        chr(plane + last) for plane in range(0, 0xF0000, 0x10000) for last in (0xFFFE, 0xFFFF)
    )
    + "]"
)
#: what selects a picture or a text, and has nothing before it that could be either
_STRAY = re.compile("(?:^|[^\u00a9\u00ae\u2000-\u33ff\U0001f000-\U0001faff])[\ufe0e\ufe0f]")
_KEYS = re.compile("[#*0-9]\ufe0f\u20e3")


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
    assert len(suspects(text)) == emitted, "something else passes for a mark"
    return found


def unseen(text: str) -> list[str]:
    """The controls and hidden signs that are left in a text."""
    return [*_UNSEEN.findall(text), *_STRAY.findall(_KEYS.sub("", text))]


def suspects(text: str) -> list[str]:
    """All that passes for a mark once signs of one meaning are alike and what is not seen is gone."""
    seen = re.sub("[\ufe0e\ufe0f]", "", _UNSEEN.sub("", text))
    return [found[0] for found in SUSPECT.finditer(unicodedata.normalize("NFKC", seen))]


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
