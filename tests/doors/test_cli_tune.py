"""`holdfast tune`, as a person and a machine use it."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from holdfast.compact.choosing import NEEDED
from holdfast.errors import Conflict
from holdfast.settings import config_file, load
from tests.app.test_tuning import BAD, configured, worked
from tests.doors.test_cli import Ran, run  # noqa: F401  (a fixture)

QUICK = ("tune", "--window", "3000", "--quick")


@pytest.fixture
def project(run: Any, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: F811
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    run("init")
    with holdfast.open() as hf:
        for n in range(NEEDED):
            worked(hf, f"s{n}", 8 + n % 3)
    return run


def test_a_person_sees_what_was_tried_what_left_and_what_is_proposed(project: Any) -> None:
    configured(BAD)
    ran: Ran = project(*QUICK)
    assert ran.code == 0
    for said in (
        "8 sessions in a window of 3,000",
        "as set",
        "Scores, as set",
        "← drop",
        "proposed",
    ):
        assert said in ran.out
    assert "It wins on the others" in ran.out
    assert config_file().read_text() == BAD


def test_apply_writes_what_wins_and_says_where(project: Any) -> None:
    configured(BAD)
    before = load().compact
    ran = project(*QUICK, "--apply")
    assert ran.code == 0
    assert "Written into" in ran.out
    found = project(*QUICK, "--json").json
    assert found["rows"][0]["knobs"] == {}
    assert found["now"]["sessions"] == NEEDED
    assert load().compact != before


def test_what_is_not_written_is_said_with_its_reason(project: Any) -> None:
    configured(BAD)
    ran = project(*QUICK, "--apply", "--most", "5")
    assert ran.code == Conflict.exit_code
    assert "8 are needed" in ran.err
    refused = project(*QUICK, "--apply", "--most", "5", "--json")
    assert "8 are needed" in refused.json["refused"]
    assert refused.code == Conflict.exit_code
    assert config_file().read_text() == BAD


def test_a_project_without_sessions_says_so(run: Any) -> None:  # noqa: F811
    run("init")
    ran = run("tune")
    assert ran.code == 0
    assert "0 sessions in a window of" in ran.out
    assert "needed" not in ran.err
