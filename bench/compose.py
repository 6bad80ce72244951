"""Contexts that are really handed out: what evidence stands in them, how fast, how well they are packed.

    python -m bench.compose DATA [--dataset locomo|beam] [--embedder static] [--budgets 500,1000,2000]
                            [--stretch X]… [--floor X]… [--sizes 1000,10000,100000] [--home DIR]
                            [--conversations N] [--json]

Each question of a conversation is asked in a session of its own, whose context may take so many tokens
of memory. What counts is read in the text of the context. Of the gold turns of a question, `whole` is
the share that stands there word for word from beginning to end; `passage` counts a longer turn too of
which one passage stands there word for word, at full length and with at least eight words; `named`
counts every gold turn that anything is shown of. Precision is the share of all entries that are of a
turn that is gold or beside gold in its session.

Two baselines of the same run are read the same way. They take the hits of recall, of the same least
relevance, in its order until one does not fit, in as many tokens as the entries of the context take,
each with the same head: the passage that recall would show, or the whole turn. With --stretch and
--floor, rows with that setting stand beside those of the settings' own; without either, 2,000 tokens are
also divided so that the relevant section may take all that others leave (a stretch of 2.667).

Latency is that of `s.context` beside bare `hf.recall` on a copy of the same store, in turns. Packing is
the value of what is chosen, and of a greedy choice of levels by value for each token, as shares of the
exact optimum, which another algorithm finds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

import holdfast
from bench import scale, scale_store
from bench.compose_packing import packing
from bench.compose_seen import SHARES, figures, in_order, passages, room_in, seen, whole_turns
from bench.data import AGENT, USER, Conversation, Question, find, read, record
from bench.measures import mean, percentile
from bench.recall import HEADLINES, opened
from bench.report import show
from holdfast.errors import HoldfastError, Invalid
from holdfast.model.compose import ComposeSettings
from holdfast.model.recall import Hit

DATASETS = ("locomo", "beam")
#: how a context comes about: ours, then the baselines
WAYS = OURS, PASSAGES, TURNS = "holdfast", "passages in order", "turns in order"
#: hits a baseline may choose from; few questions fill a context with more
_HITS = 200
#: with this stretch the share of the relevant section is the whole budget
_ALL_OTHERS_LEAVE = ("stretch", 2.667)
_BESIDE = 2_000

#: of each question, by the way
Figures = dict[str, list[dict[str, float]]]


class Setting(msgspec.Struct, frozen=True):
    """So many tokens for memory, and what else differs from the settings: names and values."""

    budget: int
    changes: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        changed = (f", {name} {value:g}" for name, value in self.changes)
        return f"{self.budget:,} tokens{''.join(changed)}"

    def of(self, own: ComposeSettings) -> ComposeSettings:
        """These settings with the changes; Invalid where one cannot be."""
        try:
            return msgspec.convert(msgspec.to_builtins(own) | dict(self.changes), ComposeSettings)
        except msgspec.ValidationError as exc:
            raise Invalid(f"{self}: {exc}") from exc


# ---- evidence ------------------------------------------------------------------------------------


def measured(
    conversation: Conversation,
    embedder: str,
    settings: Sequence[Setting],
    left_out: frozenset[str] = frozenset(),
) -> dict[Setting, Figures]:
    """Every question with gold, with every setting."""
    found: dict[Setting, Figures] = {one: {way: [] for way in WAYS} for one in settings}
    with opened(conversation, embedder) as hf:
        places = record(conversation, hf)
        hf.index()
        for question in conversation.questions:
            if not question.gold or question.category in left_out:
                continue
            hits = hf.recall(question.text, _HITS, min_relevance=0, user=USER, agent=AGENT).hits
            for setting, into in found.items():
                asked = Asked(conversation, question, places, hits)
                for way, one in asked.answered(hf, setting).items():
                    into[way].append(one)
    return found


class Asked(msgspec.Struct, frozen=True):
    """A question about a conversation that was recorded, and what recall finds for it."""

    conversation: Conversation
    question: Question
    places: Mapping[str, int]
    hits: Sequence[Hit]

    def answered(self, hf: holdfast.Holdfast, setting: Setting) -> dict[str, dict[str, float]]:
        """The figures of the context, and of the baselines in as many tokens."""
        own, turns, count = (
            setting.of(hf.settings.compose),
            self.conversation.turns,
            hf.counter().count,
        )
        with hf.session(agent=AGENT, user=USER) as s:
            pack = s.context(self.question.text, budget=setting.budget, settings=own)
        found = {OURS: figures(seen(pack, self.places, turns), self.question, pack.tokens)}
        likely = [hit for hit in self.hits if hit.relevance >= own.floor]
        room = room_in(pack, count)
        for way, texts in (
            (PASSAGES, passages(likely, self.places)),
            (TURNS, whole_turns(likely, self.places, turns)),
        ):
            kept, used = in_order(texts, turns, room, count)
            found[way] = figures(kept, self.question, pack.tokens - room + used)
        return found


def settings_of(given: argparse.Namespace) -> list[Setting]:
    """Every budget with the settings' own, then with what is asked for beside it."""
    changes = [("stretch", one) for one in given.stretch] + [("floor", one) for one in given.floor]
    found = []
    for budget in given.budgets:
        beside = changes or ([_ALL_OTHERS_LEAVE] if budget == _BESIDE else [])
        found += [Setting(budget), *(Setting(budget, (one,)) for one in beside)]
    return found


def evidence(given: argparse.Namespace, dataset: str) -> list[dict[str, Any]]:
    """A row for each way with each setting, of one data set."""
    conversations = read(find(given.data, dataset), dataset)[: given.conversations]  # type: ignore[arg-type]
    left_out = next(iter(HEADLINES[dataset].values()))
    settings = settings_of(given)
    every: dict[Setting, Figures] = {one: {way: [] for way in WAYS} for one in settings}
    for number, conversation in enumerate(conversations, 1):
        print(f"{dataset} {number}/{len(conversations)}", file=sys.stderr, flush=True)
        for setting, found in measured(conversation, given.embedder, settings, left_out).items():
            for way in WAYS:
                every[setting][way] += found[way]
    return [
        {"what": str(setting), "way": way, "n": len(one), **_averages(one)}
        for setting, found in every.items()
        for way, one in found.items()
    ]


def _averages(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Shares as percent, and how many entries and tokens that takes."""
    means = {name: mean([one[name] for one in found]) for name in (found[0] if found else ())}
    shares = {f"{name} %": round(100 * value, 1) for name, value in means.items() if name in SHARES}
    return shares | {
        name: round(value, 1) if name == "entries" else round(value)
        for name, value in means.items()
        if name not in SHARES
    }


# ---- latency -------------------------------------------------------------------------------------


def latency(home: Path, size: int, embedder: str) -> dict[str, Any]:
    """`s.context` beside `hf.recall`, question by question; and the turns after the first.

    What is asked is written down, so a copy is asked: a store that is kept stays as it was filled.
    Stores are filled with static vectors or with none.
    """
    of: scale.Embedder = "none" if embedder == "none" else "static"
    store = home / f"{size}-{of}"
    if scale_store.kept(store) is None:
        scale.measured(home, size, of, None)
    filled = scale_store.kept(store)
    if filled is None:
        raise SystemExit(f"bench.compose: {store} was not filled")
    asked = [text for _, text in filled.questions]
    with tempfile.TemporaryDirectory(prefix="copy-", dir=home) as aside, _embedding(of):
        shutil.copytree(store, aside, dirs_exist_ok=True)
        with scale_store.opened(Path(aside)) as hf:
            took = _times(hf, asked)
    row: dict[str, Any] = {"what": f"{size:,}, {of}", "n": len(asked)}
    for what, times in took.items():
        row |= {f"{what} p50 ms": percentile(times, 50), f"{what} p95 ms": percentile(times, 95)}
    return row | {"context / recall, p95": row["context p95 ms"] / row["recall p95 ms"]}


def _times(hf: holdfast.Holdfast, asked: Sequence[str]) -> dict[str, list[float]]:
    """Milliseconds of each question, in turns."""
    took: dict[str, list[float]] = {"recall": [], "context": [], "next turn": []}
    hf.recall(asked[0], user=USER)
    for text in asked:
        with hf.session(agent=AGENT, user=USER) as s:
            s.user(text)
            for what, times in took.items():
                begun = time.perf_counter()
                if what == "recall":
                    hf.recall(text, user=USER)
                else:
                    s.context(text)
                times.append((time.perf_counter() - begun) * 1e3)
                if what == "context":
                    s.assistant("Well.")
                    s.user(text[::-1])
    return took


@contextmanager
def _embedding(name: str) -> Iterator[None]:
    """This embedder, whatever the environment says."""
    before = os.environ.get("HOLDFAST_EMBEDDER")
    os.environ["HOLDFAST_EMBEDDER"] = name
    try:
        yield
    finally:
        del os.environ["HOLDFAST_EMBEDDER"]
        if before is not None:
            os.environ["HOLDFAST_EMBEDDER"] = before


def main() -> None:
    """Everything, as tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--dataset", choices=DATASETS, action="append")
    parser.add_argument("--embedder", choices=("static", "minilm", "none"), default="static")
    parser.add_argument("--budgets", type=scale.sizes, default=[500, 1_000, 2_000, 4_000])
    parser.add_argument("--stretch", type=float, action="append", default=[])
    parser.add_argument("--floor", type=float, action="append", default=[])
    parser.add_argument("--sizes", type=scale.sizes, default=[1_000, 10_000, 100_000])
    parser.add_argument("--home", type=Path, help="where stores are kept and found again")
    parser.add_argument("--conversations", type=int)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as aside:
            home = given.home or Path(aside)
            times = [latency(home, size, given.embedder) for size in given.sizes]
        show(
            "How long it takes, by memories and vectors (goal: context p95 ≤ 100 ms at 100,000)",
            times,
            as_json=given.json,
        )
        for of in given.dataset or DATASETS:
            show(f"What stands in the context: {of}", evidence(given, of), as_json=given.json)
        show(
            "How well it is packed (goal: chosen / optimum ≥ 0.99)", [packing()], as_json=given.json
        )
    except HoldfastError as exc:
        raise SystemExit(f"bench.compose: {exc}") from exc


if __name__ == "__main__":
    main()
