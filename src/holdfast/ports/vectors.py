"""Where the vectors of passages are kept, and which passages lie nearest to a question.

Passages lie on shelves and are numbered 1, 2, 3 … on each. A new edition makes all numbers void.

What every engine must keep, and what tests/contract/test_vectors.py proves on each:

- of a row, and of a question, only the direction counts: both are brought to unit length. A zero row,
  and one that holds no finite number, means that the passage has no vector;
- similarity is the centred cosine `cos(x - m, q - m)`. With P the largest power of two that is at most
  `through`, and C the largest that is at most the number of vectors among passages 1 … P, m is the sum
  of the last C of those vectors divided by C + 50. Where no vector is missing C is P. So an answer
  depends on what is kept and what is asked, never on when a process began; and m stays as it is while
  passages are added, and while older ones get their vectors, until P or C doubles;
- the best come first; of equals the lower number;
- a question that is zero or no finite number has no answers;
- nothing is asked or kept before `begin` or `use`;
- it is a cache: damage makes vectors missing and is never an error. Trouble that may pass is
  Unavailable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Vectors(Protocol):
    """One embedder's vectors of one project's passages."""

    def begin(self, edition: str) -> None:
        """Use this edition; whatever is kept of others goes. For whoever may write the index."""
        ...

    def use(self, edition: str) -> None:
        """Use this edition, and take nothing away: others may be at work on the next one."""
        ...

    def put(self, shelf: int, first: int, rows: NDArray[np.float32]) -> None:
        """Keep the vectors of passages `first`, `first` + 1, …, in place of any that are there."""
        ...

    def set(self, shelf: int, numbers: Sequence[int], rows: NDArray[np.float32]) -> None:
        """Keep the vectors of these passages; of a number named twice the last row counts."""
        ...

    def missing(self, shelf: int, through: int, most: int) -> list[int]:
        """Passages of 1 … `through` that have no vector, newest first, at most `most`."""
        ...

    def nearest(
        self, shelf: int, query: NDArray[np.float32], most: int, through: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Of passages 1 … `through` the most similar: their numbers and similarities."""
        ...

    def similar(
        self,
        shelf: int,
        query: NDArray[np.float32],
        numbers: Sequence[int] | NDArray[np.int64],
        through: int | None = None,
    ) -> NDArray[np.float32]:
        """How similar these passages are, as `nearest` with that `through` would say; nan for none.

        Without `through`: as far as anything was put, be it a zero row.
        """
        ...

    def close(self) -> None:
        """Let go."""
        ...
