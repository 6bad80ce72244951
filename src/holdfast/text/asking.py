"""What a question says about itself: which of its words talk about talking, whom it asks, how widely.

"Can you list the order in which I mentioned different libraries?" is about libraries; its other words
occur in every conversation and would find them all.
"""

from __future__ import annotations

import re

#: words that ask for a memory rather than say what of
_TALK = (
    "conversation conversations chat chats mention mentioned mentioning discuss discussed discussing "
    "discussion brought summary summarize summarise overview remind recall remember said say saying told"
)
#: words that do so beside one of those, and may be the subject elsewhere: an order, a key, a session
_BESIDE = (
    "list order bring aspect aspects throughout across session sessions comprehensive clear provide "
    "give walk tell earlier previously ask asked asking different item items only ones our we ve key "
    "everything covered brief detailed please"
)
_ABOUT_TALKING = frozenset(_TALK.split())
_WITH_IT = _ABOUT_TALKING | frozenset(_BESIDE.split())
#: a question keeps all its words when fewer than this would be left
_FEWEST = 3
_OF_THE_MODEL = re.compile(
    r"\b(?:did|had|have|were) you\b"
    r"|\byou(?:'ve| have| had)? (?:recommend|suggest|sa(?:y|id)\b|told|explain|mention|propos|advis|"
    r"provid|gave|outlin|describ)"
    r"|\byour (?:recommend|suggest|advice|explan|answer|propos)",
    re.IGNORECASE,
)
_BROAD = re.compile(
    r"\bsummar|\boverview\b|\border in which\b|\bprogress(?:ed)?\b|\bover time\b|\bacross\b"
    r"|\bthroughout\b|\beverything\b|\bevolv|\bdeveloped\b|\bhow many different\b",
    re.IGNORECASE,
)


def subject(question: str, words: list[str]) -> list[str]:
    """The words that say what a question is about; all of them when that would leave too few."""
    talks = broad(question) or not _ABOUT_TALKING.isdisjoint(words)
    left_out = _WITH_IT if talks else _ABOUT_TALKING
    kept = [word for word in words if word not in left_out]
    return kept if len(kept) >= _FEWEST else words


def of_the_model(question: str) -> bool:
    """Does it ask for what the assistant said?"""
    return _OF_THE_MODEL.search(question) is not None


def broad(question: str) -> bool:
    """Does it ask for a whole development, not for one moment of it?"""
    return _BROAD.search(question) is not None
