"""Texts for stores of any size: words as common as words are, and among them sentences people wrote.

The vocabulary is what stands alone in a tokenizer's: words, and the beginnings of longer ones, in about
the order of how common they are. The chance of a word falls with its rank, as Zipf and Mandelbrot have
it. The same seed gives the same texts, whichever number of them is asked for. Real texts, where they are
given, are one in ten, each used once.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

import numpy as np
from splintr import Tokenizer, base_vocab_size

from bench.measures import SEED

_ENCODING = "o200k_base"
_WORD = re.compile(" ([a-z]{2,})")
#: words of a text
SHORTEST, LONGEST = 8, 23
#: one text of so many is real, as long as there are any left
_ONE_IN = 10
#: flattens the commonest ranks; without it one word in eleven would be the first
_FLAT = 2.7
_AT_ONCE = 10_000
#: a question's filling words are among so many of the commonest
_COMMONEST = 100
_FILLING = 2


@cache
def vocabulary() -> tuple[str, ...]:
    """Some 47,000 words, the commonest first."""
    pieces = Tokenizer.from_pretrained(_ENCODING).decode_batch_lossy(
        [[token] for token in range(base_vocab_size(_ENCODING))]
    )
    found = map(_WORD.fullmatch, pieces)
    return tuple(dict.fromkeys(match[1] for match in found if match is not None))


def texts(real: Sequence[str] = (), seed: int = SEED) -> Iterator[str]:
    """Texts without end."""
    made = _made(seed)
    for text in real:
        yield text
        yield from islice(made, _ONE_IN - 1)
    yield from made


def _made(seed: int) -> Iterator[str]:
    words = vocabulary()
    chances = np.cumsum(1 / (np.arange(len(words)) + 1 + _FLAT))
    dice = np.random.default_rng(seed)
    while True:
        lengths = dice.integers(SHORTEST, LONGEST, _AT_ONCE, endpoint=True)
        drawn = dice.random(int(lengths.sum())) * chances[-1]
        ranks = np.searchsorted(chances, drawn, side="right").tolist()
        begin = 0
        for length in lengths.tolist():
            yield " ".join(words[rank] for rank in ranks[begin : begin + length])
            begin += length


def questions(texts: Sequence[str], seed: int = SEED) -> list[str]:
    """One of each text: a part of it, one more of its words, and before them common ones."""
    dice, common = random.Random(seed), vocabulary()[:_COMMONEST]
    found = []
    for said in map(str.split, texts):
        length = min(len(said), dice.randint(3, 6))
        begin = dice.randrange(len(said) - length + 1)
        part = said[begin : begin + length]
        found.append(" ".join([*dice.sample(common, _FILLING), *part, dice.choice(said)]))
    return found
