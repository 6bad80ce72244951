"""Scoring: every candidate on one scale, every part of the score by its name.

A signal is put on a common scale by its mean and spread among the best candidates, a fixed number of
them, so that a store's size does not move it. Signals that are missing stand at the middle and decide
nothing. What follows is plain arithmetic on settings; nothing here is learnt or looked up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain

import msgspec
import numpy as np
from numpy.typing import NDArray

from holdfast.model.recall import RecallSettings
from holdfast.model.search import DOCUMENT, Passage
from holdfast.text.dates import nearness
from holdfast.text.stems import stem
from holdfast.text.words import analyse

from .gather import Candidate, Queries, Shelf
from .question import EMPTY_STEMS, Question, Rarity, letters

Numbers = NDArray[np.float64]
#: who says what is not asked for so often
_NOT_PERSONS = frozenset({"model_message", "tool_call", "tool_result"})
_ROLES = frozenset({"user", "assistant"})
#: letters a stem may end in and its word lacks there: hope, hoping; happi, happy; sensibl, sensibility
_TURNED = ("e", "i", "l")


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """A ranked pool."""

    candidates: Sequence[Candidate]
    #: what each is ranked by before use and time count
    score: Numbers
    relevance: Numbers
    #: of each candidate the passage that fits best
    best: list[int]
    parts: dict[str, Numbers]
    confidence: float


class Scorer:
    """One question against one pool."""

    def __init__(
        self,
        asked: Question,
        rarity: Rarity,
        settings: RecallSettings,
        shelves: Sequence[Shelf],
        queries: Queries,
    ) -> None:
        self._asked = asked
        self._rarity = rarity
        self._settings = settings
        self._shelves = shelves
        self._queries = queries
        self._stems = list(dict.fromkeys(map(stem, asked.words)))
        self._content = set(self._stems) - EMPTY_STEMS

    def score(self, pool: Sequence[Candidate]) -> Scored:
        """Rank a pool: signals on one scale, then what they cannot see, then letters."""
        matched = self._matched(pool)
        meanings, following = self._meanings(pool)
        scale = self._scale(matched.lexical, meanings[-1] if meanings else None)
        parts = self._signals(pool, matched.lexical, meanings, following, scale)
        parts |= {name: made(pool) for name, made in self._priors().items()}
        score = np.sum(list(parts.values()), axis=0)
        parts["letters"] = self._letters(pool, matched.best, score)
        score = score + parts["letters"]
        cosine = max((float(m.max()) for m in meanings if m.size), default=0.0)
        said = np.array([c.document.kind != DOCUMENT for c in pool], bool)  # a path is no witness
        named = np.where(said, parts["speaker"], 0) if len(pool) else parts["speaker"]
        relevance, confidence = self._calibrated(score, named, matched.coverage, cosine)
        return Scored(
            candidates=pool,
            score=score,
            relevance=relevance,
            best=matched.best,
            parts=parts,
            confidence=confidence,
        )

    # ---- words -----------------------------------------------------------------------------

    def _matched(self, pool: Sequence[Candidate]) -> _Matched:
        """BM25 of each candidate's best passage, and how much of the question it covers."""
        passages = [passage for candidate in pool for passage in candidate.passages]
        counts, lengths = _counted(passages, self._stems, self._settings.context_weight)
        weight = np.array([self._rarity.weight(one) for one in self._stems])
        worth = np.array([self._rarity.information(one) for one in self._stems])
        k1, b = self._settings.bm25_k1, self._settings.bm25_b
        norm = k1 * (1 - b + b * lengths / self._rarity.average)
        said = (counts * (k1 + 1) / (counts + norm[:, None])) @ weight
        covers = (counts > 0) @ worth / (worth.sum() or 1.0)
        sizes = [len(candidate.passages) for candidate in pool]
        begins = np.cumsum([0, *sizes])[:-1]
        spans = zip(begins.tolist(), sizes, strict=True)
        return _Matched(
            lexical=np.maximum.reduceat(said, begins) if pool else said,
            coverage=np.maximum.reduceat(covers, begins) if pool else covers,
            best=[int(np.argmax(said[at : at + size])) if size > 1 else 0 for at, size in spans],
        )

    def _letters(self, pool: Sequence[Candidate], best: list[int], score: Numbers) -> Numbers:
        """Letters in common, among the candidates that are best so far."""
        grams = letters(self._asked.words)
        top = _top(score, self._settings.letters_pool)
        if not len(top) or not grams:
            return np.zeros(len(pool))
        has = np.zeros((len(grams), len(top)))
        for column, n in enumerate(top):
            passage = pool[n].passages[best[n]]
            text = f" {passage.context} {passage.own} "
            has[:, column] = [gram in text for gram in grams]
        frequency = has.sum(1)
        worth = np.log1p((len(top) - frequency + 0.5) / (frequency + 0.5))
        share = worth @ has / (worth.sum() or 1.0)
        part = np.full(len(pool), -3.0)
        part[top] = _standard(share, np.arange(len(top)), self._settings.least_spread)
        scaled: Numbers = self._settings.letters * part
        return scaled

    # ---- meaning ---------------------------------------------------------------------------

    def _meanings(self, pool: Sequence[Candidate]) -> tuple[list[Numbers], Numbers]:
        """For each embedder the best cosine of each candidate, and the best one's of what followed."""
        found = []
        following = np.full(len(pool), np.nan)
        for place, query in enumerate(self._queries):
            if query is None:
                continue
            meaning = self._best(pool, place, lambda c: [p.number for p in c.passages])
            if np.isnan(meaning).all():
                continue
            following = self._best(pool, place, lambda c: list(c.next))
            found.append(np.where(np.isnan(meaning), np.nanmedian(meaning), meaning))
        return found, following

    def _best(
        self, pool: Sequence[Candidate], place: int, of: Callable[[Candidate], list[int]]
    ) -> Numbers:
        best = np.full(len(pool), np.nan)
        query = self._queries[place]
        for at, shelf in enumerate(self._shelves):
            mine = [(n, number) for n, c in enumerate(pool) if c.shelf == at for number in of(c)]
            if not mine or query is None:
                continue
            numbers = np.array([number for _, number in mine], np.int64)
            near = shelf.vectors[place].similar(shelf.number, query, numbers, shelf.passages)
            owners = np.array([n for n, _ in mine])
            known = ~np.isnan(near)
            filled = np.where(np.isnan(best), -2.0, best)
            np.maximum.at(filled, owners[known], near[known])
            best = np.where(filled > -2, filled, np.nan)
        return best

    # ---- one scale -------------------------------------------------------------------------

    def _scale(self, lexical: Numbers, meaning: Numbers | None) -> NDArray[np.int64]:
        """The candidates that set the scale: the best by words and the best by meaning."""
        by_words = _top(lexical, self._settings.pool)
        if meaning is None:
            return by_words
        return np.union1d(by_words, _top(meaning, self._settings.pool))

    def _signals(
        self,
        pool: Sequence[Candidate],
        lexical: Numbers,
        meanings: list[Numbers],
        following: Numbers,
        scale: NDArray[np.int64],
    ) -> dict[str, Numbers]:
        settings, zero = self._settings, np.zeros(len(pool))
        least = settings.least_spread * sum(map(self._rarity.weight, self._stems))
        about = self._about(pool, lexical)
        parts = {
            "lexical": settings.lexical * _standard(lexical, scale, least),
            "session": settings.session * _standard(about, scale, least),
            "vector": zero,
            "static": zero,
            "following": zero,
        }
        if meanings:
            parts["static"] = settings.static * _standard(meanings[0], scale)
            parts["vector"] = settings.vector * _standard(meanings[-1], scale)
            after = _standard(following, scale, like=meanings[-1])
            parts["following"] = settings.following * np.where(np.isnan(after), 0, after)
        return parts

    def _about(self, pool: Sequence[Candidate], lexical: Numbers) -> Numbers:
        """What each candidate's conversation says about the question, in its best passages."""
        of: dict[tuple[int, str], list[float]] = {}
        most = self._settings.best_passages
        for n in _top(lexical, self._settings.candidates):
            key = (pool[n].shelf, pool[n].document.session)
            if key[1] and len(of.setdefault(key, [])) < most:
                of[key].append(float(lexical[n]))
        return np.array([sum(of.get((c.shelf, c.document.session), ())) for c in pool])

    # ---- what the signals cannot see -------------------------------------------------------

    def _priors(self) -> dict[str, Callable[[Sequence[Candidate]], Numbers]]:
        settings = self._settings
        each: dict[str, tuple[float, Callable[[Candidate], float]]] = {
            "person": (settings.person, self._person),
            "date": (settings.date, self._dated),
            "instruction": (settings.instruction, self._instructs),
            "preference": (settings.preference, partial(_says, "preference")),
            "length": (settings.length, lambda c: min(c.document.length, 30) / 30),
            "decision": (settings.decision, lambda c: c.document.kind == "decision"),
            "open": (settings.open_thread, self._open),
            "exact": (settings.exact, self._exact),
        }
        made: dict[str, Callable[[Sequence[Candidate]], Numbers]] = {
            name: partial(_weighed, weight, of) for name, (weight, of) in each.items()
        }
        made["speaker"] = self._spoken
        return made

    def _spoken(self, pool: Sequence[Candidate]) -> Numbers:
        """Who the question names; when it names everybody it tells nobody apart."""
        asked = set(self._asked.words)
        speakers = {c.document.speaker for c in pool}
        named = {one for one in speakers if asked & (set(analyse(one)) - _ROLES)}
        said = np.array([c.document.speaker in named for c in pool], float)
        return self._settings.speaker * (said if 0 < said.sum() < len(said) else 0 * said)

    def _person(self, candidate: Candidate) -> float:
        return not self._asked.of_the_model and candidate.document.kind not in _NOT_PERSONS

    def _instructs(self, candidate: Candidate) -> float:
        """A standing instruction holds for every question, and first for one that it speaks of."""
        if not _says("instruction", candidate):
            return 0.0
        said = {stem(word) for passage in candidate.passages for word in passage.own.split()}
        return 1.0 if self._content & said else self._settings.instruction_elsewhere

    def _dated(self, candidate: Candidate) -> float:
        if not self._asked.days:
            return 0.0
        at = datetime.fromtimestamp(candidate.document.at / 1000, UTC)
        return nearness(self._asked.days, at)

    def _open(self, candidate: Candidate) -> float:
        return candidate.document.event_seq in self._shelves[candidate.shelf].open

    def _exact(self, candidate: Candidate) -> float:
        key = candidate.document.key.split()
        if key and set(key) <= set(self._asked.words):
            return 1.0
        if not self._asked.exact:
            return 0.0
        said = " ".join(["", *(passage.own for passage in candidate.passages), ""])
        return sum(f" {word} " in said for word in self._asked.exact) / len(self._asked.exact)

    # ---- what it means ---------------------------------------------------------------------

    def _calibrated(
        self, score: Numbers, speaker: Numbers, coverage: Numbers, cosine: float
    ) -> tuple[Numbers, float]:
        """How likely each hit is what was asked for, and how likely the answer is there at all."""
        if not len(score):
            return score, 0.0
        s = self._settings
        top = np.sort(score)[::-1][: s.answer_among]
        share = score - _log_sum(top)
        covered = float(np.sort(coverage)[::-1][: s.best_passages].mean())
        known = (
            s.answer_coverage * covered
            + s.answer_cosine * cosine
            + s.answer_unseen * self._rarity.telling() * self._rarity.unseen(self._asked.words)
        )
        relevance = _logistic(s.relevance_share + share) * _logistic(s.answer_base + known)
        shares = np.exp(top - _log_sum(top))
        spread = float(-(shares * np.log(shares + 1e-12)).sum())
        there = _logistic(s.confidence_base + known + s.confidence_spread * spread)
        named = speaker > 0
        if named.any():  # by the words alone, was it the one who is named that said so?
            said = score - speaker
            there = there * np.exp(_log_sum(said[named]) - _log_sum(said))
        return np.minimum(relevance, 1.0), float(there)


class _Matched(msgspec.Struct, frozen=True, kw_only=True):
    lexical: Numbers
    coverage: Numbers
    best: list[int]


def _counted(
    passages: Sequence[Passage], stems: Sequence[str], context: float
) -> tuple[Numbers, Numbers]:
    """How often each passage says each stem, borrowed words counting less; and how long it is."""
    place = {one: n for n, one in enumerate(stems)}
    maybe = _beginning(stems).findall
    own = [maybe(f" {passage.own}") for passage in passages]
    borrowed = [maybe(f" {passage.context}") for passage in passages]
    words = set().union(*own, *borrowed)
    asked = {word: place[one] for word in words if word and (one := stem(word)) in place}
    counts = _times(own, asked, len(stems)) + context * _times(borrowed, asked, len(stems))
    lengths = [_length(passage.own) + _length(passage.context) for passage in passages]
    return counts, np.array(lengths, float)


def _times(texts: Sequence[Sequence[str]], asked: Mapping[str, int], stems: int) -> Numbers:
    """How often each text has a word of each stem."""
    found = [[asked[word] for word in text if word in asked] for text in texts]
    rows = np.repeat(np.arange(len(found)), np.array([*map(len, found)], np.int64))
    cells = rows * stems + np.fromiter(chain.from_iterable(found), np.int64)
    times = np.bincount(cells, minlength=len(found) * stems).reshape(len(found), stems)
    return times.astype(float)


def _beginning(stems: Sequence[str]) -> re.Pattern[str]:
    """Finds the words that may have one of these stems, among words with a space before each.

    A word begins with its stem, but for a last e, i or l, which may stand for an ending. Few words do,
    so most of a text is never cut into words.
    """
    beginnings = {one[:-1] or one if one.endswith(_TURNED) else one for one in stems}
    return re.compile(f" ((?:{'|'.join(map(re.escape, sorted(beginnings)))})[^ ]*)")


def _length(words: str) -> int:
    return words.count(" ") + 1 if words else 0


def _says(what: str, candidate: Candidate) -> float:
    return f"says:{what}" in candidate.document.labels


def _weighed(weight: float, of: Callable[[Candidate], float], pool: Sequence[Candidate]) -> Numbers:
    return weight * np.array([float(of(candidate)) for candidate in pool])


def _top(values: Numbers, most: int) -> NDArray[np.int64]:
    """The places of the largest, the largest first; of equals the first."""
    return np.argsort(-values, kind="stable")[:most]


def _standard(
    values: Numbers, scale: NDArray[np.int64], least: float = 0.0, like: Numbers | None = None
) -> Numbers:
    """Values by mean and spread of those that set the scale; a spread below the least is noise."""
    of = (values if like is None else like)[scale]
    if not len(of):
        return np.zeros(len(values))
    standard: Numbers = (values - of.mean()) / (max(of.std(), least) or 1.0)
    return standard


def _logistic(x: Numbers | float) -> Numbers:
    made: Numbers = 1 / (1 + np.exp(-np.clip(np.asarray(x, float), -60, 60)))
    return made


def _log_sum(x: Numbers) -> float:
    if not len(x):
        return -np.inf
    most = x.max()
    return float(most + np.log(np.exp(x - most).sum()))
