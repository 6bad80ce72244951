"""Vectors as rows of float32."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]


def units(rows: Rows) -> Rows:
    """Each row at unit length; one without a direction (zeros, not a number) becomes zeros."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.add.reduce(rows * rows, axis=1, keepdims=True))
    usable = np.isfinite(lengths) & (lengths > 0)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=usable)
