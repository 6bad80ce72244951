"""What a compaction decided, as a person and a machine read it."""

from __future__ import annotations

import re
from typing import Any

import pytest

import holdfast
from tests.app.test_cold import talk
from tests.doors.test_cli import run  # noqa: F401  (a fixture)


@pytest.fixture
def project(run: Any) -> Any:  # noqa: F811
    run("init")
    with holdfast.open() as hf:
        talk(hf.session(agent="coder", session_id="one").start())
    return run


def compacted(project: Any) -> dict[str, Any]:
    """One that is made now."""
    words = ("compact", "--to", "900", "--window", "9000", "--prompt", "the zebra crossing 7")
    found: dict[str, Any] = project(*words, "--json").json
    return found


def test_compactions_are_listed_with_what_they_came_to(project: Any) -> None:
    assert "No compaction of it yet" in project("session", "compactions").out
    made = compacted(project)
    (found,) = project("session", "compactions", "--json").json
    kinds = [one["verdict"] for one in made["decided"]]
    assert (found["id"], found["keep"], found["drop"]) == (
        made["id"],
        kinds.count("keep"),
        kinds.count("drop"),
    )
    listed = project("session", "compactions", "one").out
    tokens = f"{made['tokens_before']:,} → {made['tokens_after']:,}"
    assert all(said in listed for said in (made["id"], "asked", "adaptive", tokens))
    assert project("session", "compactions", "--agent", "critic").code == 3
    assert project("session", "compactions", "nope").code == 3


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_every_decision_of_one_is_shown_with_its_figures(
    project: Any, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    made = compacted(project)
    told = project("debug", made["id"])
    assert told.code == 0
    out = " ".join(told.out.split())
    for said in (made["id"], "adaptive", "asked", "the zebra crossing 7", "9,000 tokens"):
        assert said in out
    assert "similarity" in out
    for one in made["decided"]:
        assert f"events {one['first']}-{one['last']}" in told.out
        assert f"{one['score']:.2f}" in out
        assert one["why"] in out


def test_who_wrote_the_summaries_is_said(project: Any) -> None:
    words = ("--strategy", "recursive_summarization", "--to", "2000", "--json")
    made = project("compact", *words).json
    number = len(made["past"]["shorts"])
    assert number > 1
    assert f"{number} summaries: {number} by rule" in project("debug", made["id"]).out


def test_a_machine_gets_every_part_by_its_name(project: Any) -> None:
    made = compacted(project)
    told = project("debug", made["id"], "--json").json
    for shown, one in zip(told.pop("decided"), made.pop("decided"), strict=True):
        assert shown.pop("handle") == f"events {one['first']}-{one['last']}"
        assert shown.pop("says")
        assert shown == one
    assert told == made


def test_whoever_it_does_not_belong_to_is_told_there_is_none(project: Any) -> None:
    made = compacted(project)
    for whose in (("--user", "ben"), ("--agent", "critic")):
        ran = project("debug", made["id"], *whose)
        assert ran.code == project("debug", "evt_never", *whose).code == 3
        assert "zebra" not in ran.out + ran.err


def test_where_a_compaction_is_named_the_command_that_shows_it_is(project: Any) -> None:
    said = project("compact", "--to", "900").out + project("status").out
    named = re.findall(r"`holdfast (debug evt_\w+)`", re.sub(r"[\s│]+", " ", said))
    assert len(named) == 2
    assert all(project(*one.split()).code == 0 for one in named)


def test_what_was_said_moves_no_cursor(project: Any) -> None:
    with holdfast.open() as hf:
        s = hf.session(agent="coder", session_id="one").start()
        s.tool_result("Bash", "\x1b[2Jwiped\nand more " + "a screen " * 300)
        talk(s)
        made = s.compact("\x1b[31mdatabase", to=300)
    assert made
    out = project("debug", made.id).out
    assert "wiped" in out
    assert "\x1b" not in out
