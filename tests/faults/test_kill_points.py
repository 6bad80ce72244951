"""kill -9 at every system call: what was acknowledged stays, and the next writer goes on."""

from __future__ import annotations

import pytest

from tests.faults.conftest import need
from tests.faults.operations import OPERATIONS
from tests.faults.start import assert_clean, start

#: calls without which the counting run has seen nothing
WRITES = {"openat", "write", "fdatasync", "flock"}
#: killed at the calls that only read, too; for the others `make torture` does that
ALSO_AT_READS = {"append", "seal"}


@pytest.mark.tools
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_kill_at_any_system_call_costs_nothing_acknowledged(name: str) -> None:
    need("strace")
    found = start("killpoints", name=name, reads=name in ALSO_AT_READS)
    assert_clean(found)
    assert name == "blob" or set(found["points"]) >= WRITES
