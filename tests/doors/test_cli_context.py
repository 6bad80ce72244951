"""Contexts on the command line: made, explained, rendered again, expanded."""

from __future__ import annotations

import json
from typing import Any

import pytest

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


def test_a_receipt_is_a_table_and_one_memory_is_followed(project: Any) -> None:
    pack = asked(project)
    shown = project("debug")
    assert pack["id"] in shown.out
    assert "taken: it is shown" in shown.out
    one = next(c for c in pack["receipt"]["candidates"] if c["verdict"] == "taken")
    number, name = one["shown"][0], one["shown"][3]
    by_number = project("debug", "--why", str(number)).out
    assert name in by_number
    assert f"shown as [{number}]" in by_number
    missing = project("debug", "--why", "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV").out
    assert "there is no memory" in " ".join(missing.split())
    assert json.loads(project("debug", pack["id"], "--json").out) == pack["receipt"]


def test_replay_gives_the_same_page_and_says_how(project: Any) -> None:
    page = project("context", "which database do we use?")
    again = project("replay")
    assert again.out == page.out
    assert "as it was handed out" in " ".join(again.err.split())
    assert "No difference." in project("replay", "--requery", "--diff", ".").out
    project("remember", "The database is SQLite.", "--key", "database", "--value", "SQLite")
    later = asked(project)
    changed = project("replay", later["id"], "--at", "3", "--diff", ".").out
    assert changed.startswith("---")
    assert project("replay", "pck_nope").code != 0


def test_expanding_and_topics(project: Any) -> None:
    pack = asked(project)
    for one in pack["receipt"]["candidates"]:
        if one["verdict"] == "taken":
            assert project("expand", str(one["shown"][0])).out.strip()
    assert project("expand", "99").code != 0
    assert "database" in project("topics").out
    assert {topic["name"] for topic in json.loads(project("topics", "--json").out)} >= {"database"}


def test_mistakes_say_what_to_do(project: Any) -> None:
    unknown = project("context", "x", "--model", "nobody-9")
    assert unknown.code != 0
    assert "window" in unknown.err
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
