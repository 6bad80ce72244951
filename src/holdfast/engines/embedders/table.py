"""The table of token vectors in memory, and sums over it.

The table is held as float32 (31 MiB): summing its float16 rows takes three to four times as long.

The vocabulary has no token with a space behind another character, so a text cut in front of each run
of spaces has the tokens of the whole. The pieces are mostly words, and most words come again: their
tokens are remembered, which makes a text three times as quick.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import Model

from . import weights
from .rows import Rows, units
from .sayable import sayable

WORDLLAMA = weights.Package(module="wordllama", requirement="wordllama>=0.4,<0.5")
_TABLE = ("weights/l2_supercat_256.safetensors", 0x56C6AE6F)
_TOKENS = ("tokenizers/l2_supercat_tokenizer_config.json", 0x3FAF5800)
_DIMS = 256

_SPACE = "▁"  # how the vocabulary writes a space; in a text it is taken for one
_PIECE = re.compile(" +[^ ]*")
_WORD = re.compile(r"[^\W_]+")

_REMEMBERED = 50_000  # pieces; they take about 16 MB
_LONG = 40  # characters; a longer piece hardly comes again
_ROWS = 4_096  # summed at a time, so that a long text takes no more memory than a short one

#: a word that a fifth of the passages hold weighs less than half as much as one that none holds
_COMMON = 0.15
#: how much of the query is its weighted words; the rest is all its words alike
_WEIGHTED = 0.6


class Table:
    """Vectors of tokens, and the tokenizer they belong to."""

    def __init__(self, vectors: Rows, model: Model) -> None:
        self._vectors = vectors
        self._pieces = _Pieces(model)

    def means(self, texts: Sequence[str]) -> Rows:
        """A row for each text: the direction of the mean of its token vectors."""
        rows = np.zeros((len(texts), _DIMS), np.float32)
        for place, text in enumerate(texts):
            rows[place] = self._sum(self._pieces.tokens(text))
        return units(rows)

    def weighted(self, text: str, common: Callable[[str], float]) -> Rows:
        """The words of a text, each by how rare it is, mixed with all of them alike."""
        rare = np.zeros(_DIMS, np.float32)
        alike = np.zeros(_DIMS, np.float32)
        for word, times in Counter(_WORD.findall(text)).items():
            vector = self._sum(self._pieces.tokens(word)) * np.float32(times)
            rare += vector * np.float32(_COMMON / (_COMMON + common(word)))
            alike += vector
        both = units(np.stack((rare, alike)))
        mixed = _WEIGHTED * both[:1] + (1 - _WEIGHTED) * both[1:]
        return units(mixed).reshape(_DIMS)

    def _sum(self, tokens: list[int]) -> Rows:
        total = np.zeros(_DIMS, np.float32)
        for start in range(0, len(tokens), _ROWS):
            rows = self._vectors.take(tokens[start : start + _ROWS], axis=0)
            total += np.add.reduce(rows, axis=0)
        return total


class _Pieces(dict[str, list[int]]):
    """The tokens of pieces, remembered."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text, as its tokenizer would give them."""
        tokens: list[int] = []
        if text:
            for piece in _PIECE.findall(" " + text.replace(_SPACE, " ")):
                tokens += self[piece]
        return tokens

    def __missing__(self, piece: str) -> list[int]:
        spelled = piece.replace(" ", _SPACE)
        try:
            found = self._model.tokenize(spelled)
        except UnicodeEncodeError:  # surrogates
            found = self._model.tokenize(sayable(spelled))
        tokens = [token.id for token in found]
        if len(piece) <= _LONG:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[piece] = tokens
        return tokens


def load() -> Table:
    """The table, from the files of the installed package; Unavailable when they are not usable."""
    stored = weights.read(WORDLLAMA, *_TABLE)
    tokens = weights.read(WORDLLAMA, *_TOKENS)
    begin = 8 + int.from_bytes(stored[:8], "little")  # safetensors: a length and so much JSON
    vectors = np.frombuffer(stored, "<f2", offset=begin).reshape(-1, _DIMS).astype(np.float32)
    return Table(vectors, Tokenizer.from_buffer(tokens).model)
