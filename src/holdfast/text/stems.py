"""Words by their stem, so that "deployed" finds "deploying".

English stems only: of other languages a word is its own stem, and what the parts of words share is seen
by the letters that questions and passages have in common.
"""

from __future__ import annotations

import threading
from functools import lru_cache

import Stemmer

_local = threading.local()


@lru_cache(1 << 17)
def stem(word: str) -> str:
    """The stem of one word."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer("porter")
    return str(stemmer.stemWord(word))


def stems(words: str) -> str:
    """Words joined by spaces, each by its stem."""
    return " ".join(map(stem, words.split(" "))) if words else ""
