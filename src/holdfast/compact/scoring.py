"""What a chunk is worth for what is asked now.

`similarity · 0.6 + exp(-age in hours / 6) · 0.2 + important · 0.1`, with the weights of the settings.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from holdfast.model.compact import CompactSettings
from holdfast.text.extract import EMPTY_WORDS
from holdfast.text.words import analyse

from .chunks import Chunk

_HOUR = 3_600_000
#: so much of a text is compared
_READ = 20_000


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """What a chunk is worth, and its parts as they count."""

    similarity: float
    recency: float
    importance: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.similarity + self.recency + self.importance


def scores(
    chunks: Sequence[Chunk], alike: Sequence[float], now: int, settings: CompactSettings
) -> list[Score]:
    """The score of each chunk; `alike` says how much each is about what is asked, 0 to 1."""
    return [
        Score(
            similarity=settings.similarity * min(1.0, max(0.0, similarity)),
            recency=settings.recency * _recent(now - chunk.at, settings.recency_hours),
            importance=settings.importance * (chunk.stays in ("important", "pinned")),
        )
        for chunk, similarity in zip(chunks, alike, strict=True)
    ]


def _recent(age: int, hours: float) -> float:
    return math.exp(-max(0, age) / (hours * _HOUR))


def likeness(prompt: str, texts: Sequence[str]) -> list[float]:
    """How much of a prompt each text covers, rare words counting more: 0 to 1."""
    wanted = frozenset(analyse(prompt[:_READ])) - EMPTY_WORDS
    there = [wanted & frozenset(analyse(text[:_READ])) for text in texts]
    held = Counter(word for words in there for word in words)
    weight = {word: math.log(1 + len(texts) / (0.5 + held[word])) for word in wanted}
    whole = sum(weight[word] for word in sorted(wanted) if held[word])
    if not whole:
        return [0.0] * len(texts)
    return [sum(weight[word] for word in sorted(words)) / whole for words in there]
