"""Values with keys, as programs write them down: each key once, without what only holds them together.

What is cut off, or written with other quotes, is read as well: nothing is parsed that must be whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.text.choose import MARK
from holdfast.text.extract import cut
from holdfast.text.markdown import without_fences

#: a longer value is cut
_LONGEST = 120
#: so many characters are read for each one that is shown
_READ = 40
_OPENS = re.compile(r"\s*[\[{]\s*(?:[\[{]\s*)*[\"']")
_KEYED = re.compile(r"[\"']\s*:")
# A colon parts a key from its value, but for one inside of an address or a time of day.
_TOKEN = re.compile(r"[\[\]{}:,]|[^\s\[\]{}:,\"']+(?::(?=[^\s\[\]{},\"'])[^\s\[\]{}:,\"']*)*|[\"']")
_STRING = {mark: re.compile(rf"(?:[^{mark}\\]|\\.)*+{mark}", re.DOTALL) for mark in "\"'"}


def are_keyed(text: str) -> bool:
    """Whether a text looks like values with keys."""
    start = text.lstrip()[:200]
    return _OPENS.match(start) is not None and _KEYED.search(start) is not None


def flat(text: str, room: int, *, keys: bool = True, seen: set[str] | None = None) -> str:
    """Keys and values in their order on one line, as far as there is room.

    Each key stands there once, and not at all if it is among those `seen`, which it joins.
    """
    seen = set() if seen is None else seen
    line, between = "", ""
    for word, is_key in _words(text[: _READ * room], len(text) > _READ * room):
        if not word:
            between = " " if line.endswith(":") else "; "
            continue
        if is_key and (word in seen or not keys):
            continue
        seen.update([word] if is_key else [])
        more = (between if line else "") + cut(without_fences(word), _LONGEST) + ":" * is_key
        if len(line) + len(more) > room - 2:
            break
        line += more
        between = " " if is_key else ", "
    return f"{line} {MARK}".lstrip()


def _words(text: str, goes_on: bool) -> Iterator[tuple[str, bool]]:
    """Each string and each bare word, and whether a colon follows; an empty one where a group ends.

    Of a text that goes on the last one, which may be half of a word, is left out.
    """
    tokens = list(_tokens(text))
    tokens = tokens[:-1] if goes_on else tokens
    for place, token in enumerate(tokens):
        if token in ("}", "]"):
            yield "", False
        elif token not in ("{", "[", ",", ":"):
            yield token.strip("\"'"), tokens[place + 1 : place + 2] == [":"]


def _tokens(text: str) -> Iterator[str]:
    """Strings, bare words and the marks between them; a string that is never closed is its words."""
    at = 0
    open_for_ever: set[str] = set()
    while found := _TOKEN.search(text, at):
        at = found.end()
        mark = found[0]
        if mark in _STRING and mark not in open_for_ever:
            string = _STRING[mark].match(text, at)
            if string:
                yield mark + string[0]
                at = string.end()
            else:
                open_for_ever.add(mark)
        elif mark not in _STRING:
            yield mark
