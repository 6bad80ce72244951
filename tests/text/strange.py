"""Texts that tests of this room share: anything at all, people's scripts, and what hurts a parser."""

from __future__ import annotations

from hypothesis import strategies as st

#: every character there is, half a pair included
anything = st.text(st.characters(exclude_categories=()), max_size=60)
#: what names, numbers and marks are made of, so that most texts hold some
_PIECES = """
parseJsonFile get_user_id HTTPServer2 src/auth/login.ts v1.2.3 #123 user@example.com don't O'Brien
Caroline's 1,000.50 2023-05-03 May march always Never . .. ! ? " ' ` _ - , : / \\ ( ) e.g. 10am C++ C#
Größe naïve Ёлка ΑΘΗΝΑ 我喜欢 苹果 がんばる ガ 한국어 हिन्दी ภาษาไทย مُحَمَّد ﬁ ½ ａｂｃ 。 」 … ’ → 🎉
"""
pieces = st.sampled_from([*_PIECES.split(), " ", "\n", "\t", "\r\n", "\x00", "\u2028", "\u200b"])
mixed = st.lists(pieces | st.text(max_size=4), max_size=25).map("".join)
texts = anything | mixed


def _long(piece: str) -> str:
    return piece * (1_000_000 // len(piece))


#: a million characters each: what takes the square of a text never ends on these
HOSTILE = {
    "spaces": _long(" "),
    "lines": _long("\n"),
    "quotes": _long('"'),
    "quotes too long": _long('"' + "a" * 61),
    "ticks": _long("`a"),
    "slashes": _long("/"),
    "paths": _long("/" + "a" * 150 + "! "),
    "underscores": "a" + _long("_"),
    "snake": _long("a_"),
    "dots": _long("a."),
    "ends": _long(". "),
    "exclamations": _long("!"),
    "numbers": _long("1,000"),
    "dates": _long("3 may "),
    "half dates": _long("2023-05-"),
    "never": _long("Never. "),
    "apostrophes": _long("a'"),
    "humps": _long("aB"),
    "letters": _long("a"),
    "han": _long("我"),
    "han ends": _long("。"),
    "marks": "a" + _long("\u0315\u0300"),
    "signs": "\u0915" + _long("\u094d\u093c"),
    "voicing": "か" + _long("\u3099"),
    "jamo": _long("\u1100\u1161\u11a8"),
    "surrogates": _long("\ud800"),
    "addresses": _long("http://"),
    "mail": _long("a@"),
    "new words": " ".join(f"word{number}" for number in range(100_000)),
    "sentences": " ".join(f"Word{number} is." for number in range(80_000)),
}
