"""A question, ready to be asked: its words and how rare they are, what it names, when it means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from holdfast.model.recall import RecallSettings
from holdfast.text.asking import broad, of_the_model, subject
from holdfast.text.dates import Day
from holdfast.text.dates import asked as dates_asked
from holdfast.text.entities import entities
from holdfast.text.extract import EMPTY_WORDS
from holdfast.text.stems import stem
from holdfast.text.words import analyse
from holdfast.text.words import asked as words_asked

#: a question longer than this is somebody's whole page; its beginning says what it is about
LONGEST = 8_000
#: letters at a time
_LETTERS = 4
#: of a long question, so many groups of letters are compared
_MOST_GRAMS = 200


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, apart from who asks."""

    #: as an embedder reads it
    text: str
    #: the words that say what it is about, each once
    words: tuple[str, ...]
    #: the words of what it names exactly: files, identifiers, error codes
    exact: tuple[str, ...]
    days: tuple[Day, ...]
    #: it asks for what the assistant said
    of_the_model: bool = False
    #: it asks for a whole development, not for one moment of it
    broad: bool = False


def question(text: str) -> Question:
    """Any text as a question."""
    text = text[:LONGEST]
    exact = {word for named in entities(text) for word in analyse(named) if not word.isalpha()}
    exact |= {"".join(analyse(named)) for named in entities(text)}
    words = subject(text, words_asked(text))
    kept = set(words)
    about = " ".join(word for word in text.split() if kept & set(analyse(word)))
    return Question(
        text=about or text,
        words=tuple(words),
        exact=tuple(sorted(exact & set(words))),
        days=dates_asked(text),
        of_the_model=of_the_model(text),
        broad=broad(text),
    )


EMPTY_STEMS = frozenset(map(stem, EMPTY_WORDS))


class Rarity(msgspec.Struct, frozen=True, kw_only=True):
    """How rare the words of a question are in everything that is searched.

    A store of a few passages cannot tell a rare word from "which"; so a number of passages is imagined
    in which words without content occur and others do not. In a large store they make no difference.
    """

    passages: int
    #: words of an average passage
    average: float
    #: by stem, in how many passages
    frequency: dict[str, int]
    imagined: int = 0
    #: and in this share of those a word without content
    share: float = 0.0

    def weight(self, stem: str) -> float:
        """What a word is worth when passages are compared."""
        return max(math.log(self._odds(stem)), 1e-6)

    def information(self, stem: str) -> float:
        """What a word is worth when it is asked how much of the question was found."""
        return math.log1p(self._odds(stem))

    def _odds(self, stem: str) -> float:
        empty = self.share * self.imagined if stem in EMPTY_STEMS else 0.0
        n = self.frequency.get(stem, 0) + empty
        return (self.passages + self.imagined - n + 0.5) / (n + 0.5)

    def common(self, word: str) -> float:
        """The share of passages that hold a word, as it is written."""
        found = [self.frequency.get(stem(part), 0) for part in analyse(word)]
        return min(1.0, max(found, default=0) / self.passages) if self.passages else 0.0

    def telling(self) -> float:
        """How much it tells that a word was never said: nothing in a new store, all in a large one."""
        return self.passages / (self.passages + self.imagined / 2) if self.passages else 0.0

    def unseen(self, words: Iterable[str]) -> float:
        """The share of a question that nobody ever said a word of."""
        worth = {stem(word): self.information(stem(word)) for word in words}
        total = sum(worth.values())
        never = sum(w for s, w in worth.items() if not self.frequency.get(s))
        return never / total if total else 0.0


def rarity(
    shelves: Iterable[tuple[int, int, Mapping[str, int]]], settings: RecallSettings
) -> Rarity:
    """Over several shelves: of each its passages, its words, and how often these words occur."""
    passages = total = 0
    frequency: dict[str, int] = {}
    for count, length, found in shelves:
        passages, total = passages + count, total + length
        for one in {stem(word): n for word, n in found.items()}.items():
            frequency[one[0]] = frequency.get(one[0], 0) + one[1]
    average = total / passages if passages else 1.0
    return Rarity(
        passages=passages,
        average=average or 1.0,
        frequency=frequency,
        imagined=settings.imagined_passages,
        share=settings.imagined_share,
    )


def searched(words: Sequence[str], rare: Rarity, most: int) -> list[str]:
    """The words that are searched for: from the rarest on, until so many passages are touched."""
    known = [word for word in words if rare.frequency.get(stem(word))]
    chosen: list[str] = []
    touched = 0
    for word in sorted(known, key=lambda word: (rare.frequency[stem(word)], word)):
        touched += rare.frequency[stem(word)]
        if chosen and touched > most:
            break
        chosen.append(word)
    return chosen


def letters(words: Sequence[str]) -> list[str]:
    """The question's letters, four at a time; a space marks where a word begins."""
    grams: set[str] = set()
    for word in words:
        marked = f" {word}"
        if len(marked) <= _LETTERS:
            grams.add(f"{marked} ")
        else:
            grams |= {marked[n : n + _LETTERS] for n in range(len(marked) - _LETTERS + 1)}
    return sorted(grams)[:_MOST_GRAMS]
