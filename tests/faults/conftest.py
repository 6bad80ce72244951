"""What a fault test needs of the machine, and where it works."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def need(*tools: str, root: bool = False) -> None:
    """Skip where a tool is missing; fail where everything is promised to be there."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if root and os.geteuid() != 0:
        missing.append("root")
    if not missing:
        return
    said = f"needs {', '.join(missing)}"
    if os.environ.get("CI") == "true":
        pytest.fail(said)
    pytest.skip(said)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in memory where there is one: for whatever does not depend on a real disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        yield Path(made)
