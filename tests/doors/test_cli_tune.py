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
    assert "tune --apply" not in ran.out
    found = project(*QUICK, "--json").json
    assert found["rows"][0]["knobs"] == {}
    assert found["now"]["sessions"] == NEEDED
    assert load().compact != before


def test_what_is_not_written_is_said_with_its_reason(project: Any) -> None:
    configured(BAD)
    ran = project(*QUICK, "--apply", "--most", "5")
    assert ran.code == Conflict.exit_code
    assert ran.err.count("8 are needed") == 1
    refused = project(*QUICK, "--apply", "--most", "5", "--json")
    assert "8 are needed" in refused.json["refused"]
    assert refused.code == Conflict.exit_code
    assert config_file().read_text() == BAD


def test_a_project_without_sessions_says_so(run: Any) -> None:  # noqa: F811
    run("init")
    ran = run("tune")
    assert ran.code == 0
    assert "0 sessions in a window of" in ran.out
    assert "8 are needed" in ran.err
    assert "smaller window" in ran.err
    assert "better than what is set" not in ran.out


@pytest.mark.parametrize("sessions", [1, 3])
def test_too_few_sessions_are_said_to_be_too_few(
    run: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    sessions: int,
) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    run("init")
    with holdfast.open() as hf:
        for n in range(sessions):
            worked(hf, f"s{n}", 8)
    ran = run(*QUICK)
    assert ran.code == 0
    assert f"{sessions} of the recorded sessions fill a window of 3,000" in ran.err.replace(
        "\n", " "
    )
    assert "8 are needed" in ran.err.replace("\n", " ")
    assert ("Tried on" in ran.out) == (sessions > 1)
    told = "better than what is set" in ran.out or "proposed" in ran.out
    assert told == (sessions > 1)


def test_what_comes_to_the_same_as_what_is_set_is_no_alternative(project: Any) -> None:
    found = project(*QUICK, "--json").json["rows"]
    seen = ("price", "sent", "missed")
    as_set = [found[0]["seen"][name] for name in seen]
    same = [one for one in found[1:] if [one["seen"][name] for name in seen] == as_set]
    assert same
    shown = project(*QUICK).out.partition("left, as set")[0].replace("│", " ")
    for one in same:
        knobs = ", ".join(f"{name} = {value}" for name, value in one["knobs"].items())
        assert f" {knobs} " not in shown
