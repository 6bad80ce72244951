"""Recall in stores of growing size: what it takes and costs, beside plain tools on the same texts.

    python -m bench.scale [DATA] [--sizes 1000,10000,100000,1000000] [--embedder static|none]
                          [--home DIR] [--json]

A memory is 8 to 23 words as common as words are; with DATA, a folder of data sets, one in ten is a
sentence somebody said. A question is part of one memory with common words around it. Each store is
filled in a process of its own and asked in another, so that memory is that of the one or of the other.
In the asking process the product, SQLite's full-text search and a bare product of matrices take turns,
question by question: on a busy machine only their ratios mean anything. `worked` is processor time, of
all threads together. The first answer is that of a new process: opening is part of it, starting Python
and a cold disk are not. Where vectors are searched approximately, the ten nearest are held against the
exact ten.

A store in DIR is kept, and used again by the next run of the same size, embedder, seed and number of
real sentences.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

import msgspec

from bench.measures import SEED, mean, percentile
from bench.report import show
from bench.scale_store import OURS, QUESTIONS, Asked, Filled, kept, spoken
from holdfast.errors import HoldfastError, Invalid, Unavailable

Embedder = Literal["static", "none"]

SIZES = (1_000, 10_000, 100_000, 1_000_000)
_NEAREST = "the exact ten nearest among the ten found, share"
GOALS = {
    f"{OURS}: p95 ms": "≤ 50 at 100,000, ≤ 150 at 1,000,000",
    _NEAREST: "≥ 0.95",
}
GROWING = (
    f"{OURS}: p50 ms",
    f"{OURS}: p95 ms",
    f"{OURS}: worked ms",
    "first answer of a new process, s",
    "most memory while asking, MB",
)


def measured(home: Path, size: int, embedder: Embedder, data: Path | None) -> tuple[Filled, Asked]:
    """One size, filled unless it is there, and asked."""
    store = home / f"{size}-{embedder}{'-mixed' if data else ''}"
    if found_again(store, data) is None:
        shutil.rmtree(store, ignore_errors=True)
        store.mkdir(parents=True)
        _child(embedder, "fill", store, str(size), *([data] if data else []))
    told = _child(embedder, "ask", store)
    filled = kept(store)
    if filled is None:
        raise Invalid(f"{store} was not filled")
    return filled, msgspec.json.decode(told, type=Asked)


def found_again(store: Path, data: Path | None) -> Filled | None:
    """What is known of a store that was filled, to the end and with such texts; None when it was not."""
    real = len(spoken(data)) if data else 0
    there = kept(store)
    return there if there and (there.seed, there.real) == (SEED, real) else None


def _child(embedder: Embedder, *words: str | Path) -> bytes:
    print(*words, file=sys.stderr, flush=True)
    code = "from bench.scale_store import child; child()"
    made = [sys.executable, "-c", code, *map(str, words)]
    around = {**os.environ, "HOLDFAST_EMBEDDER": embedder}
    done = subprocess.run(made, stdout=subprocess.PIPE, env=around)
    if done.returncode:
        raise Unavailable(f"{words[0]} {words[1]} ended with {done.returncode}")
    return done.stdout


# ---- what came of it -----------------------------------------------------------------------------


def figures(filled: Filled, asked: Asked) -> dict[str, float | None]:
    """Every figure of one size by its name; times that of a baseline where there is one."""
    found: dict[str, float | None] = {
        "recorded, memories/s": filled.size / filled.record_seconds,
        "indexed, memories/s": filled.size / filled.index_seconds,
        "indexed by FTS5 alone, memories/s": filled.size / filled.plain_seconds,
    }
    for name, way in asked.ways.items():
        found |= {
            f"{name}: p50 ms": percentile(way.took, 50),
            f"{name}: p95 ms": percentile(way.took, 95),
            f"{name}: worked ms": mean(way.worked),
            f"{name}: own memory in the first ten, %": 100 * way.found,
        }
    ours, *rivals = asked.ways
    for rival in rivals:
        for at in (50, 95):
            mine, its = (percentile(asked.ways[name].took, at) for name in (ours, rival))
            found[f"p{at}, times that of {rival}"] = mine / its
    return (
        found
        | {
            "first answer of a new process, s": asked.first,
            "most memory while filling, MB": filled.memory / 1e6,
            "most memory while asking, MB": asked.memory / 1e6,
        }
        | {f"{part}, bytes a memory": size / filled.size for part, size in filled.disk.items()}
        | {_NEAREST: asked.nearest}
    )


def table(found: Mapping[int, Mapping[str, float | None]]) -> list[dict[str, str]]:
    """A row for each figure and for how it grows, a column for each size, a dash for what is not."""
    names = list(dict.fromkeys(name for one in found.values() for name in one))
    rows = {name: [_figure(one.get(name)) for one in found.values()] for name in names}
    for name in GROWING:
        grown = pairwise(one[name] or 0.0 for one in found.values())
        rows[f"{name}, times the size before"] = ["–", *(_figure(b / a) for a, b in grown)]
    return [
        {
            "what": name,
            **dict(zip((f"{size:,}" for size in found), cells, strict=True)),
            "goal": GOALS.get(name, ""),
        }
        for name, cells in rows.items()
    ]


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def sizes(said: str) -> list[int]:
    """`1000,10000` as numbers, the smallest first."""
    try:
        found = sorted({int(one) for one in said.split(",")})
    except ValueError as exc:
        raise Invalid(f"sizes are whole numbers with commas between them, not {said!r}") from exc
    if found[0] < 1:
        raise Invalid(f"a store holds at least one memory, not {found[0]}")
    return found


def main() -> None:
    """Every size, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "data", type=Path, nargs="?", help="a folder of data sets, for real sentences"
    )
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--embedder", choices=get_args(Embedder), default="static")
    parser.add_argument("--home", type=Path, help="where stores are kept and found again")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as aside:
            home = given.home or Path(aside)
            found = {
                size: figures(*measured(home, size, given.embedder, given.data))
                for size in sizes(given.sizes)
            }
    except HoldfastError as exc:
        raise SystemExit(f"bench.scale: {exc}") from exc
    if given.json:
        told = {"embedder": given.embedder, "questions": QUESTIONS, "seed": SEED, "sizes": found}
        print(json.dumps(told, indent=2, ensure_ascii=False))
        return
    title = f"Recall by size: {QUESTIONS} questions each, embedder {given.embedder}, seed {SEED}"
    show(title, table(found), as_json=False)


if __name__ == "__main__":
    main()
