"""Vectors for tests: rows as an embedder makes them, and stores of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.capture.disk import Disk
from holdfast.engines.vectors.files import FileVectors

DIMS = 8
EDITION = "e"
Rows = NDArray[np.float32]


def some_rows(count: int, seed: int = 0, dims: int = DIMS) -> Rows:
    """Rows of unit length that have something in common."""
    drawn = np.random.default_rng(seed).normal(0.3, 1.0, (count, dims))
    unit = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return np.asarray(unit, np.float32)


def opened(
    folder: Path, *, dims: int = DIMS, exact_most: int = 200_000, disk: Disk | None = None
) -> FileVectors:
    """A store with its edition begun."""
    store = FileVectors(str(folder), "static", dims, exact_most=exact_most, disk=disk)
    store.begin(EDITION)
    return store


def file_of(folder: Path, ending: str = "f16", shelf: int = 1) -> Path:
    """Where a shelf lies."""
    return folder / "vectors" / "static" / f"{EDITION}-{shelf}.{ending}"


def answers(store: FileVectors, through: int, queries: Rows) -> list[object]:
    """Everything a store says, to be compared bit for bit."""
    said: list[object] = [store.missing(1, through, through)]
    for query in queries:
        numbers, found = store.nearest(1, query, 7, through)
        beside = store.similar(1, query, range(1, through + 1), through)
        said.append((numbers.tolist(), found.tobytes(), beside.tobytes()))
    return said
