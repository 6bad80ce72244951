"""Fault runs in a process of their own: one that may fork, mount and be killed.

    python -m tests.faults.start crowd '{"cycles": 10}'

runs `tests.faults.crowd.main(cycles=10)` and prints what it returns as JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PRIVATE_MOUNTS = ("unshare", "--mount", "--propagation", "private")


def start(
    run: str, *, before: tuple[str, ...] = (), env: dict[str, str] | None = None, **args: Any
) -> dict[str, Any]:
    """Run it and wait; whatever it says on stderr is part of the failure."""
    done = subprocess.run(
        [*before, sys.executable, "-m", "tests.faults.start", run, json.dumps(args)],
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=100,
    )
    if done.returncode:
        raise AssertionError(f"{run} {args} ended with {done.returncode}:\n{done.stderr[-6000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def assert_clean(found: dict[str, Any]) -> None:
    """Nothing lost, doubled, spliced or wrong; else every word about it."""
    kinds = ("lost", "duplicated", "spliced", "wrong")
    said = [f"{kind}: {what}" for kind in kinds for what in found[kind]]
    assert not said, "\n".join(said[:50])


def main(name: str, args: str) -> None:
    """The other side."""
    module = importlib.import_module(f"tests.faults.{name}")
    print(json.dumps(module.main(**json.loads(args))))


if __name__ == "__main__":
    main(*sys.argv[1:])
