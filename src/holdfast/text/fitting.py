"""A long text in the room there is: its beginning, its end, and what tells most of the rest."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.text.choose import MARK
from holdfast.text.excerpt import closed, cut_before, cut_behind, fenced

#: the beginning and the end take this part of the room each, and what the rest leaves
_SHARE = 4
#: what is told of the rest needs some room to be chosen in: this part of all
_SLACK = 8
#: in less room a text has no beginning and end beside what tells most
_ROOMY = 240
#: in less room the middle is a mark
_LEAST = 20


def fit(text: str, chars: int, shorter: Callable[[str, int], str]) -> str:
    """At most so many characters of a text; `shorter` says in fewer what does not fit.

    What always holds: it is the text if that fits; else a mark stands wherever something is left out
    between the beginning, the end and what is told of the rest; every fence is closed.
    """
    whole = closed(text)
    if len(whole) <= chars:
        return whole
    if chars < 1 or not text.strip():
        return ""
    if chars >= _ROOMY:
        each = chars // _SHARE
        short = _shown(text, each, chars, shorter)
        spare = (chars - len(short) - chars // _SLACK) // 2
        if spare > each // _SHARE:
            more = _shown(text, each + spare, chars, shorter)
            short = more if len(more) <= chars else short
        if len(short) <= chars:
            return short
    return shorter(text, chars)


def _shown(text: str, each: int, chars: int, shorter: Callable[[str, int], str]) -> str:
    start, end = _first(text, each), _last(text, each)
    head = fenced(text, 0, start, behind=cut_behind(text, start)).rstrip("\n")
    tail = fenced(text, end, len(text), before=cut_before(text, end)).lstrip("\n")
    room = chars - len(head) - len(tail) - 2
    between = fenced(text, *_whole_words(text, start, end)).strip("\n")
    if len(between) > room and between.strip():
        between = shorter(between, room) if room > _LEAST else MARK
    return "\n".join(piece for piece in (head, between, tail) if piece.strip())


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """The passage without the words that it begins and ends inside of."""
    if not _parted(text, start):
        words = text[start:end].split(maxsplit=1)
        start = end - len(words[1]) if len(words) > 1 else end
    if not _parted(text, end):
        words = text[start:end].rsplit(maxsplit=1)
        end = start + len(words[0]) if len(words) > 1 else start
    return start, end


def _parted(text: str, place: int) -> bool:
    """Whether no word goes on across a place."""
    return any(map(str.isspace, text[place - 1 : place + 1]))


def _first(text: str, size: int) -> int:
    """Where the beginning of about so many characters ends: behind a line, else a word."""
    for mark in "\n ":
        place = text.rfind(mark, size // 2, size) + 1
        if place:
            return place if mark == "\n" else place - 1
    return size


def _last(text: str, size: int) -> int:
    """Where the end of about so many characters begins: behind a line, else a word."""
    start = len(text) - size
    for mark in "\n ":
        place = text.find(mark, start, start + size // 2) + 1
        if place:
            return place
    return start
