"""Vectors that are not there: their embedder has not answered yet, so nobody knows how wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Absent:
    """Keeps nothing, misses nothing, finds nothing."""

    def begin(self, edition: str) -> None:
        """Nothing to begin."""

    def use(self, edition: str) -> None:
        """Nothing to use."""

    def put(self, shelf: int, first: int, rows: NDArray[np.float32]) -> None:
        """Nothing is kept; what was left out is missing once there is a place for it."""

    def set(self, shelf: int, numbers: Sequence[int], rows: NDArray[np.float32]) -> None:
        """Nothing is kept."""

    def missing(self, shelf: int, through: int, most: int) -> list[int]:  # noqa: ARG002
        """Nothing that could be put here."""
        return []

    def nearest(
        self,
        shelf: int,  # noqa: ARG002
        query: NDArray[np.float32],  # noqa: ARG002
        most: int,  # noqa: ARG002
        through: int,  # noqa: ARG002
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Nothing is near."""
        import numpy as np

        return np.zeros(0, np.int64), np.zeros(0, np.float32)

    def similar(
        self,
        shelf: int,  # noqa: ARG002
        query: NDArray[np.float32],  # noqa: ARG002
        numbers: Sequence[int] | NDArray[np.int64],
        through: int | None = None,  # noqa: ARG002
    ) -> NDArray[np.float32]:
        """Nothing is known about any."""
        import numpy as np

        return np.full(len(numbers), np.nan, np.float32)

    def close(self) -> None:
        """Nothing to let go of."""
