"""One spelling for what a reader takes as the same letter: width, accent, joined and split forms.

The table works character by character, so a text is folded in time linear in its length; the
normaliser of the standard library is not linear when a text stacks marks without end, and is only
ever called on a few characters.
"""

from __future__ import annotations

import re
import unicodedata

# Letters that Unicode does not take apart and readers do.
_LETTERS = dict(zip("øØłŁđĐħĦŧŦı", "oOlLdDhHtTi", strict=True))
_LETTERS |= {"æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE"}
_APOSTROPHES = "\u2018\u2019\u201b\u02bc\u02b9\u2032\u00b4\uff07"
_HYPHENS = "\u2010\u2011"
# What is written over or under a letter and left out by most who write: accents, Hebrew points,
# Arabic vowels (and the stretch between letters), variation selectors.
_LOOSE = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u180b-\u180d\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
    "\U000e0100-\U000e01ef]"
)
# What only means something beside its neighbour: a syllable in parts, a letter and its voicing mark.
_IN_PARTS = re.compile("[\u3046-\u30fd][\u3099\u309a]|[\uac00-\ud7a3]?[\u1100-\u11ff]+")
#: before this point lie Latin, Greek and Cyrillic, whose accents are dropped
_ACCENTED_END = 0x0530
#: so many characters are remembered, so that a hostile text cannot fill the memory
_REMEMBERED = 20_000


class _Table(dict[int, str]):
    """What each character becomes, worked out when it is first met."""

    def __missing__(self, point: int) -> str:
        folded = _folded(chr(point))
        if len(self) < _REMEMBERED:
            self[point] = folded
        return folded


def fold(text: str) -> str:
    """The text in one spelling.

    What always holds: ASCII stays as it is, in its case; every other letter is in lower case and
    without accent; what is neither letter, digit nor mark has become ASCII or a space; no surrogate
    is left; and folding twice is folding once.
    """
    if text.isascii():
        return text
    return _IN_PARTS.sub(_composed, text.translate(_table))


def _composed(found: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", found[0])


def _folded(character: str) -> str:
    for _ in range(4):
        before = character
        wide = unicodedata.normalize("NFKC", character)
        character = "".join(map(_plain, wide))
        if character == before:
            break
    return character


def _plain(character: str) -> str:
    if character.isascii():
        return character
    if character in _LETTERS:
        return _LETTERS[character]
    if character in _APOSTROPHES:
        return "'"
    if character in _HYPHENS:
        return "-"
    if _LOOSE.match(character):
        return ""
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category[0] in "LN":
        parts = unicodedata.normalize("NFD", character)
        if len(parts) > 1 and ord(parts[0]) < _ACCENTED_END:
            return _LOOSE.sub("", parts)
        return character.casefold()
    if category[0] == "M":
        return character
    # Invisible characters join what they stand between, but for the one that marks where a word ends.
    return "" if category == "Cf" and character != "\u200b" else " "


_table = _Table((point, chr(point)) for point in range(128))
