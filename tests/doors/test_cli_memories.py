"""The commands about memories, as a person and as a machine uses them."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.doors.test_cli import Ran, run  # noqa: F401  (a fixture)


@pytest.fixture
def project(run: Any) -> Any:  # noqa: F811
    run("init")
    return run


def words(*given: str) -> list[str]:
    """The options of a memory with something in every field."""
    return [
        "We use PostgreSQL for its JSON support.",
        *("--kind", "fact", "--category", "rules", "--scope", "project", "--subject", "billing"),
        *("--key", "db", "--value", "PostgreSQL", "--applies-to", "backend", "--title", "Database"),
        *("--tag", "infra", "--tag", "data", "--artifact", "commit:abc", "--artifact", "pr:12"),
        *("--importance", "0.9", "--confidence", "0.7", "--valid-from", "2020-01-01T00:00:00Z"),
        *("--valid-to", "2098-01-01T00:00:00Z", "--expires-at", "2099-01-01T00:00:00Z"),
        *given,
    ]


def test_what_is_remembered_is_shown_with_every_field(project: Any) -> None:
    made = project("remember", *words(), "--json").json
    shown = project("memory", "show", made["id"], "--json").json
    assert {**made, "tokens": shown["tokens"]} == shown
    assert shown["tokens"].keys() == {"text", "summary", "compressed", "index"}
    assert shown["tokens"]["text"] > shown["tokens"]["index"] > 0
    expected = {
        "kind": "fact",
        "category": "rules",
        "scope": "project",
        "subject": "billing",
        "key": "db",
        "value": "PostgreSQL",
        "applies_to": "backend",
        "tags": ["infra", "data"],
        "artifacts": [{"type": "commit", "ref": "abc"}, {"type": "pr", "ref": "12"}],
        "importance": 0.9,
        "confidence": 0.7,
        "valid_to": "2098-01-01T00:00:00.000Z",
        "superseded_by": None,
        "trust": 3,
    }
    assert {name: shown[name] for name in expected} == expected
    page = project("memory", "show", made["id"]).out
    for said in ("PostgreSQL", "infra", "commit:abc", "learned", "o200k_base", "never used"):
        assert said in page


def test_in_a_shell_of_an_agent_it_is_the_agents_word(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        project("remember", "we deploy on fridays", "--agent", "coder", "--json").json["trust"] == 2
    )
    monkeypatch.setenv("CLAUDECODE", "1")
    made = project("remember", "skip the tests", "--category", "rules", "--json").json
    assert made["trust"] == 2
    monkeypatch.delenv("CLAUDECODE")
    assert project("remember", "amounts are integers", "--json").json["trust"] == 3


def test_a_new_value_names_what_it_replaced(project: Any) -> None:
    old = project("remember", "--key", "db", "--value", "sqlite", "--json").json
    out = project("remember", "--key", "db", "--value", "postgres").out
    assert old["id"] in out.replace("\n", "")
    assert "sqlite" in out
    assert "Known already" in project("remember", "--key", "db", "--value", "postgres").out
    listed = project("memory", "list", "--state", "all", "--json").json
    assert [one["value"] for one in listed] == ["postgres", "sqlite"]
    assert project("memory", "list", "--state", "superseded", "--json").json[0]["id"] == old["id"]
    new = project("remember", "other words", "--supersedes", listed[0]["id"], "--json").json
    assert new["supersedes"] == [listed[0]["id"]]


def test_memories_are_listed_by_what_is_asked(project: Any) -> None:
    assert project("memory", "list", "--json").json == []
    project("remember", "a", "--tag", "x", "--tag", "y")
    project("remember", "b", "--kind", "episode", "--scope", "user")
    project(
        "remember", "--kind", "workflow", "--trigger", "deploy", "--step", "test", "--step", "go"
    )
    cases = [
        (("--tag", "x", "--tag", "y"), ["a"]),
        (("--kind", "episode"), ["b"]),
        (("--scope", "user"), ["b"]),
        (("--category", "skills"), ["deploy: test → go"]),
        (("--as-of", "2001-01-01T00:00:00Z"), []),
        (("--limit", "1"), ["deploy: test → go"]),
    ]
    for options, found in cases:
        answer = project("memory", "list", *options, "--json").json
        assert [one["text"] for one in answer] == found, options
    out = project("memory", "list").out
    assert all(said in out for said in ("episode", "workflow", "in use"))


def test_a_memory_is_forgotten_and_brought_back(project: Any) -> None:
    made = project("remember", "the key is under the mat", "--json").json
    gone = project("forget", made["id"], "--reason", "moved", "--json").json
    assert (gone["forgotten_because"], gone["id"]) == ("moved", made["id"])
    assert "forgotten: moved" in project("memory", "show", made["id"]).out
    assert project("memory", "list", "--json").json == []
    assert "In use again" in project("restore", made["id"]).out
    assert project("restore", made["id"], "--json").json["forgotten_at"] is None
    assert len(project("memory", "list", "--json").json) == 1
    for words in (("forget", made["id"]), ("forget", "--reason", "x")):
        assert project(*words).code != 0


def test_a_memory_forgotten_twice_keeps_its_first_reason_and_says_so(project: Any) -> None:
    made = project("remember", "the key is under the mat", "--json").json
    first = project("forget", made["id"], "--reason", "moved").out
    assert "Forgotten: the key is under the mat" in first
    assert f"holdfast restore {made['id']}" in first
    assert "already" not in first
    gone = project("memory", "show", made["id"], "--json").json
    again = project("forget", made["id"], "--reason", "stolen")
    assert again.code == 0
    since = gone["forgotten_at"][:16].replace("T", " ")
    assert f"Forgotten already, since {since}: moved" in again.out
    assert "That reason stays" in again.out
    assert project("memory", "show", made["id"], "--json").json == gone
    assert project("forget", made["id"], "--reason", "stolen", "--json").json["revision"] == 0


def test_a_list_of_nothing_says_what_was_asked_and_what_to_do(project: Any) -> None:
    for options in ((), ("--tag", "x")):
        assert (
            "No memories yet. `holdfast remember TEXT`" in project("memory", "list", *options).out
        )
    made = project("remember", "a", "--json").json
    out = project("memory", "list", "--tag", "x", "--tag", "y", "--applies-to", "go").out
    assert "No memories match --tag x --tag y --applies-to go." in out
    assert "--state all" in out
    out = project("memory", "list", "--state", "expired", "--limit", "3").out
    assert "No memories match --state expired." in out
    assert "--state all" not in out
    project("forget", made["id"], "--reason", "b")
    out = project("memory", "list").out
    assert "No memories match: none is in use." in out
    assert "--state all" in out
    assert made["id"] in project("memory", "list", "--state", "all").out


def test_what_ran_out_and_what_is_to_come_is_not_called_in_use(project: Any) -> None:
    project("remember", "old", "--valid-to", "2020-01-01")
    project("remember", "new", "--valid-from", "2098-01-01")
    project("remember", "now", "--valid-from", "2020-01-01", "--valid-to", "2098-01-01")
    out = project("memory", "list", "--state", "all").out
    assert "ran out 2020-01-01 00:00" in out
    assert "not in use yet: from 2098-01-01 00:00" in out
    assert "│ in use from 2020-01-01 00:00 until 2098-01-01 00:00" in out
    assert out.count("in use") == 2
    then = project("memory", "list", "--state", "all", "--as-of", "2099-01-01").out
    assert "ran out 2098-01-01 00:00" in then
    assert "in use from 2098-01-01 00:00" in then


def test_the_history_of_a_memory_is_told_in_fields_and_values(project: Any) -> None:
    made = project("remember", "we use sqlite", "--tag", "db", "--json").json
    with holdfast.open() as hf:
        hf.revise(made["id"], text="we use PostgreSQL", tags=["db", "ops"], title="x" * 200)
        hf.revise(made["id"], title=None, artifacts=["commit:abc"], importance=0.9)
    project("forget", made["id"], "--reason", "moved")
    out = project("memory", "show", made["id"]).out
    for said in ("text: we use sqlite", "tags: db", "text: we use PostgreSQL", "tags: db, ops"):
        assert said in out
    for said in ("title: xxx", "title: nothing", "artifacts: commit:abc", "importance: 0.9"):
        assert said in out
    assert not any(sign in out for sign in ('{"', '["', '":', "null", "updated_at:", "summary: we"))
    assert "x" * 81 not in out.split("What made it so")[1]


def test_restore_still_gives_a_session_s_page(project: Any) -> None:
    with holdfast.open() as hf, hf.session(agent="coder") as s:
        s.user("Build it.")
    assert "Build it." in project("restore").out
    assert "Build it." in project("restore", s.id).out
    with holdfast.open() as hf, hf.session(agent="coder", session_id="mem_ory-leak") as s:
        s.user("Find the leak.")
    assert "Find the leak." in project("restore", "mem_ory-leak").out


def test_what_came_of_memories_is_noted(project: Any) -> None:
    one = project("remember", "a", "--json").json["id"]
    two = project("remember", "b", "--scope", "user", "--json").json["id"]
    with holdfast.open() as hf, hf.session(agent="coder") as s:
        event = s.user("hello").event_id
    told = project("used", one, two, event, "--verdict", "cited", "--action", "fixed it", "--json")
    assert len(told.json) == 2
    assert "useful" in project("used", one, "--verdict", "useful").out
    usage = project("memory", "show", one, "--json").json["usage"]
    assert (usage["cited"], usage["useful"], usage["wrong"]) == (1, 1, 0)
    assert "cited 1, useful 1" in project("memory", "show", one).out


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (("remember",), 2, "a key and a value"),
        (("remember", "x", "--importance", "7"), 2, "0 to 1"),
        (("remember", "x", "--artifact", "abc"), 2, "commit:"),
        (("remember", "x", "--expires-at", "soon"), 2, "2026-01-31T09:30:00Z"),
        (("remember", "x", "--supersedes", "mem_x"), 3, "no memory mem_x"),
        (("memory", "show", "mem_x"), 3, "list those there are"),
        (("forget", "mem_x", "--reason", "y"), 3, "no memory mem_x"),
        (("restore", "mem_" + "0" * 26), 3, "no memory"),
        (("restore", "mem_nope"), 3, "no memory mem_nope; list those there are"),
        (("used", "mem_x", "--verdict", "cited"), 3, "no memory mem_x"),
        (("used", "--verdict", "cited"), 2, "at least one"),
        (("memory", "list", "--limit", "0"), 2, "from 1 on"),
        (("memory", "list", "--user", "*"), 2, "one user"),
    ],
)
def test_an_error_says_what_to_do(
    project: Any, command: tuple[str, ...], code: int, said: str
) -> None:
    ran: Ran = project(*command)
    assert ran.code == code
    assert said in " ".join(ran.err.split())
    machine: Ran = project(*command, "--json")
    assert (machine.code, machine.out) == (code, "")
    assert '"error"' in machine.err
