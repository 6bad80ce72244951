"""What a text says in fewer of its own words: its most central sentences, its key words.

Nothing here invents a word: every word given back stands in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from holdfast.text.choose import MARK, WEIGHED, Part, chosen, ends, marked, marks
from holdfast.text.folding import fold
from holdfast.text.markdown import blocks, without_fences
from holdfast.text.outline import is_import
from holdfast.text.sentences import sentences
from holdfast.text.words import analyse

# Words that carry no content. What denies is not among them: without "not" a text says the opposite.
_LISTED = """
a about all also am an and any are as at be because been being both but by can could did do does doing
down during each few for from further had has have having he her here hers him his how i if in into is
it its itself just let like me more most my of on once or other our out own same she should so some such
than that the their them then there these they this those through to too up us very was we well were
what when where which while who whom why will with would yes you your yours im ive id ill youre thats
really going got get lot
der die das den dem des ein eine einen einem einer und oder aber ist sind war waren hat haben wir ich
du er sie es ihr mit von zu zum zur auf als auch wie dass wenn noch sich bei aus um fur
le la les un une et ou mais est sont je tu il elle nous vous ils au aux en dans par pour sur avec que
qui ce cette ces se sa son ses el los las una y o pero fue con por para del al lo su sus como ya
"""
EMPTY_WORDS = frozenset(_LISTED.split())
_BREAK = re.compile(r"[\s，。、；：！？「」『』（）—]+")
_CLOSES = {")": "(", "]": "[", "}": "{", ">": "<"}
_NAME = re.compile(r"[0-9_./]|[a-z][A-Z]")
_NO_SPACE_BEHIND = "。！？｡」』）"
#: so many words at the start of a text are said to matter
_EARLY = 8
# Where a long sentence may be taken apart: behind a mark that parts its clauses, in no number or name.
_CLAUSE = re.compile(r"(?<=[,;:])(?:\s+|(?=[\"'\[{(]))|(?<=[，；：、])\s*|\s(?=[–—-]\s)")
#: so much of a line of code is shown among sentences
_CODE = 100
# Where a line may be cut: between words, else behind a mark inside of one.
_BETWEEN = " 、，。→"
_JOINT = re.compile(r"\W(?=\w*$)")
# What stands around a word and is no part of it: a dot before one, or a dash, may be.
_BEFORE = "\"'`“”‘’«»()[]{}<>*,;:!?|=–—\\"
_BEHIND = _BEFORE + ".-"
_ONLY_MARKS = _BEHIND + "/#~_+&…"
#: a word a clause shares with nothing is worth little, the first clause something: it has the subject
_WORD_OF_CLAUSE, _FIRST_CLAUSE = 0.1, 0.5
#: a sentence of fewer words than this, but for two, tells less, unless it tells how a thing came out
_SENTENCE = 8
#: words of a text come again and again; so many are remembered
_REPEATED = 4_096
#: what it names exactly makes it tell more, up to so many
_MARKED, _MARKS = 0.1, 4
# What tells how a thing came out, in the words people close a story with.
OUTCOME = re.compile(
    r"\b(?:fixed|solved|resolved|decided|decision|chose|agreed|confirmed|because|root cause|replaced|"
    r"reverted|switched|conclusion|finally|turned out|works now|result)\b",
    re.IGNORECASE,
)


def one_line(text: str) -> str:
    """The text with every run of white space made one space."""
    return " ".join(text.split())


def cut(text: str, most: int) -> str:
    """One line of at most `most` characters, not blank unless the text is, marked where it is cut.

    It is cut behind a word, if that is in its second half, else behind a mark inside of one.
    """
    text = one_line(text)
    if len(text) <= most or most < 1:
        return text[: max(0, most)]
    head = text[: most - 1]
    place = max(text.rfind(mark, most // 2, most) for mark in _BETWEEN)
    if place > 0:
        head = head[:place]
    else:
        joint = _JOINT.search(head, most // 2)
        head = head[: joint.end()] if joint else head
    return (head.rstrip(f"{_BETWEEN},;:-") or head) + MARK


def summary(text: str, most: int = 240, count: int = 2) -> str:
    """At most `count` sentences of the text and `most` characters, in the order of the text."""
    found = ends(_told(text))
    whole = _joined(found)
    if len(found) <= count and len(whole) <= most:
        return whole
    ranked = _ranked(found)
    taken: list[int] = []
    room = most
    for place in ranked:
        size = len(found[place]) + bool(taken)
        if size <= room:
            taken.append(place)
            room -= size
        if len(taken) == count:
            break
    if not taken:
        return shortened(found[ranked[0]], most) if ranked else ""
    return _joined([found[place] for place in sorted(taken)])


def _told(text: str) -> list[str]:
    """The sentences of a text, each with the code behind it: its first telling line, as code."""
    found: list[str] = []
    for block in blocks(text):
        if block.sort != "code":
            found += sentences("\n".join(block.lines))
            continue
        lines = [line for line in map(one_line, block.lines) if line]
        if lines:
            line = without_fences(next((line for line in lines if not is_import(line)), lines[0]))
            shown = cut(marked(line, len(lines) > 1), _CODE)
            shown = MARK if "`" in shown else f"`{shown}`"
            said = found and not found[-1].endswith(("`", MARK))
            found[-1:] = [f"{found[-1]} {shown}"] if said else [*found[-1:], shown]
    return found or sentences(text)


def shortened(sentence: str, most: int) -> str:
    """One line of at most `most` characters: the clauses that tell most, with marks between them."""
    sentence = one_line(sentence)
    if len(sentence) <= most:
        return sentence
    edges = [0, *(found.end() for found in _CLAUSE.finditer(sentence)), len(sentence)]
    clauses = [sentence[start:end] for start, end in pairwise(edges) if start < end]
    parts = [_clause(clause, place) for place, clause in enumerate(ends(clauses, ""))]
    places = chosen(parts, most - 2)
    line = ""
    before = -1
    for place in places:
        gap = "" if place == before + 1 else f"{MARK} " if not line else f" {MARK} "
        line = (line.rstrip() if gap else line) + gap + parts[place].text
        before = place
    line = line.rstrip() if before == len(parts) - 1 else f"{line.rstrip()} {MARK}"
    return line if most // 2 < len(line) <= most else cut(sentence, most)


def _clause(clause: str, place: int) -> Part:
    words = {_same(word): _WORD_OF_CLAUSE for word in content_words(clause[:WEIGHED])}
    return Part(clause, words | marks(clause), _FIRST_CLAUSE if place == 0 else 0.0)


def keywords(text: str, count: int, longest: int) -> list[str]:
    """The words that tell most of what a text is about, as they are written, in order.

    One that is longer than `longest` is not among them, unless all are.
    """
    seen: dict[str, str] = {}
    times: Counter[str] = Counter()
    words = content_words(text)
    for word in [word for word in words if len(word) <= longest] or words:
        same = _same(word)
        seen.setdefault(same, word)
        times[same] += 1
    order = {same: place for place, same in enumerate(seen)}
    worth = {same: _worth(seen[same], times[same], place) for same, place in order.items()}
    best = sorted(order, key=lambda same: (-worth[same], order[same]))[:count]
    return [seen[same] for same in sorted(best, key=order.__getitem__)]


def content_words(text: str) -> list[str]:
    """The words of a text without those that carry no content; all of them when none does."""
    words = [word for word in map(bare, _BREAK.split(text)) if word]
    return [word for word in words if _same(word) not in EMPTY_WORDS] or words


def _joined(found: Sequence[str]) -> str:
    """The sentences on one line, with a space behind those that end in a mark followed by one."""
    line = "".join(each if each[-1] in _NO_SPACE_BEHIND else f"{each} " for each in found)
    return line.rstrip()


def bare(word: str) -> str:
    """The word without what stands around it; a bracket opened in the word is closed in it."""
    if not word.strip(_ONLY_MARKS):
        return ""
    head = word.lstrip(_BEFORE)
    found = head.rstrip(_BEHIND)
    after = head[len(found) :][:1]
    opened = _CLOSES.get(after)
    return found + after if opened and opened in found else found


@lru_cache(_REPEATED)
def _same(word: str) -> str:
    return fold(word).lower().removesuffix("'s").replace("'", "")


def _worth(word: str, times: int, place: int) -> float:
    """A word is worth more when it comes often or early, is long, or is a name out of code."""
    early = 1.5 if place < _EARLY else 1.0
    return early * times * (min(len(word), 10) + (4 if _NAME.search(word) else 0))


def _ranked(found: Sequence[str]) -> list[int]:
    """The places of the sentences, the most central first, each unlike the ones before it."""
    words = [frozenset(analyse(sentence)) - EMPTY_WORDS for sentence in found]
    shared = Counter(word for each in words for word in each)
    scores = []
    for place, each in enumerate(words):
        score = sum(shared[word] for word in each) / (len(each) + 4)
        score *= 1 + _MARKED * min(_MARKS, len(marks(found[place])))
        score *= 1.2 if place == 0 else 1.1 if place == len(found) - 1 else 1.0
        comes_out = OUTCOME.search(found[place])
        scores.append(score * (1.5 if comes_out else min(1.0, (len(each) + 2) / _SENTENCE)))
    best = max(range(len(found)), key=lambda place: (scores[place], -place), default=None)
    if best is None:
        return []
    for place, each in enumerate(words):
        if place != best and each:
            scores[place] *= 1 - len(each & words[best]) / (len(each) + 1)
    scores[best] = float("inf")
    return sorted(range(len(found)), key=lambda place: (-scores[place], place))
