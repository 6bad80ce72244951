"""A home that may only be read: every answer, no trace, and no exception but for recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.conftest import need
from tests.faults.index_children import STATES
from tests.faults.start import PRIVATE_MOUNTS, start


@pytest.mark.tools
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("how", ["by its mode", "by its mount"])
def test_whoever_may_only_read_is_answered_and_writes_nothing(
    place: Path, state: str, how: str
) -> None:
    need("mount", "unshare", root=True)
    found = start(
        "index_children",
        before=PRIVATE_MOUNTS,
        env={"XDG_CONFIG_HOME": str(place / "config")},
        what="read only",
        place=str(place),
        state=state,
        how=how,
    )
    assert not found["wrong"], "\n".join(found["wrong"])


@pytest.mark.tools
def test_whoever_may_only_read_keeps_up_with_those_who_write(place: Path) -> None:
    need("mount", "unshare", root=True)
    found = start(
        "index_children",
        before=PRIVATE_MOUNTS,
        what="read only beside a writer",
        place=str(place),
    )
    assert not found["wrong"], "\n".join(found["wrong"])
