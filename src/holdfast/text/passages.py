"""A long text in passages short enough to be found and shown on their own."""

from __future__ import annotations

import re

# Where a sentence ends: the mark, quotes or brackets that close with it, and the space behind; marks
# of scripts without spaces end it on their own.
SENTENCE_END = re.compile("[.!?\u0964\u061f\u06d4][\"')\\]»”’]{0,3}\\s|[。！？｡…]+[」』”’）]{0,3}")


def split(text: str, most: int = 400) -> list[tuple[int, str]]:
    """The passages with the offsets they start at.

    What always holds: joined they are the text; none is empty or longer than `most` (at least 1);
    a blank text has none. A passage ends behind a line or a sentence, else behind a word, where the
    second half of it has such a place.
    """
    if not text or text.isspace():
        return []
    most = max(1, most)
    passages = []
    start = 0
    while len(text) - start > most:
        end = _end(text, start, most)
        passages.append((start, text[start:end]))
        start = end
    passages.append((start, text[start:]))
    return passages


def _end(text: str, start: int, most: int) -> int:
    """Where the passage that starts here ends: at most `most` characters on."""
    window = text[start : start + most]
    half = most // 2
    best = window.rfind("\n", half) + 1
    for found in SENTENCE_END.finditer(window, half):
        best = max(best, found.end())
    if not best:
        best = window.rfind(" ", half) + 1
    return start + (best or most)
