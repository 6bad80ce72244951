"""A hook pays for what it imports: nothing it does not need may come along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
HEAVY = [
    "dataclasses", "pathlib", "uuid", "tomllib", "typing", "logging", "asyncio", "msgspec", "hashlib",
    "threading", "tempfile", "inspect", "contextlib", "subprocess", "importlib.metadata", "datetime",
    "random", "hmac", "holdfast.errors", "holdfast.model", "holdfast.engines",
]  # fmt: skip
_SCRIPT = """
import sys
sys.path.insert(0, {src!r})
before = set(sys.modules)
{imports}
print("\\n".join(sorted(set(sys.modules) - before)))
"""


def loaded(*names: str) -> list[str]:
    imports = "\n".join(f"import holdfast.capture.{name}" for name in names)
    script = _SCRIPT.format(src=str(SRC), imports=imports)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    "names",
    [("writer", "shape", "spool", "parse", "stamp", "redact"), ("catch", "parse")],
    ids=["the parts", "the catcher"],
)
def test_what_a_hook_imports_brings_nothing_heavy_along(names: tuple[str, ...]) -> None:
    modules = loaded(*names)
    assert [name for name in HEAVY if name in modules] == [], modules


def test_capture_imports_nothing_of_holdfast_but_itself() -> None:
    ours = [name for name in loaded("catch", "parse") if name.startswith("holdfast")]
    assert all(name == "holdfast" or name.startswith("holdfast.capture") for name in ours), ours
