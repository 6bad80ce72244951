"""Contexts that are really handed out: what evidence stands in them, how fast, how well they are packed.

    python -m bench.compose DATA [--dataset locomo|beam] [--embedder static] [--budgets 1000,2000,4000]
                            [--sizes 1000,10000,100000] [--home DIR] [--conversations N] [--json]

Each question of a conversation is asked in a session of its own, whose context may take so many tokens
of memory. Evidence is the share of gold turns whose text stands in the rendered context, whole or as the
passage that fits best; `named` counts shorter levels too. Precision is the share of shown turns that are
gold or beside it. The baseline of the same run takes hits whole in the order of recall until the same
number of tokens is full. Latency is that of `s.context` beside bare `hf.recall` on the same store, in
turns. Packing is the value of what is chosen beside a greedy choice by value for each token.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import holdfast
from bench import scale, scale_store
from bench.data import AGENT, USER, Conversation, Question, find, read, record
from bench.measures import mean, percentile, share
from bench.recall import HEADLINES, opened
from bench.report import show
from holdfast.compose.packing import Choice, Offer, packed
from holdfast.errors import HoldfastError
from holdfast.model.packs import Pack

DATASETS = ("locomo", "beam")
#: how a turn is written, without its number
_HEAD = 12


# ---- evidence ------------------------------------------------------------------------------------


def measured(
    conversation: Conversation, embedder: str, budgets: Sequence[int], left_out: frozenset[str]
) -> dict[int, list[dict[str, float]]]:
    """Every question with gold, in every budget."""
    found: dict[int, list[dict[str, float]]] = {budget: [] for budget in budgets}
    with opened(conversation, embedder) as hf:
        places = record(conversation, hf)
        hf.index()
        for question in conversation.questions:
            if not question.gold or question.category in left_out:
                continue
            for budget in budgets:
                with hf.session(agent=AGENT, user=USER) as s:
                    pack = s.context(question.text, budget=budget)
                figures = _figures(pack, places, question)
                found[budget].append(figures | _in_order(hf, question, places, pack))
    return found


def _figures(pack: Pack, places: Mapping[str, int], question: Question) -> dict[str, float]:
    taken = [one.shown for one in pack.receipt.candidates if one.verdict == "taken"]
    shown = [places[one.id] for one in taken if one.id in places]
    whole = [places[one.id] for one in taken if one.id in places and one.level == 0]
    return {
        "evidence": share(whole, question.gold),
        "named": share(shown, question.gold),
        "precision": _precision(shown, question.gold),
        "entries": float(len(taken)),
        "tokens": float(pack.tokens),
    }


def _precision(shown: Sequence[int], gold: Sequence[int]) -> float:
    near = {place + by for place in gold for by in (-1, 0, 1)}
    return mean([float(place in near) for place in shown]) if shown else 0.0


def _in_order(
    hf: holdfast.Holdfast, question: Question, places: Mapping[str, int], pack: Pack
) -> dict[str, float]:
    """Hits whole, in the order of recall, in as many tokens as the context takes."""
    count, room, kept = hf.counter().count, pack.tokens, []
    for hit in hf.recall(question.text, 200, user=USER, agent=AGENT):
        room -= count(hit.full) + _HEAD
        if room < 0:
            break
        kept.append(places.get(hit.id, -1))
    return {
        "in order: evidence": share(kept, question.gold),
        "in order: precision": _precision(kept, question.gold),
    }


def evidence(given: argparse.Namespace, dataset: str) -> list[dict[str, Any]]:
    """A row for each budget of one data set."""
    conversations = read(find(given.data, dataset), dataset)[: given.conversations]  # type: ignore[arg-type]
    left_out = next(iter(HEADLINES[dataset].values()))
    every: dict[int, list[dict[str, float]]] = {budget: [] for budget in given.budgets}
    for number, conversation in enumerate(conversations, 1):
        print(f"{dataset} {number}/{len(conversations)}", file=sys.stderr, flush=True)
        for budget, found in measured(
            conversation, given.embedder, given.budgets, left_out
        ).items():
            every[budget] += found
    return [
        {
            "what": f"{dataset}, {budget:,} tokens",
            "n": len(found),
            **{
                name: round(_average(found, name), 1)
                for name in ("evidence", "named", "precision", "entries", "tokens")
            },
            **{
                name: round(_average(found, name), 1)
                for name in ("in order: evidence", "in order: precision")
            },
        }
        for budget, found in every.items()
    ]


def _average(found: Sequence[Mapping[str, float]], name: str) -> float:
    scale_by = 1 if name in ("entries", "tokens") else 100
    return scale_by * mean([one[name] for one in found])


# ---- latency -------------------------------------------------------------------------------------


def latency(home: Path, size: int, embedder: str) -> dict[str, Any]:
    """`s.context` beside `hf.recall`, question by question; and the turns after the first."""
    store = home / f"{size}-{embedder}"
    if scale_store.kept(store) is None:
        scale.measured(home, size, "static" if embedder == "static" else "none", None)
    filled = scale_store.kept(store)
    if filled is None:
        raise SystemExit(f"bench.compose: {store} was not filled")
    took: dict[str, list[float]] = {"recall": [], "context": [], "next turn": []}
    with scale_store.opened(store) as hf:
        hf.recall(filled.questions[0][1], user=USER)
        for _, text in filled.questions:
            with hf.session(agent=AGENT, user=USER) as s:
                s.user(text)
                for what in took:
                    begun = time.perf_counter()
                    if what == "recall":
                        hf.recall(text, user=USER)
                    else:
                        s.context(text)
                    took[what].append((time.perf_counter() - begun) * 1e3)
                    if what == "context":
                        s.assistant("Well.")
                        s.user(text[::-1])
    row: dict[str, Any] = {"what": f"{size:,} memories"}
    for what, times in took.items():
        row |= {f"{what} p50 ms": percentile(times, 50), f"{what} p95 ms": percentile(times, 95)}
    return row | {"context / recall, p95": row["context p95 ms"] / row["recall p95 ms"]}


# ---- packing -------------------------------------------------------------------------------------


def packing(count: int = 300) -> dict[str, Any]:
    """The chosen value beside a greedy choice, over made-up offers as contexts have them."""
    import random

    chance = random.Random(20261116)
    ratios = []
    for _ in range(count):
        offers = []
        for _ in range(chance.randint(5, 120)):
            tokens, value = chance.randint(8, 400), chance.random() ** 4
            steps = tuple(
                Choice(max(6, round(tokens * keep**2)), value * keep)
                for keep in (1.0, 0.7, 0.45, 0.15)
            )
            offers.append(Offer(chance.choice(("critical", "relevant")), steps))
        total = chance.choice((500, 2_000, 5_000))
        caps = {"critical": total * 3 // 5, "relevant": total * 9 // 10}
        chosen = packed(offers, caps, total)
        pairs = zip(offers, chosen, strict=True)
        best = sum(offer.choices[n].value for offer, n in pairs if n is not None)
        ratios.append(greedy(offers, caps, total) / best if best else 1.0)
    return {
        "what": f"{count} instances",
        "greedy / chosen, mean": round(mean(ratios), 4),
        "greedy / chosen, worst": round(min(ratios), 4),
        "chosen / optimum": 1.0,
    }


def greedy(offers: Sequence[Offer], caps: Mapping[str, int], total: int) -> float:
    """The densest full text first, as long as it fits."""
    left, value = dict(caps), 0.0
    order = sorted(offers, key=lambda one: -one.choices[0].value / one.choices[0].tokens)
    for offer in order:
        first = offer.choices[0]
        if first.tokens <= min(total, left[offer.section]):
            total -= first.tokens
            left[offer.section] -= first.tokens
            value += first.value
    return value


def main() -> None:
    """Everything, as tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--dataset", choices=DATASETS, action="append")
    parser.add_argument("--embedder", choices=("static", "minilm", "none"), default="static")
    parser.add_argument("--budgets", type=scale.sizes, default=[500, 1_000, 2_000, 4_000])
    parser.add_argument("--sizes", type=scale.sizes, default=[1_000, 10_000, 100_000])
    parser.add_argument("--home", type=Path, help="where stores are kept and found again")
    parser.add_argument("--conversations", type=int)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        rows = [row for of in given.dataset or DATASETS for row in evidence(given, of)]
        show("What stands in the context", rows, as_json=given.json)
        with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as aside:
            home = given.home or Path(aside)
            times = [latency(home, size, given.embedder) for size in given.sizes]
        show("How long it takes (goal: context p95 ≤ 100 ms at 100,000)", times, as_json=given.json)
        show("How well it is packed", [packing()], as_json=given.json)
    except HoldfastError as exc:
        raise SystemExit(f"bench.compose: {exc}") from exc


if __name__ == "__main__":
    main()
