"""Which of the hits a model was given show in what it said or did next.

A hit is cited when the reply repeats words of it that the question did not hold and that are rare enough
together to be no accident, or when it names its id. What is not cited may have been useful all the same;
that is why one silence moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from holdfast.model.recall import RecallSettings
from holdfast.text.extract import EMPTY_WORDS
from holdfast.text.stems import stem
from holdfast.text.words import analyse

EMPTY_STEMS = frozenset(map(stem, EMPTY_WORDS))
Worth = Callable[[Sequence[str]], Mapping[str, float]]


def cited(
    hits: Mapping[str, str], said: str, query: str, worth: Worth, settings: RecallSettings
) -> list[str]:
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
    most = max(2.0, settings.cited_shared * len(hits))
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
        if one in said
        or (
            _enough(repeated, settings)
            and (
                _information(repeated) >= settings.cited_beside_best * best
                or _said_of_itself(repeated, hits[one], asked) >= settings.cited_of_itself
            )
        )
    ]


def _said_of_itself(repeated: Sequence[tuple[str, float]], hit: str, asked: set[str]) -> float:
    """The share of what a hit says, the question's words apart, that is repeated."""
    own = {stem(word) for word in analyse(hit)} - asked - EMPTY_STEMS
    return len(repeated) / len(own) if own else 1.0


def _enough(repeated: Sequence[tuple[str, float]], settings: RecallSettings) -> bool:
    telling = (value >= settings.cited_alone and any(map(str.isdigit, w)) for w, value in repeated)
    if any(telling):
        return True
    information = _information(repeated)
    return len(repeated) >= settings.cited_words and information >= settings.cited_information


def _information(repeated: Sequence[tuple[str, float]]) -> float:
    return sum(value for _, value in repeated)
