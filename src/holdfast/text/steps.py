"""What starts a procedure and its steps, on one line that is as long as it may be."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.text import values
from holdfast.text.choose import MARK, WEIGHED, Part, chosen, ends, marked, marks
from holdfast.text.extract import cut
from holdfast.text.telegram import telegram

ARROW = "→"
#: the first words of a step stand for it
_WORDS = 2
#: a longer step is shortened before any other is left out, to so much or this share of the line
_LONGEST, _SHARE = 40, 4
#: what a step is worth beside what it names
_WORTH = 0.2


def with_lead(lead: str, rest: str) -> str:
    """Both with a colon between them, or the one there is."""
    return f"{lead}: {rest}" if lead and rest else lead or rest


def in_full(lead: str, steps: Sequence[str], most: int) -> str:
    """The steps whole; else neighbours that begin alike as one; else not all of them."""
    line = with_lead(lead, ARROW.join(steps))
    if len(line) <= most:
        return line
    steps = _together(steps)
    line = with_lead(lead, ARROW.join(steps))
    return line if len(line) <= most else _some(lead, steps, most)


def by_first_words(lead: str, steps: Sequence[str], most: int) -> str:
    """The first words of every step; else not all of them."""
    line = with_lead(lead, ARROW.join(map(_brief, steps)))
    return line if len(line) <= most else _some(lead, _together(steps), most)


def _some(lead: str, steps: Sequence[str], most: int) -> str:
    """The steps that tell most, in their order, a mark where others are left out."""
    texts = [_short(step, max(_LONGEST, most // _SHARE)) for step in steps]
    parts = [Part(text, marks(text) | {text: _WORTH}, beside=1) for text in texts]
    taken = chosen(parts, most - len(with_lead(lead, "x")) - 1)
    line = ""
    for place, before in zip(taken, [-1, *taken], strict=False):
        gap = place > before + 1 and not line.endswith(MARK)
        line += (MARK if gap else ARROW if line else "") + texts[place]
    return with_lead(lead, marked(line, taken[-1:] != [len(steps) - 1]))


def _together(steps: Sequence[str]) -> list[str]:
    """Neighbours that begin with the same word as one step; a key with values is told once."""
    found: list[str] = []
    seen: set[str] = set()
    told: set[str] = set()
    before = ""
    for step in ends(steps, MARK):
        head, _, rest = cut(step, WEIGHED).partition(" ")
        if values.are_keyed(rest):
            rest = values.flat(rest, len(rest) + 2, seen=seen).removesuffix(MARK).rstrip()
        told = told if head == before else set()
        if head != before or not rest:
            found.append(f"{head} {rest}".rstrip())
        elif rest not in told:
            found[-1] += f", {rest}"
        told.add(rest)
        before = head
    return found


def _short(step: str, most: int) -> str:
    """A step of at most so many characters: its first word, then what it names."""
    head, _, rest = step.partition(" ")
    room = most - len(head) - 1
    if len(step) <= most or room < 2 * _WORDS:
        return cut(step, most)
    return f"{head} {telegram(cut(rest, WEIGHED), room)}"


def _brief(step: str) -> str:
    words = marked(" ".join(step.split(maxsplit=_WORDS)[:_WORDS]), True)
    short = words if len(words) < len(step) else step
    return short if len(short) <= _LONGEST else _short(step, _LONGEST)
