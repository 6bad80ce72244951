"""Four writers, kill -9 at a random moment, again and again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.start import assert_clean, start


@pytest.mark.parametrize("seed", [1000, 2000])
def test_writers_killed_at_random_moments_lose_nothing_acknowledged(
    tmp_path: Path, seed: int
) -> None:
    found = start("crowd", what="kills", cycles=30, seed=seed, where=str(tmp_path))
    assert found["acked"] > 0
    assert_clean(found)
