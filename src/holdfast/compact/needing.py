"""What the later steps of a session needed of what was said before: exact names, found again.

A name is a path, an identifier, an error, an address or an id: never a plain word, never an option
of a command. A step of the model needs a name when it uses it, and something before the step said
it. Where a name stands is worked out once for a session, in time that grows with its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from holdfast.model.events import Event
from holdfast.text.entities import entities
from holdfast.text.spoken import said

#: a shorter name is found everywhere
_SHORTEST = 4
#: names of one step, and characters of a line, that are looked at
_MOST, _LONGEST_LINE = 200, 1_000
_WORD = re.compile(r"\w+")
_ID = re.compile(r"(?<!\w)#?(?=\w*\d)[A-Z0-9]{5,40}(?!\w)")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\r": " ", r"\"": '"'}
_ESCAPED = re.compile(r"\\[ntr\"]")


def names(text: str) -> tuple[str, ...]:
    """The exact names in a text, each once."""
    found: dict[str, None] = {}
    for line in text.splitlines():
        short = line[:_LONGEST_LINE]
        for name in (*entities(short), *(match[0] for match in _ID.finditer(short))):
            if _exact(name):
                found.setdefault(name)
        if len(found) >= _MOST:
            break
    return tuple(found)[:_MOST]


def _exact(name: str) -> bool:
    """Is it more than a word, and no option of a command?"""
    if len(name) < _SHORTEST or name.startswith("-") or any(map(str.isspace, name)):
        return False
    return not name.isalpha() or name[1:] != name[1:].lower()


def used(event: Event) -> tuple[str, ...]:
    """The names in what a model says, or asks of a tool."""
    given = event.payload.get("input") if isinstance(event.payload, dict) else None
    if event.kind == "tool_call" and isinstance(given, dict | list):
        return names("\n".join(_values(given)))
    return names(said(event))


def _values(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _values(one)
    elif value is not None:
        yield str(value)


def readable(text: str) -> str:
    """A text of JSON with its escapes undone, so that what they stand beside is found."""
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], text)


class Places:
    """Where in a row of texts a name stands, as a word of its own."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._words: dict[str, list[tuple[int, int]]] = {}
        for n, text in enumerate(texts):
            for match in _WORD.finditer(text):
                self._words.setdefault(match[0], []).append((n, match.start()))

    def of(self, name: str) -> tuple[int, ...]:
        """The places of the texts that say it, in order."""
        words = list(_WORD.finditer(name))
        rarest = min(words, key=lambda word: len(self._words.get(word[0], ())), default=None)
        if rarest is None:
            return ()
        found: dict[int, None] = {}
        for n, start in self._words.get(rarest[0], ()):
            begin = start - rarest.start()
            if n not in found and _says(self._texts[n], name, begin):
                found[n] = None
        return tuple(found)


def stands_in(name: str, text: str) -> bool:
    """Does a text say a name, as a word of its own?"""
    at = text.find(name)
    while at >= 0:
        if _says(text, name, at):
            return True
        at = text.find(name, at + 1)
    return False


def _says(text: str, name: str, at: int) -> bool:
    """Does a name stand there, and not as a part of a longer word?"""
    if at < 0 or not text.startswith(name, at):
        return False
    end = at + len(name)
    parted_before = at == 0 or not (_in_word(text[at - 1]) and _in_word(name[0]))
    return parted_before and (end == len(text) or not (_in_word(text[end]) and _in_word(name[-1])))


def _in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
