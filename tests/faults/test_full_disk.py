"""No room, no descriptors, no memory: nothing is acknowledged, nothing is harmed, and it passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.conftest import need
from tests.faults.start import PRIVATE_MOUNTS, assert_clean, start


@pytest.mark.tools
@pytest.mark.parametrize(("kilobytes", "size"), [(64, 100), (64, 5000), (128, 20_000)])
def test_a_full_disk_refuses_and_the_same_log_goes_on_when_there_is_room(
    kilobytes: int, size: int, tmp_path: Path
) -> None:
    need("mount", "unshare", root=True)
    found = start(
        "full",
        before=PRIVATE_MOUNTS,
        what="fills up",
        place=str(tmp_path),
        kilobytes=kilobytes,
        size=size,
    )
    assert found["acked"] > 2
    assert_clean(found)


@pytest.mark.tools
def test_without_room_for_a_copy_nothing_torn_is_cut(tmp_path: Path) -> None:
    need("mount", "unshare", root=True)
    found = start("full", before=PRIVATE_MOUNTS, what="full while mending", place=str(tmp_path))
    assert_clean(found)


@pytest.mark.parametrize("limit", ["file size", "open files", "memory", "threads"])
def test_a_process_at_its_limit_says_so_and_goes_on_when_it_is_lifted(
    limit: str, tmp_path: Path
) -> None:
    found = start("full", what="limited", place=str(tmp_path), limit=limit)
    assert_clean(found)
