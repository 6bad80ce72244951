"""Writers racing for one scratchpad: each version is won once, and whoever lost is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.start import start


@pytest.mark.parametrize(("processes", "increments"), [(2, 60), (6, 15)])
def test_no_update_made_for_a_version_is_lost(place: Path, processes: int, increments: int) -> None:
    found = start(
        "index_children",
        what="counted",
        home=str(place / "home"),
        processes=processes,
        increments=increments,
    )
    total = processes * increments
    assert found["statuses"] == [0] * processes
    assert found["won"] == list(range(total)), "a version was won twice or by nobody"
    assert (found["version"], found["number"]) == (total, total)
    assert found["behind"] == 0
    assert not found["wrong"]
