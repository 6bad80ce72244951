"""Windows that change while processes die, disks fail or fill up, and others write.

A few points of each are tried here, spread over all of them; HOLDFAST_EXAMPLES tries more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.conftest import need
from tests.faults.start import PRIVATE_MOUNTS, start
from tests.faults.windows import CHANGES
from tests.property.effort import examples

#: points of one change that are tried in CI; a hundred and more are there
FEW, FEWER = 10, 4


@pytest.mark.tools
@pytest.mark.parametrize("name", CHANGES)
def test_a_kill_at_any_call_that_writes_leaves_the_window_as_before_or_as_after(
    place: Path, name: str
) -> None:
    need("strace")
    found = start("window_children", what="killed", place=str(place), name=name, most=examples(FEW))
    assert not found["wrong"], "\n".join(found["wrong"][:20])
    assert found["points"] > 20
    assert found["kills"] >= FEW - 1, f"hardly anybody was killed: {found}"


@pytest.mark.tools
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("name", ["compact", "flash save"])
def test_a_call_that_fails_is_said_and_leaves_the_window_as_it_was(
    place: Path, name: str, error: str
) -> None:
    need("strace")
    found = start(
        "window_children",
        what="failing",
        place=str(place),
        name=name,
        error=error,
        most=examples(FEWER),
    )
    assert not found["wrong"], "\n".join(found["wrong"][:20])


def test_a_session_compacted_twice_at_once_while_it_goes_on_loses_and_doubles_nothing(
    place: Path,
) -> None:
    found = start("window_children", what="together", place=str(place), rounds=examples(5))
    assert not found["wrong"], "\n".join(found["wrong"][:20])
    assert found["told"] == 24 * max(5, examples(5))
    assert found["compacted"] > 0


@pytest.mark.tools
@pytest.mark.parametrize("name", ["compact", "flash save"])
def test_without_room_the_window_stays_as_it_was_until_there_is_some(
    tmp_path: Path, name: str
) -> None:
    need("mount", "unshare", root=True)
    found = start(
        "window_children", before=PRIVATE_MOUNTS, what="no room", place=str(tmp_path), name=name
    )
    assert not found["wrong"], "\n".join(found["wrong"][:20])
    assert found["refused"] >= 1
