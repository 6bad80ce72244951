"""A text as the words that tell most, in its order: what is left when there is room for one line."""

from __future__ import annotations

import re
from collections import Counter

from holdfast.text import choose
from holdfast.text.choose import ADDRESS, MARK, WEIGHED, Part, chosen, marks
from holdfast.text.extract import EMPTY_WORDS, bare, cut, one_line
from holdfast.text.folding import fold
from holdfast.text.markdown import without_fences

#: so much of a text is read from its start, and from its end
_READ = 20_000
#: a longer word is left out
_LONGEST = 80
_WORD = re.compile(
    rf"`[^`\n]{{2,40}}`|\"[^\"\n]{{2,40}}\"|“[^“”\n]{{2,40}}”|{ADDRESS}"
    r"|(?:[^\s\"`“”«»()\[\]{}<>,;|=，。、；：！？「」『』（）→]|(?<=[0-9]),(?=[0-9]))+"
)
_DENIES = frozenset({"not", "no", "never", "without", "nor", "cannot"})
#: what a word that names nothing exactly is worth, and how much more each time it comes again
_COMMON, _AGAIN, _OFTEN = 0.1, 0.25, 5


def telegram(text: str, room: int, lead: str = "") -> str:
    """One line of at most `room` characters, at least one: the lead, words of the text, and a mark.

    A word that denies takes the word behind it along. The mark is there unless the line is the text.
    """
    lead = cut(without_fences(one_line(lead)), max(1, room - 2))
    whole = without_fences(one_line(f"{lead}: {text}" if lead else text))
    if len(text) > 2 * _READ:
        text = f"{_whole_words(text[:_READ])} {_whole_words(text[-_READ:], end=True)}"
    told = {_same(word) for word in _words(lead)}
    every = _words(without_fences(text))
    words = [word for word in every if _same(word) not in told]
    exact = _exact(text)
    times = Counter(map(_same, words))
    parts = []
    for word in words:
        same = _same(word)
        empty = same in EMPTY_WORDS and not (len(word) > 1 and word.isupper())
        worth = 0.0 if empty else exact.get(choose.bare(word), _COMMON)
        often = 1 + _AGAIN * (min(times[same], _OFTEN) - 1)
        parts.append(Part(word, {same: worth * often}, beside=1))
    before = f"{lead}: " if lead else ""
    taken = chosen(parts, room - len(before) - 1)
    if not taken and not (lead and every):  # one long word, or a script without spaces
        return cut(whole, room)
    line = one_line(before + " ".join(parts[place].text for place in taken)).rstrip(" :")
    return line if line == whole else f"{line} {MARK}".lstrip()[:room]


def _whole_words(text: str, *, end: bool = False) -> str:
    """The beginning of a longer text, or its end, without the word that it is cut in."""
    words = text.split(maxsplit=1) if end else text.rsplit(maxsplit=1)
    return (words[-1] if end else words[0]) if len(words) > 1 else ""


def _exact(text: str) -> dict[str, float]:
    """What a long text names exactly, its lines looked at one by one, long ones in pieces."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        for start in range(0, len(line), WEIGHED):
            found.update(marks(line[start : start + WEIGHED]))
    return found


def _words(text: str) -> list[str]:
    found: list[str] = []
    denied = ""
    for chunk in _WORD.findall(text):
        word = bare(chunk)
        if not 0 < len(word) <= _LONGEST:
            continue
        if word.lower() in _DENIES:
            denied = word
            continue
        found.append(f"{denied} {word}" if denied else word)
        denied = ""
    return [*found, denied] if denied else found


def _same(word: str) -> str:
    return fold(word).lower().removesuffix("'s")
