"""Which of the hits a model was given show in what it said or did next.

A hit is cited when the reply repeats words of it that the question did not hold and that are rare enough
together to be no accident, or when it names its id. What is not cited may have been useful all the same;
that is why one silence moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from holdfast.text.extract import EMPTY_WORDS
from holdfast.text.stems import stem
from holdfast.text.words import analyse

#: information, in nats, the repeated words must carry together, and one word alone
ENOUGH, ALONE = 9.0, 4.5
#: at least so many words, unless one alone is rare and holds a digit: a number, a version, a date
FEWEST = 2
#: a hit that shows much less than another was probably not what the reply was made from
BESIDE_THE_BEST = 0.9
#: unless the reply repeats this share of all it says
MOST_OF_ITSELF = 0.5
#: words that most of the hits hold tell none of them apart
_SHARED_BY_MOST = 0.5

EMPTY_STEMS = frozenset(map(stem, EMPTY_WORDS))
Worth = Callable[[Sequence[str]], Mapping[str, float]]


def cited(hits: Mapping[str, str], said: str, query: str, worth: Worth) -> list[str]:
    """The ids of the hits, given with their texts, that show in what was said.

    `worth` gives the information of words: the logarithm of how rare each is in what is searched.
    """
    asked = {stem(word) for word in analyse(query)}
    reply = {stem(word) for word in analyse(said)} - asked
    words = {one: {stem(word) for word in analyse(text)} & reply for one, text in hits.items()}
    spread: dict[str, int] = {}
    for repeated in words.values():
        for word in repeated:
            spread[word] = spread.get(word, 0) + 1
    most = max(2.0, _SHARED_BY_MOST * len(hits))
    telling = {word for word, times in spread.items() if times <= most}
    weight = worth(sorted(telling))
    shown = {
        one: [(word, weight.get(word, 0.0)) for word in sorted(repeated & telling)]
        for one, repeated in words.items()
    }
    best = max((_information(repeated) for repeated in shown.values()), default=0.0)
    return [
        one
        for one, repeated in shown.items()
        if one in said or (_enough(repeated) and _stands_out(repeated, best, hits[one], asked))
    ]


def _stands_out(
    repeated: Sequence[tuple[str, float]], best: float, hit: str, asked: set[str]
) -> bool:
    """Does it show about as much as the hit that shows the most, or most of what it says itself?"""
    own = {stem(word) for word in analyse(hit)} - asked - EMPTY_STEMS
    return _information(repeated) >= BESIDE_THE_BEST * best or len(
        repeated
    ) >= MOST_OF_ITSELF * len(own)


def _enough(repeated: Sequence[tuple[str, float]]) -> bool:
    if any(value >= ALONE and any(map(str.isdigit, word)) for word, value in repeated):
        return True
    return len(repeated) >= FEWEST and _information(repeated) >= ENOUGH


def _information(repeated: Sequence[tuple[str, float]]) -> float:
    return sum(value for _, value in repeated)
