"""Counts with the vocabularies inside the splintr package: nothing is fetched, nothing is written.

A long text is counted in pieces, so that memory stays flat and other threads get their turn. It is
cut between an ASCII letter and the space behind it: every split pattern begins a new part there, and
no token reaches across, so the sum of the pieces is the count of the whole. A text that has no such
place is counted whole, which may take sixty times its size in memory. So is every text under a
vocabulary that begins each text with a space of its own (Llama 2, the first Mistrals), because there
each piece would get one.

One text in a great many is counted otherwise than by the models' own code: behind an apostrophe, the
long s (U+017F) does not count as an s under o200k_base, which can shift the count by one.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator
from fractions import Fraction

import msgspec

from holdfast.errors import Invalid
from holdfast.model.tokens import Counted
from holdfast.ports.tokens import TokenCounter

PIECE = 1 << 18  # characters; a piece takes about ten milliseconds
_CUT = re.compile("[A-Za-z](?= )")


class _Loaded(msgspec.Struct, frozen=True):
    """A vocabulary in memory."""

    encode: Callable[[str], list[int]]
    #: tokens it puts around every text
    around: int
    #: whether the pieces of a text add up
    cuts: bool


class Vocabulary:
    """Counts with one encoding, times a factor, rounded up."""

    def __init__(self, counted: Counted) -> None:
        self._encoding = counted.encoding
        self._factor = Fraction(str(counted.factor))

    @property
    def name(self) -> str:
        """The encoding, and the factor when it is not 1."""
        if self._factor == 1:
            return self._encoding
        return f"{self._encoding}*{float(self._factor):g}"

    def count(self, text: str) -> int:
        """How many tokens this text is; the first count of a process loads the vocabulary."""
        if not text:
            return 0
        loaded = _load(self._encoding)
        pieces = _pieces(text) if loaded.cuts else (text,)
        return math.ceil(sum(_count(loaded, piece) for piece in pieces) * self._factor)


def counter(counted: Counted) -> TokenCounter:
    """What counts as `counted` says; Invalid when there is no such encoding or no such factor."""
    if not (math.isfinite(counted.factor) and counted.factor > 0):
        raise Invalid(f"tokens.factors: {counted.factor} is not a number above 0")
    _check(counted.encoding)
    return Vocabulary(counted)


def _check(encoding: str) -> None:
    import splintr

    try:
        splintr.base_vocab_size(encoding)
    except ValueError as error:  # also what a lone surrogate in the name raises
        names = str(error).partition("Supported: ")[2]
        known = f"; there are {names}" if names else ""
        raise Invalid(
            f"tokens.encoding (or tokens.encodings): no encoding {encoding!a}{known}"
        ) from error


@functools.cache  # holds no lock while it loads, so a fork meanwhile cannot leave one behind
def _load(encoding: str) -> _Loaded:
    import splintr

    encode = splintr.Tokenizer.from_pretrained(encoding).encode_ordinary
    around = len(encode(""))
    whole, left, right = (len(encode(text)) - around for text in ("a b", "a", " b"))
    return _Loaded(encode=encode, around=around, cuts=whole == left + right)


def _count(loaded: _Loaded, piece: str) -> int:
    try:
        ids = loaded.encode(piece)
    except UnicodeEncodeError:  # surrogates: a pair is its character, a lone one is U+FFFD
        units = piece.encode("utf-16-le", "surrogatepass")
        ids = loaded.encode(units.decode("utf-16-le", "replace"))
    return len(ids) - loaded.around


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while cut := _CUT.search(text, start + PIECE):
        yield text[start : cut.end()]
        start = cut.end()
    yield text[start:]
