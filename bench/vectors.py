"""Nearest passages: how many of them the approximate search finds, how fast, and for how much memory.

    python -m bench.vectors TEXTFILES… [--questions FILE] [--rows 300000] [--rounds 300] [--json]

A passage is a paragraph, or a part of one, of any plain text; no two are the same. Questions are the
lines of a file, or else the first words of passages that are held back. Both ways of searching run over
the same files in the same process and take turns, question by question. For one core set
OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.report import show
from holdfast.engines.embedders.static import Static
from holdfast.engines.vectors.files import FileVectors

_LONGEST = 500
_SHORTEST = 40
_BATCH = 8_192
_HELD_BACK = 1_000


def passages(paths: Sequence[str]) -> Iterator[str]:
    """The paragraphs of these files, long ones cut at a sentence or a word, each once."""
    seen: set[int] = set()
    for path in paths:
        for paragraph in re.split(r"\n\s*\n", Path(path).read_text("utf-8", "replace")):
            for piece in _pieces(" ".join(paragraph.split())):
                if len(piece) >= _SHORTEST and hash(piece) not in seen:
                    seen.add(hash(piece))
                    yield piece


def _pieces(text: str) -> Iterator[str]:
    while len(text) > _LONGEST:
        at = text.rfind(". ", _LONGEST // 2, _LONGEST) + 1 or text.rfind(" ", 1, _LONGEST)
        at = at if at > 0 else _LONGEST
        yield text[:at]
        text = text[at:].lstrip()
    yield text


def fill(store: FileVectors, embedder: Static, texts: Sequence[str]) -> tuple[float, float]:
    """Embed and keep them all; seconds for the one and for the other."""
    embedding = keeping = 0.0
    for start in range(0, len(texts), _BATCH):
        begun = time.perf_counter()
        rows = embedder.passages([("", text) for text in texts[start : start + _BATCH]])
        between = time.perf_counter()
        store.put(0, start + 1, rows)
        embedding += between - begun
        keeping += time.perf_counter() - between
        print(f"\r{start + len(rows):,} of {len(texts):,}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return embedding, keeping


def timed(
    store: FileVectors, query: NDArray[np.float32], count: int
) -> tuple[list[int], float, float]:
    """The hundred nearest of `count`, the milliseconds it took, and those the processor worked."""
    began, worked = time.perf_counter(), time.process_time()
    numbers, _ = store.nearest(0, query, 100, count)
    took = time.perf_counter() - began, time.process_time() - worked
    return numbers.tolist(), took[0] * 1e3, took[1] * 1e3


def compare(
    stores: dict[str, FileVectors], queries: NDArray[np.float32], count: int
) -> list[dict[str, Any]]:
    """A row for each store; the first is what the others are held against."""
    first = {name: timed(store, queries[0], count)[1] for name, store in stores.items()}
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in stores}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in stores}
    for query in queries:
        best: list[int] = []
        for name, store in stores.items():
            numbers, wall, work = timed(store, query, count)
            best = best or numbers
            took[name].append((wall, work))
            found[name].append((_share(best[:10], numbers), _share(best, numbers)))
    return [
        {
            "what": name,
            "first answer s": first[name] / 1e3,
            "memory MB": store.memory / 1e6,
            "p50 ms": _percentile([wall for wall, _ in took[name]], 50),
            "p95 ms": _percentile([wall for wall, _ in took[name]], 95),
            "p95 ms of work": _percentile([work for _, work in took[name]], 95),
            "recall@10": statistics.fmean(ten for ten, _ in found[name]),
            "recall@100": statistics.fmean(hundred for _, hundred in found[name]),
        }
        for name, store in stores.items()
    ]


def _share(best: Sequence[int], found: Sequence[int]) -> float:
    """How many of the best are among as many that were found."""
    return len(set(best) & set(found[: len(best)])) / max(1, len(best))


def _percentile(values: Sequence[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def main() -> None:
    """Embed, keep, search both ways, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--questions")
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    texts = list(passages(given.files))
    random.Random(1).shuffle(texts)
    held, texts = texts[:_HELD_BACK], texts[_HELD_BACK : _HELD_BACK + given.rows]
    asked = [" ".join(text.split()[:8]) for text in held]
    if given.questions:
        asked = Path(given.questions).read_text("utf-8").splitlines()
        random.Random(1).shuffle(asked)
    embedder = Static()
    queries = embedder.passages([("", text) for text in asked[: given.rounds]])
    with tempfile.TemporaryDirectory() as folder:
        stores = {
            "exact": FileVectors(folder, embedder.name, embedder.dims, exact_most=1 << 40),
            "approximate": FileVectors(folder, embedder.name, embedder.dims, exact_most=0),
        }
        for store in stores.values():
            store.begin("bench")
        embedding, keeping = fill(stores["exact"], embedder, texts)
        found = compare(stores, queries, len(texts))
    title = (
        f"{len(texts):,} passages, {len(queries)} questions: embedded in {embedding:.1f} s, "
        f"kept in {keeping:.1f} s"
    )
    show(title, found, as_json=given.json)


if __name__ == "__main__":
    main()
