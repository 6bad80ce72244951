"""Which parts of a text to show when not all of them fit: those that tell most for what they take."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

import msgspec

#: stands wherever something is left out
MARK = "…"
#: of a very long text so many parts are read from its start, from its end, and of the others
ENDS_READ = 1000
#: so much of one part is weighed
WEIGHED = 2_000
#: a part that tells nothing new is not shown for its place alone
_NEAR_NOTHING = 1e-9
#: what a part costs beside its text: the mark or the line end before it
_BESIDE = 2

# About the tokens of a text: words in stretches of eight letters, digits by three, marks in pairs.
_TOKEN = re.compile(r"[A-Za-z]{1,8}|[0-9]{1,3}|[^\sA-Za-z0-9]{1,2}")
#: an address on the net, which is one word whatever marks are in it
ADDRESS = r"[A-Za-z][A-Za-z0-9+.-]{1,9}+://[^\s\"`<>“”«»，。、；：！？「」『』（）→]+"
# A word with what stands right beside it; a comma inside a number belongs to it.
_CHUNK = re.compile(
    ADDRESS + r"|(?:[^\s\"'`“”«»‘’()\[\]{}<>,;|=，。、；：！？「」『』（）…]|(?<=[0-9]),(?=[0-9]))+"
)
_EDGES = ".:!?*#~+-_@$&%^\\/"
_QUOTED = re.compile(
    r"`([^`\n]{2,60})`|\"([^\"\n]{2,60})\"|“([^“”\n]{2,60})”|(?<!\w)'([^'\n]{2,60})'(?!\w)"
)
_IN_CODE = re.compile(r"[A-Za-z]_|_[A-Za-z]|[a-z][A-Z]|[A-Za-z][./][A-Za-z]|[A-Za-z]-?[0-9]")
_DIGIT = re.compile(r"[0-9]")
#: of so many words more than this share with a capital make a title, where capitals tell no names
_TITLE, _TITLED = 4, 0.5
_WEIGHTY = re.compile(r"\w/\w|\w\.[a-z]{1,4}$|(?:Error|Exception|Warning)$")
#: what is worth telling: a file or an error, a name out of code, a quote, a person, a number, a digit
_FILE, _NAMED, _QUOTE, _PERSON, _NUMBER, _SLIGHT = 1.6, 1.2, 1.0, 1.0, 1.0, 0.4

_Any = TypeVar("_Any")


class Part(msgspec.Struct, frozen=True):
    """Something that is shown whole or not at all."""

    text: str
    #: what it tells, each with its worth; told once, it is worth nothing more
    tells: Mapping[str, float]
    #: its own worth beside what it tells
    worth: float = 0.0
    #: the line of the text it begins in
    line: int = 0
    #: characters that its mark and the white space beside it may take
    beside: int = 3


def marks(text: str) -> dict[str, float]:
    """What a text names exactly, with its worth: numbers, names out of code, paths, quotes, people."""
    text = text[:WEIGHED]
    found = {quote[quote.lastindex or 0]: _QUOTE for quote in _QUOTED.finditer(text)}
    chunks = _CHUNK.findall(text)
    titled = text.lstrip().startswith("#") or (
        len(chunks) >= _TITLE and sum(map(str.istitle, chunks)) > _TITLED * len(chunks)
    )
    before = "."
    for chunk in chunks:
        word = bare(chunk)
        if not word:
            continue
        inside = before[-1] not in ".!?:" and not titled
        worth = _worth(word, inside_of_a_sentence=inside)
        if worth:
            found[word] = worth
        before = chunk
    return found


def bare(word: str) -> str:
    """A word without the marks at its ends, as `marks` has it."""
    return word.strip(_EDGES)


def _worth(word: str, *, inside_of_a_sentence: bool) -> float:
    if _IN_CODE.search(word) or (len(word) > 1 and word.isupper()):
        return _FILE if _WEIGHTY.search(word) else _NAMED
    if _DIGIT.search(word):
        return _NUMBER if len(word) > 1 else _SLIGHT
    return _PERSON if inside_of_a_sentence and len(word) > 1 and word[0].isupper() else 0.0


def marked(text: str, something_is_left_out: bool) -> str:
    """The text, with a mark at its end if something is left out and none stands there."""
    return f"{text} {MARK}" if something_is_left_out and not text.endswith(MARK) else text


def ends(
    every: Sequence[_Any], *between: _Any, telling: Callable[[_Any], bool] = lambda _: False
) -> list[_Any]:
    """All of them; of very many the first, the last and some telling ones, `between` in each gap."""
    if len(every) <= 2 * ENDS_READ:
        return list(every)
    middle = range(ENDS_READ, len(every) - ENDS_READ)
    found = list(every[:ENDS_READ])
    before = ENDS_READ - 1
    for place in islice((place for place in middle if telling(every[place])), ENDS_READ):
        found += [*(between if place > before + 1 else ()), every[place]]
        before = place
    return [*found, *(between if before + 1 < middle.stop else ()), *every[-ENDS_READ:]]


def chosen(parts: Sequence[Part], room: int, always: Sequence[int] = ()) -> list[int]:
    """The places of the parts that together tell most in `room` characters, in order.

    `always` are taken first, as long as they fit. Each next one is that with the most it tells anew for
    the tokens it takes; one that tells nothing anew is not taken.
    """
    told: set[str] = set()
    taken: set[int] = set()
    costs = [len(_TOKEN.findall(part.text[:WEIGHED])) + _BESIDE for part in parts]

    def rated(place: int) -> tuple[float, int]:
        part = parts[place]
        new = sum(worth for name, worth in part.tells.items() if name not in told)
        return -(new + part.worth) / costs[place], place

    def fits(place: int) -> bool:
        return 0 < len(parts[place].text) <= room - parts[place].beside

    for place in always:
        if place not in taken and fits(place):
            room -= len(parts[place].text) + parts[place].beside
            taken.add(place)
            told.update(parts[place].tells)
    heap = [rated(place) for place in range(len(parts)) if place not in taken]
    heapq.heapify(heap)
    while heap and room > 0:
        place = heap[0][1]
        now = rated(place)
        if not fits(place) or -now[0] < _NEAR_NOTHING:
            heapq.heappop(heap)
        elif len(heap) > 1 and now > min(heap[1:3]):  # told since by others: not the best any more
            heapq.heapreplace(heap, now)
        else:
            heapq.heappop(heap)
            room -= len(parts[place].text) + parts[place].beside
            taken.add(place)
            told.update(parts[place].tells)
    return sorted(taken)
