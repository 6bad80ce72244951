"""What of a conversation stands in a context, read from its text as it was rendered.

Which turn an entry is of is what the receipt says of its number; what of that turn stands there is read
in the text alone, white space and the marks of what was left out apart. An entry whose words are not
those of its turn is of no turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum

import msgspec

from bench.data import Question, Turn
from bench.measures import mean, share
from holdfast.model.packs import Pack
from holdfast.model.recall import Hit
from holdfast.text.choose import MARK
from holdfast.text.quoting import indented, quoted

#: of gold: whole turns, passages too, whatever is shown too; of entries: gold or beside it
SHARES = ("whole", "passage", "named", "precision")
#: fewer words of a longer turn in a row are no passage of it
PASSAGE = 8
#: what stands between two marks, and an entry of it; its further lines are further in
_BLOCK = re.compile(
    r"^<hf:(memory|instructions)\b[^>\n]*>\n(.*?)\n</hf:\1>$", re.MULTILINE | re.DOTALL
)
_ENTRY = re.compile(r"^\[([0-9]+)\+?\] (.*(?:\n  .*)*)\n?", re.MULTILINE)
_WORD = re.compile(r"\w+")
_FENCE = re.compile(r"(?:```|~~~)[^\s`]*")


class Extent(IntEnum):
    """How much of a turn an entry shows."""

    NOTHING = 0
    #: some of its words
    NAMED = 1
    #: one passage of it, word for word
    PASSAGE = 2
    WHOLE = 3


class Seen(msgspec.Struct, frozen=True):
    """One entry of a context: the place of its turn, negative where it is of none."""

    place: int
    extent: Extent


# ---- reading a context ---------------------------------------------------------------------------


def entries(text: str) -> Iterator[tuple[int, str]]:
    """Every entry of a context: its number and what is written behind it."""
    for block in _BLOCK.finditer(text):
        for entry in _ENTRY.finditer(block[2]):
            yield int(entry[1]), entry[2]


def seen(pack: Pack, places: Mapping[str, int], turns: Sequence[Turn]) -> list[Seen]:
    """What each entry of a context shows."""
    taken = {
        one.shown.number: one.shown for one in pack.receipt.candidates if one.verdict == "taken"
    }
    found = []
    for number, text in entries(pack.text):
        shown = taken.get(number)
        place = places.get(shown.id, -1) if shown is not None else -1
        full = shown is not None and shown.level == 0
        extent = extent_of(turns[place], text, full=full) if place >= 0 else Extent.NOTHING
        found.append(Seen(place if extent else -1, extent))
    return found


def extent_of(turn: Turn, entry: str, *, full: bool) -> Extent:
    """How much of a turn stands at the end of an entry, behind who said it; `full` if not in short."""
    own, there = _words(turn.text), _words(entry)
    if own and there[-len(own) :] == own:
        return Extent.WHOLE
    if full and _run(own, there) >= PASSAGE:
        return Extent.PASSAGE
    said = _plain(turn.text)
    named = _plain(entry) - _plain(head(turn))
    return Extent.NAMED if named and named <= said else Extent.NOTHING


def head(turn: Turn) -> str:
    """Who said a turn and on which day, as an entry of a context has it."""
    who = " ".join(filter(None, ("assistant" if turn.role == "assistant" else "", turn.speaker)))
    return f"{who or turn.role} {turn.at:%Y-%m-%d}"


def _words(text: str) -> list[str]:
    """The words of a text, without the marks of what was left out and the fences around code."""
    bare = (word.strip(MARK) for word in _FENCE.sub("", quoted(text)).split())
    return [word for word in bare if word]


def _plain(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _run(own: Sequence[str], there: Sequence[str]) -> int:
    """How many words at the end of an entry stand in a turn as they are, in a row."""
    whole = " ".join(own)
    for start in range(len(there)):
        if " ".join(there[start:]) in whole:
            return len(there) - start
    return 0


# ---- the baseline --------------------------------------------------------------------------------


def room_in(pack: Pack, count: Callable[[str], int]) -> int:
    """The tokens of the entries of a context: all of it without the marks around them."""
    around = _BLOCK.sub(lambda block: block[0].replace(block[2], ""), pack.text)
    return pack.tokens - count(around)


def in_order(
    found: Sequence[tuple[int, str]], turns: Sequence[Turn], room: int, count: Callable[[str], int]
) -> tuple[list[Seen], int]:
    """The first of these texts of turns, as entries of a context, until one does not fit; the tokens."""
    kept: list[Seen] = []
    used = 0
    for number, (place, text) in enumerate(found, 1):
        entry = f"{head(turns[place])}: {indented(quoted(text).strip())}"
        tokens = count(f"[{number}] {entry}\n")
        if used + tokens > room:
            break
        used += tokens
        kept.append(Seen(place, extent_of(turns[place], entry, full=True)))
    return kept, used


def passages(hits: Sequence[Hit], places: Mapping[str, int]) -> list[tuple[int, str]]:
    """What recall would show of each turn it found."""
    return [(places[hit.id], hit.text) for hit in hits if hit.id in places]


def whole_turns(
    hits: Sequence[Hit], places: Mapping[str, int], turns: Sequence[Turn]
) -> list[tuple[int, str]]:
    """Each turn it found, whole."""
    return [(places[hit.id], turns[places[hit.id]].text) for hit in hits if hit.id in places]


# ---- figures -------------------------------------------------------------------------------------


def figures(shown: Sequence[Seen], question: Question, tokens: int) -> dict[str, float]:
    """What is measured of one question: the shares, and how many entries and tokens that takes."""
    held = (
        share([one.place for one in shown if one.extent >= least], question.gold)
        for least in (Extent.WHOLE, Extent.PASSAGE, Extent.NAMED)
    )
    exact = precision([one.place for one in shown], question)
    shares = dict(zip(SHARES, (*held, exact), strict=True))
    return shares | {"entries": float(len(shown)), "tokens": float(tokens)}


def precision(shown: Sequence[int], question: Question) -> float:
    """The share of entries whose turn is gold or beside it in its session; nothing shown is 0."""
    near = {*question.gold, *question.near}
    return mean([float(place in near) for place in shown]) if shown else 0.0
