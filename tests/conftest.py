"""What every test gets: a home of its own, and Hypothesis told how hard to look.

`ci` is the default: the same examples on every run, so that a failure is somebody's change and not
luck. HOLDFAST_EXAMPLES=n looks n examples far, at random, and prints what to paste to see it again.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    print_blob=True,
    database=None,
    suppress_health_check=_QUIET,
)
settings.register_profile(
    "torture",
    deadline=None,
    derandomize=False,
    print_blob=True,
    max_examples=int(os.environ.get("HOLDFAST_EXAMPLES", "100")),
    suppress_health_check=_QUIET,
)
settings.load_profile("torture" if "HOLDFAST_EXAMPLES" in os.environ else "ci")


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, settings and logs of a test lie in its own folder, never in the user's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
