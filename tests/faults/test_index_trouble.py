"""An index that is held by others, or has no room: recording goes on, answers stay right, it passes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.capture.layout import INDEX
from tests.faults.conftest import need
from tests.faults.index_children import configure, opened
from tests.faults.start import PRIVATE_MOUNTS, start


@pytest.mark.parametrize("how", ["immediate", "exclusive", "exclusive mode", "index.lock"])
def test_an_index_held_for_too_long_costs_no_answer_and_is_caught_up(place: Path, how: str) -> None:
    configure(busy_ms=20)
    found = start("index_children", what="held", home=str(place / "home"), how=how)
    assert not found["wrong"], "\n".join(found["wrong"])


@pytest.mark.timeout(60)  # with the patience below one single wait is longer
def test_recording_never_waits_for_an_index_that_is_held(place: Path) -> None:
    configure(busy_ms=60_000)
    home = place / "home"
    with opened(home) as hf:
        s = hf.session(agent="coder").start()
        s.gate(1, passed=True)
        with closing(sqlite3.connect(Path(hf.folder) / INDEX, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for n in range(3):
                s.gate(n, passed=True)
            other.execute("ROLLBACK")
        assert len(s.state().checkpoints) == 4


@pytest.mark.tools
@pytest.mark.parametrize("kilobytes", [256, 400])
def test_a_full_disk_stops_what_is_derived_before_it_stops_the_log(
    place: Path, kilobytes: int
) -> None:
    need("mount", "unshare", root=True)
    found = start(
        "index_children",
        before=PRIVATE_MOUNTS,
        what="no room",
        place=str(place),
        kilobytes=kilobytes,
    )
    assert not found["wrong"], "\n".join(found["wrong"][:20])
    assert found["refused"] > 0


@pytest.mark.tools
def test_without_room_for_an_index_every_answer_is_there(place: Path) -> None:
    need("mount", "unshare", root=True)
    found = start(
        "index_children", before=PRIVATE_MOUNTS, what="no room from the start", place=str(place)
    )
    assert not found["wrong"], "\n".join(found["wrong"])


@pytest.mark.tools
def test_that_the_index_has_no_room_is_said(place: Path) -> None:
    need("mount", "unshare", root=True)
    found = start(
        "index_children", before=PRIVATE_MOUNTS, what="no room", place=str(place), kilobytes=256
    )
    assert found["notices"], "it lags behind the log, and nobody is told why"
