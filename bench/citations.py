"""Automatic citation: of the hits said to be cited by a reply, how many hold its evidence?

    python -m bench.citations DATA [--embedder static] [--json]

Each question of LoCoMo and BEAM is asked, and upstream's own answer plays the model's next turn. A hit
that is noted as cited counts as right when it is gold or beside it. The baseline of the same run says of
every hit that it was cited.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import holdfast
from bench.data import USER, Conversation, Dataset, find, read, record
from bench.recall import opened
from bench.report import show
from holdfast.app import citing

_HITS = 10
_SETS: tuple[Dataset, ...] = ("locomo", "beam")


def noted(hf: holdfast.Holdfast, conversation: Conversation) -> dict[str, int]:
    """Over every answered question: hits, those noted as cited, and how many of each are right."""
    places = record(conversation, hf)
    hf.index()
    counts = dict.fromkeys(("hits", "right", "cited", "cited_right", "gold", "gold_cited"), 0)
    for question in conversation.questions:
        if not question.gold or not question.answer or not question.answerable:
            continue
        found = hf.recall(question.text, _HITS, user=USER, min_relevance=0.0)
        watch = citing.Watch(found)
        citing.look(hf, watch, question.answer, user=USER)
        right = {hit.id for hit in found if places[hit.id] in {*question.gold, *question.near}}
        gold = {hit.id for hit in found if places[hit.id] in question.gold}
        counts["hits"] += len(found)
        counts["right"] += len(right)
        counts["cited"] += len(watch.cited)
        counts["cited_right"] += len(watch.cited & right)
        counts["gold"] += len(gold)
        counts["gold_cited"] += len(watch.cited & gold)
    return counts


def row(what: str, counts: dict[str, int]) -> dict[str, Any]:
    """One set's figures."""
    return {
        "what": what,
        "hits": counts["hits"],
        "noted as cited": counts["cited"],
        "right of these, %": round(100 * counts["cited_right"] / max(1, counts["cited"]), 1),
        "right if all were, %": round(100 * counts["right"] / max(1, counts["hits"]), 1),
        "gold hits noted, %": round(100 * counts["gold_cited"] / max(1, counts["gold"]), 1),
    }


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("data", type=Path)
    options.add_argument("--embedder", default="static")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    rows = []
    for dataset in _SETS:
        total: dict[str, int] = {}
        for conversation in read(find(given.data, dataset), dataset):
            with opened(conversation, given.embedder) as hf:
                for name, count in noted(hf, conversation).items():
                    total[name] = total.get(name, 0) + count
        rows.append(row(dataset, total))
    show("automatic citation", rows, as_json=given.json)


if __name__ == "__main__":
    main()
