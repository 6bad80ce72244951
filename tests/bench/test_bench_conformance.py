"""The conformance bench fails where nothing was checked."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("mcp")
from bench import conformance


def test_a_suite_that_does_not_run_is_a_failure_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = "import sys; print('SyntaxError: needs node 22'); sys.exit(0)"
    monkeypatch.setattr(conformance, "APPLY", ("ping",))
    monkeypatch.setattr(sys, "argv", ["conformance", "--", sys.executable, "-c", old])
    assert conformance.main() == 1
    assert "needs node 22" in capsys.readouterr().err


@pytest.mark.parametrize(("passed", "checks", "fails"), [(0, 0, True), (1, 2, True), (2, 2, False)])
def test_only_what_ran_and_passed_passes(passed: int, checks: int, *, fails: bool) -> None:
    assert conformance.failed([{"passed": passed, "checks": checks}]) is fails
