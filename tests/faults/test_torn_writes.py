"""A write cut short by the death of its process, after every number of bytes that matters."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.faults.conftest import need
from tests.faults.start import assert_clean, start

SOURCE = Path(__file__).with_name("torn.c")
#: a line is 249 bytes: nothing, a byte, within the header, all but the newline, all of it
CUTS = [0, 1, 2, 7, 40, 120, 200, 230, 240, *range(244, 252), 300, 10_000]


def build(place: Path) -> str:
    """The shim, compiled."""
    shim = place / "torn.so"
    command = ["gcc", "-shared", "-fPIC", "-O1", "-o", str(shim), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return str(shim)


@pytest.mark.tools
@pytest.mark.parametrize("name", ["append", "batch", "batched", "rotate", "erase", "drain"])
def test_a_torn_write_costs_no_other_record(name: str, tmp_path: Path) -> None:
    need("gcc")
    shim = build(tmp_path)
    found = start("torn", env={"LD_PRELOAD": shim}, shim=shim, name=name, cuts=CUTS)
    assert found["torn"] >= len(CUTS)
    assert_clean(found)
