"""Contexts on the command line: made, explained, rendered again, expanded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rich.cells import cell_len

import holdfast
from holdfast.model.compose import SECTIONS
from tests.doors.test_cli import run  # noqa: F401  (a fixture)


@pytest.fixture
def project(run: Any, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: F811
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")
    run("init")
    run("remember", "The database is PostgreSQL 18.", "--key", "database", "--value", "18")
    run("remember", "Never commit to main directly.", "--category", "rules")
    return run


def asked(project: Any, *more: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(project("context", "which database", *more, "--json").out)
    return found


def test_a_context_is_a_page_and_its_figures_are_beside_it(project: Any) -> None:
    made = project("context", "which", "database", "do", "we", "use?", "--budget", "600")
    assert made.code == 0
    assert "PostgreSQL 18" in made.out
    assert '<hf:instructions part="background">' in made.out
    assert "tokens (system 0" in " ".join(made.err.split())


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_a_context_as_messages(project: Any, form: str) -> None:
    made = json.loads(project("context", "which database", "--format", form).out)
    said = json.dumps(made)
    assert "PostgreSQL 18" in said
    assert bool(made["system"]) == (form == "anthropic")


def test_one_memory_is_followed(project: Any) -> None:
    pack = asked(project)
    one = next(c for c in pack["receipt"]["candidates"] if c["verdict"] == "taken")
    number, name = one["shown"]["number"], one["shown"]["id"]
    by_number = project("debug", "--why", str(number)).out
    assert name in by_number
    assert f"shown as [{number}], in full, " in by_number
    told = json.loads(project("debug", "--why", name, "--json").out)
    assert told["of"] == name
    assert one in told["found"]
    missing = project("debug", "--why", "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV").out
    assert "there is no memory" in " ".join(missing.split())
    for nothing in ("evt_x", "99", ""):
        assert "no candidate" not in project("debug", "--why", nothing).out


@pytest.mark.parametrize("columns", [80, 120])
def test_a_receipt_is_a_readable_table(
    project: Any, columns: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project" / "guide.md").write_text("# Backup\n\nThe database is kept 30 days.\n")
    project("docs", "add", "guide.md")
    pack = asked(project)
    monkeypatch.setenv("COLUMNS", str(columns))
    page = project("debug").out
    assert all(cell_len(line) <= columns for line in page.splitlines())
    said = " ".join(page.split())
    for words in ("The database is PostgreSQL 18.", "Never commit to main", "guide.md:1-3"):
        assert words in said
    assert "it is shown" in said
    places = [page.index(f"│ {name}") for name in (*SECTIONS, "total")]
    assert places == sorted(places)
    assert f"{len(pack['receipt']['candidates'])} candidates" in page
    told = json.loads(project("debug", pack["id"], "--json").out)
    for one in told["candidates"]:
        assert one.pop("says")
        one.pop("head")
    assert told == pack["receipt"]


def test_a_candidate_that_is_left_out_says_why(project: Any) -> None:
    for n in range(30):
        project("remember", f"The database of team {n} is a replica number {n} in another region.")
    asked(project, "--budget", "300")
    page = " ".join(project("debug").out.split())
    assert "its section is full" in page or "the budget is full" in page
    assert "1 candidates" not in page


def test_a_context_for_a_person_changes_nothing_for_an_agent(project: Any) -> None:
    question = "which database do we use?"
    with holdfast.open() as hf:
        s = hf.session(agent="coder", session_id="work").start()
        s.user(question)
        first = s.context(question)
    assert "PostgreSQL 18" in project("context", question).out
    seen = asked(project)
    with holdfast.open() as hf:
        assert hf.last_pack("work") == first.id
        assert hf.last_pack() == seen["id"]
        assert hf.state().info.id == "work"
        s = hf.session(agent="coder", session_id="work")
        s.assistant("PostgreSQL.")
        s.user("and the port?")
        again = s.context("and the port?")
        assert again.text.startswith(first.text)
        assert again.receipt.epoch_began == ""
    named = asked(project, "--session", "work")
    with holdfast.open() as hf:
        assert hf.last_pack("work") == named["id"]


def test_replay_gives_the_same_page_and_says_how(project: Any) -> None:
    page = project("context", "which database do we use?")
    again = project("replay")
    assert again.out == page.out
    assert "as it was handed out" in " ".join(again.err.split())
    assert "No difference." in project("replay", "--requery", "--diff", ".").out
    project("remember", "The database is SQLite.", "--key", "database", "--value", "SQLite")
    later = asked(project)
    changed = project("replay", later["id"], "--at", "3", "--diff", ".").out
    assert changed.startswith(f"--- {later['id']}\n+++ {later['id']} computed anew as of event 3\n")
    assert project("replay", "pck_nope").code != 0


def test_expanding_and_topics(project: Any) -> None:
    pack = asked(project)
    for one in pack["receipt"]["candidates"]:
        if one["verdict"] == "taken":
            assert project("expand", str(one["shown"]["number"])).out.strip()
    assert project("expand", "99").code != 0
    assert "database" in project("topics").out
    assert {topic["name"] for topic in json.loads(project("topics", "--json").out)} >= {"database"}


def test_expanding_says_what_is_left_and_what_holds_no_longer(project: Any) -> None:
    one = json.loads(project("remember", "The gateway is restarted. " * 60, "--json").out)["id"]
    found = project("expand", one, "--tokens", "50")
    assert found.out.startswith("The gateway is restarted.")
    left = " ".join(found.err.split()).partition("There is more: holdfast expand ")[2]
    assert left.startswith(f"{one}@")
    assert project("expand", left, "--tokens", "50").out.startswith("The gateway")
    project("forget", one, "--reason", "tidy")
    assert f"{one} was forgotten on " in " ".join(project("expand", one).err.split())


def test_an_empty_context_says_what_to_do(run: Any) -> None:  # noqa: F811
    run("init")
    for command in ("debug", "replay"):
        fresh = run(command)
        assert fresh.code != 0
        assert 'holdfast context "…" makes one' in " ".join(fresh.err.split())
        assert "hf." not in fresh.err
    empty = run("context", "anything?")
    assert (empty.code, empty.out) == (0, "")
    assert "holdfast remember" in " ".join(empty.err.split())


def test_mistakes_say_what_to_do(project: Any) -> None:
    unknown = project("context", "x", "--model", "nobody-9")
    assert unknown.code != 0
    assert "--window N" in " ".join(unknown.err.split())
    assert "window=" not in unknown.err
    full = project("context", "x", "--window", "3", "--system", "You are a careful engineer.")
    assert full.code != 0
    assert "budget=" not in full.err
    assert project("context", "x", "--session", "nope").code != 0
    assert project("context", "x", "--system", "@/nowhere/at/all").code != 0
    fresh = project("debug", "--session", "nope")
    assert fresh.code != 0


def test_instructions_from_a_file_and_signals(project: Any, tmp_path: Any) -> None:
    (tmp_path / "system.md").write_text("You are careful.")
    made = project(
        "context",
        "why does it fail?",
        *("--system", f"@{tmp_path / 'system.md'}", "--activity", "debugging"),
        *("--file", "src/db.py", "--error", "OperationalError"),
    )
    assert made.out.startswith("You are careful.")
