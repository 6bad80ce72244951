"""Recall without a model: whole public conversations recorded, every question asked, gold turns counted.

    python -m bench.recall DATA --dataset locomo|beam|longmemeval|qmsum [--embedder auto] [--ablation]
                                [--conversations N] [--json]

DATA is a file as its authors publish it, or a folder with `locomo/`, `beam/`, `longmemeval/`, `qmsum/`.
Each conversation gets a home of its own; `now` stands at its last turn. R@k is the share of gold turns
among the first k hits; R≤B the share among what fits B tokens as the product would inject it; rank≤B the
same taken strictly in rank order. A long turn counts as found when the product shows an excerpt of it.
Averages are over questions with gold; intervals draw whole conversations. The baseline of the same run
is SQLite's full-text search over the same turns, each injected whole.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, get_args

import msgspec

import holdfast
from bench import measures
from bench.data import (
    AGENT,
    USER,
    Conversation,
    Dataset,
    Question,
    Turn,
    find,
    last_moment,
    read,
    record,
)
from bench.measures import Answer
from bench.report import show
from holdfast.errors import HoldfastError, Invalid
from holdfast.model.recall import Hit, RecallSettings
from holdfast.recall.fit import fitted

_NO_PRIORS = dict.fromkeys(
    (
        "speaker",
        "person",
        "date",
        "instruction",
        "preference",
        "length",
        "decision",
        "open_thread",
        "exact",
        "breadth",
    ),
    0.0,
)
_NO_WORDS = dict.fromkeys(("lexical", "session", "letters"), 0.0)
_NO_VECTORS = dict.fromkeys(("vector", "static", "following"), 0.0)
_NO_CONTEXT = dict.fromkeys(("context_weight", "following", "session"), 0.0)
_NO_LETTERS = {"letters": 0.0}


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One way to ask: an embedder (None is the run's own) and what is changed of the settings."""

    what: str
    embedder: str | None = None
    changes: dict[str, Any] = {}


#: the rows of `--ablation`: single arms first, then what is added to them, then the embedders
ABLATION = (
    Variant(what="lexical only", changes=_NO_VECTORS | _NO_CONTEXT | _NO_LETTERS | _NO_PRIORS),
    Variant(what="vectors only", changes=_NO_WORDS | _NO_CONTEXT | _NO_PRIORS),
    Variant(what="fused", changes=_NO_CONTEXT | _NO_LETTERS | _NO_PRIORS),
    Variant(what="fused + context", changes=_NO_LETTERS | _NO_PRIORS),
    Variant(what="no priors", changes=_NO_PRIORS),
    Variant(what="no vectors", embedder="none"),
    Variant(what="static vectors", embedder="static"),
    Variant(what="MiniLM", embedder="minilm"),
)
#: averages that are shown first, and the categories each leaves out
HEADLINES: dict[str, dict[str, frozenset[str]]] = {
    "locomo": {"categories 1–4": frozenset({"adversarial"})},
    "beam": {"all": frozenset(), "without summarization": frozenset({"summarization"})},
    "longmemeval": {"answerable": frozenset({"abstention"})},
    "qmsum": {"all": frozenset()},
}
OURS, BASELINE = PAIR = ("holdfast", "FTS5")
#: 100 short turns take fewer than 4,000 tokens, so fewer hits would cap what a budget holds
_HITS = 200
_WORD = re.compile(r"\w+")

Asker = Callable[[Question], Answer]


# ---- asking ------------------------------------------------------------------------------------


def asker(
    hf: holdfast.Holdfast, places: Mapping[str, int], settings: RecallSettings | None = None
) -> Asker:
    """Asks the product; `places` says which event stands for which place."""
    count = cache(hf.counter().count)

    def place(hit: Hit) -> int:
        return places.get(hit.id, -1)

    def ask_one(question: Question) -> Answer:
        start = time.perf_counter()
        found = hf.recall(
            question.text, k=_HITS, min_relevance=0, user=USER, agent=AGENT, settings=settings
        )
        seconds = time.perf_counter() - start
        hits = [msgspec.structs.replace(hit, event=None) for hit in found]  # light enough to keep
        return Answer(
            question=question,
            places=tuple(map(place, hits)),
            tokens=tuple(count(hit.text) for hit in hits),
            relevance=tuple(hit.relevance for hit in hits),
            confidence=found.confidence,
            inject=lambda budget: tuple(map(place, fitted(hits, budget, count))),
            seconds=seconds,
        )

    return ask_one


def ask(
    hf: holdfast.Holdfast,
    questions: Sequence[Question],
    places: Mapping[str, int],
    settings: RecallSettings | None = None,
) -> list[Answer]:
    """Ask every question of one conversation."""
    return [*map(asker(hf, places, settings), questions)]


@contextmanager
def full_text(turns: Sequence[Turn], count: Callable[[str], int]) -> Iterator[Asker]:
    """Asks SQLite: words by their stems, any of them, ranked by BM25; turns are injected whole."""
    tokens = [count(turn.text) for turn in turns]

    def ask_one(question: Question) -> Answer:
        start = time.perf_counter()
        words = dict.fromkeys(_WORD.findall(_sayable(question.text).lower()))
        found = base.execute(
            "select rowid from turns where turns match ? order by rank, rowid limit ?",
            (" OR ".join(f'"{word}"' for word in words) or '""', _HITS),
        ).fetchall()
        seconds = time.perf_counter() - start
        places = tuple(place for (place,) in found)
        costs = tuple(tokens[place] for place in places)
        return Answer(
            question=question,
            places=places,
            tokens=costs,
            inject=lambda budget: measures.in_order(places, costs, budget),
            seconds=seconds,
        )

    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("create virtual table turns using fts5(text, tokenize='porter unicode61')")
        rows = ((place, _sayable(turn.text)) for place, turn in enumerate(turns))
        base.executemany("insert into turns(rowid, text) values (?, ?)", rows)
        yield ask_one


def _sayable(text: str) -> str:
    """Without lone surrogates, which SQLite does not take."""
    return text.encode("utf-8", "replace").decode()


def changed(settings: RecallSettings, changes: Mapping[str, Any]) -> RecallSettings:
    """The settings with some of them changed; Invalid for one that is not there."""
    unknown = set(changes).difference(settings.__struct_fields__)
    if unknown:
        raise Invalid(f"recall has no setting {', '.join(sorted(unknown))}")
    return msgspec.structs.replace(settings, **changes)


# ---- a run -------------------------------------------------------------------------------------


class Run:
    """Every conversation asked in every way; what each way answered, by conversation."""

    def __init__(self, conversations: Sequence[Conversation], embedder: str) -> None:
        self.conversations = conversations
        self.embedder = embedder
        self.answers: dict[str, dict[str, list[Answer]]] = {}
        self.settings = ""

    def go(self, variants: Sequence[Variant]) -> None:
        """The baseline and all variants; those of one embedder share what was recorded."""
        by_embedder: dict[str, list[Variant]] = {self.embedder: []}
        for variant in variants:
            by_embedder.setdefault(variant.embedder or self.embedder, []).append(variant)
        for embedder, mine in by_embedder.items():
            for number, conversation in enumerate(self.conversations):
                said = f"{embedder}: {number + 1}/{len(self.conversations)} {conversation.name}"
                print(f"{said}, {len(conversation.turns)} turns", file=sys.stderr, flush=True)
                self._converse(conversation, embedder, mine)

    def _converse(self, conversation: Conversation, embedder: str, mine: list[Variant]) -> None:
        with (
            opened(conversation, embedder) as hf,
            full_text(conversation.turns, hf.counter().count) as baseline,
        ):
            places = record(conversation, hf)
            hf.index(progress=None)
            own = hf.settings.recall
            askers = {v.what: asker(hf, places, changed(own, v.changes)) for v in mine}
            if embedder == self.embedder:
                askers[BASELINE] = baseline
                self.settings = _digest(own)
            for one in askers.values():  # whatever loads on first use is not timed
                [*map(one, conversation.questions[:1])]
            for question in conversation.questions:
                for what, one in askers.items():  # in turns, so a busy machine slows all alike
                    kept = self.answers.setdefault(what, {}).setdefault(conversation.name, [])
                    kept.append(one(question))


@contextmanager
def opened(conversation: Conversation, embedder: str) -> Iterator[holdfast.Holdfast]:
    """A fresh project in a home of its own, its clock at the conversation's last turn."""
    before = os.environ.get("HOLDFAST_EMBEDDER")
    os.environ["HOLDFAST_EMBEDDER"] = embedder
    now = last_moment(conversation)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="holdfast-bench-") as home,
            holdfast.open(home, project="bench", user=USER, now=lambda: now) as hf,
        ):
            yield hf
    finally:
        if before is None:
            del os.environ["HOLDFAST_EMBEDDER"]
        else:
            os.environ["HOLDFAST_EMBEDDER"] = before


def _digest(settings: RecallSettings) -> str:
    encoded = msgspec.json.encode(settings, order="sorted")
    return hashlib.sha256(encoded).hexdigest()[:16]


# ---- what came of it ---------------------------------------------------------------------------


def groups(dataset: str, conversations: Sequence[Conversation]) -> dict[str, frozenset[str]]:
    """The categories of each average: the headlines, then every category that is asked."""
    asked = sorted({q.category for one in conversations for q in one.questions if q.gold})
    headlines = {
        label: frozenset(asked) - left_out for label, left_out in HEADLINES[dataset].items()
    }
    return headlines | {category: frozenset({category}) for category in asked if len(asked) > 1}


def report(dataset: str, run: Run) -> dict[str, Any]:
    """Everything that was measured, as one object."""
    which = groups(dataset, run.conversations)
    headline = next(iter(which))
    rows = [
        {"what": what, "group": label, **row}
        for what, answers in run.answers.items()
        for label, row in measures.averages(answers, which).items()
    ]
    whole = {what: [a for asked in run.answers[what].values() for a in asked] for what in PAIR}
    first = which[headline]
    lead = {what: [a for a in kept if a.question.category in first] for what, kept in whole.items()}
    return {
        "dataset": dataset,
        "conversations": len(run.conversations),
        "turns": sum(len(one.turns) for one in run.conversations),
        "questions": sum(len(one.questions) for one in run.conversations),
        "n": next(row["n"] for row in rows if row["group"] == headline),
        "misplaced_evidence": sum(one.misplaced for one in run.conversations),
        "embedder": run.embedder,
        "settings": run.settings,
        "seed": measures.SEED,
        "rows": rows,
        "injection": {what: measures.injection(kept) for what, kept in lead.items()},
        "calibration": measures.calibration(lead[OURS]),
        "abstention": measures.abstention(whole[OURS]),
        "updates": {what: measures.updates(kept) for what, kept in whole.items()},
        "latency": {what: measures.latency(kept) for what, kept in whole.items()},
    }


def table(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The averages for people: both methods in every group, an ablation in the headlines only."""
    headlines = HEADLINES[found["dataset"]]
    return [
        {
            "what": f"{row['what']}: {row['group']}",
            "n": row["n"],
            **{name: _percent(row[name]) for name in measures.NAMES},
            "R@10, 95 %": "–".join(map(_percent, row["intervals"]["R@10"])),
        }
        for row in found["rows"]
        if row["what"] in PAIR or row["group"] in headlines
    ]


def goals(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """What is not an average of recall, beside the baseline where it has such a thing."""
    mine, theirs = (found["latency"][what] for what in PAIR)
    sure, told = found["abstention"], found["calibration"]
    above = ", ".join(
        f"{_percent(told['precision'][name])} of {told['hits'][name]:,} (≥ {name})"
        for name in told["precision"]
    )
    rows = [
        (
            "injected turns that are gold or beside it, at 80 % recall",
            *(_injected(found["injection"][what]) for what in PAIR),
            "> 70 %",
        ),
        (f"calibration error, first {measures.TOP} hits", _figure(told["error"]), "", "≤ 0.1"),
        ("gold among hits above a threshold", above, "", "equal ± 5"),
        (
            f"AUROC of confidence, {sure['answerable']} against {sure['not']}",
            _figure(sure["auroc"]),
            "",
            "≥ 0.75",
        ),
        (
            f"latest of several statements first, n = {found['updates'][OURS]['n']}",
            *(_percent(found["updates"][what]["latest first"]) for what in PAIR),
            "≥ 95 %",
        ),
        *(
            (
                f"latency {at}",
                f"{mine[at]:.1f} ms, {mine[at] / theirs[at]:.1f} × baseline",
                f"{theirs[at]:.2f} ms",
                "",
            )
            for at in ("p50", "p95")
        ),
    ]
    return [dict(zip(("what", *PAIR, "goal"), row, strict=True)) for row in rows]


def _percent(value: float) -> str:
    return f"{value * 100:.1f}" if math.isfinite(value) else "–"


def _figure(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "–"


def _injected(found: Mapping[str, Any]) -> str:
    if found["budget"] is None:
        return f"not by {measures.BUDGETS[-1]:,} tokens"
    share = _percent(found["precision"])
    return f"{share} of {found['turns']:.1f} turns, {found['budget']:,} tokens"


def _finite(value: Any) -> Any:
    """JSON has no word for what is not a number."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def main() -> None:
    """One data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a file, or a folder of data sets")
    parser.add_argument("--dataset", choices=get_args(Dataset), required=True)
    parser.add_argument("--embedder", choices=("auto", "none", "static", "minilm"), default="auto")
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--conversations", type=int, help="only the first so many")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        conversations = read(find(given.data, given.dataset), given.dataset)[: given.conversations]
        if not any(one.questions for one in conversations):
            raise Invalid("nothing is asked there")
        run = Run(conversations, given.embedder)
        run.go([Variant(what=OURS), *(ABLATION if given.ablation else ())])
    except HoldfastError as exc:
        raise SystemExit(f"bench.recall: {exc}") from exc
    found = report(given.dataset, run)
    if given.json:
        print(json.dumps(_finite(found), indent=2, ensure_ascii=False))
        return
    size = f"{found['conversations']} conversations, {found['turns']:,} turns, n = {found['n']:,}"
    show(f"{given.dataset}: {size}; percent", table(found), as_json=False)
    show(f"{given.dataset}: settings {found['settings']}", goals(found), as_json=False)


if __name__ == "__main__":
    main()
