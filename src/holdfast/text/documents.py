"""A part of a page or a schema, in fewer words: its headings, central sentences, heads of tables."""

from __future__ import annotations

import re

from msgspec.structs import replace

from holdfast.text import code, turns, values
from holdfast.text.choose import chosen
from holdfast.text.extract import cut
from holdfast.text.markdown import Block, blocks
from holdfast.text.telegram import telegram

#: what a heading is worth beside what it tells
_HEADING = 0.3
#: so many characters of values are read for each one that is shown
_READ = 40
_SCHEMA = re.compile(r"^[ \t]*CREATE[ \t]", re.MULTILINE | re.IGNORECASE)


def summary(text: str, room: int) -> str:
    """The first heading, then what tells most: sentences, headings, rows, signatures, columns."""
    if values.are_keyed(text):
        return values.flat(text, room)
    found = blocks(text)
    if _is_schema(found, text):
        return code.summary(text, room)
    worth = {block.first: _HEADING for block in found if block.sort == "heading"}
    first = next(iter(worth), -1)
    said = [
        replace(part, worth=part.worth + worth.get(part.line, 0.0))
        for part in turns.parts(found, room)
    ]
    always = [place for place, part in enumerate(said) if part.line == first][:1]
    return turns.joined(said, chosen(said, room - turns.EDGES, always=always))


def compressed(text: str, room: int) -> str:
    """The first heading, then the words that tell most; of a schema the names of its tables."""
    if values.are_keyed(text):
        return telegram(values.flat(text, _READ * room), room)
    found = blocks(text)
    if _is_schema(found, text):
        return code.compressed(text, room)
    return telegram(text, room, cut(_first_heading(found), room // 2))


def title(text: str) -> str:
    """The first heading; of a schema what it defines first."""
    found = blocks(text)
    if _is_schema(found, text):
        return code.title(text)
    return _first_heading(found)


def _first_heading(found: list[Block]) -> str:
    return next((one.lines[0].strip("# \t") for one in found if one.sort == "heading"), "")


def _is_schema(found: list[Block], text: str) -> bool:
    """Whether statements that define tables stand in the text as it is, under no heading."""
    return all(one.sort == "prose" for one in found) and _SCHEMA.search(text) is not None
