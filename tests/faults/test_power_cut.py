"""Power cuts on a real ext4: what was acknowledged is there when the machine comes up again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.conftest import need
from tests.faults.start import PRIVATE_MOUNTS, assert_clean, start

pytestmark = pytest.mark.tools

CUTS = {"append": 30, "seal": 30, "erase": 20, "failed sync": 15, "batched": 5}


@pytest.mark.parametrize("protocol", CUTS)
def test_a_power_cut_costs_nothing_acknowledged(protocol: str, tmp_path: Path) -> None:
    need("mkfs.ext4", "unshare", "mount", "strace", root=True)
    found = start(
        "cuts",
        before=PRIVATE_MOUNTS,
        what="cuts",
        protocol=protocol,
        cycles=CUTS[protocol],
        seed=1,
        place=str(tmp_path),
    )
    assert found["acked"] > 0
    assert_clean(found)


def test_the_cut_is_real_because_what_is_never_synced_is_lost(tmp_path: Path) -> None:
    need("mkfs.ext4", "unshare", "mount", root=True)
    found = start(
        "cuts",
        before=PRIVATE_MOUNTS,
        what="cuts",
        protocol="unsynced",
        cycles=3,
        seed=1,
        place=str(tmp_path),
    )
    assert found["lost"]
    assert not found["duplicated"]


def test_unsynced_records_that_come_back_as_nuls_hide_no_other(tmp_path: Path) -> None:
    need("mkfs.ext4", "unshare", "mount", root=True)
    found = start("cuts", before=PRIVATE_MOUNTS, what="nuls", place=str(tmp_path), seed=1)
    assert found["nuls"] > 0
    assert_clean(found)
