"""`holdfast manager` where a ContextManager keeps everything, for cron, and what it lists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.app.hosts import Host, notes
from tests.app.test_cold import talk
from tests.doors.test_cli import Ran, run  # noqa: F401  (a fixture)


@pytest.fixture
def project(run: Any) -> Any:  # noqa: F811
    run("init")
    with holdfast.open() as hf:
        talk(hf.session(agent="coder", session_id="one").start())
    return run


def hosted(place: Path, **more: Any) -> str:
    """A conversation that a host holds and that was compacted."""
    ctx = Host(notes(40)).manager(place, **more)
    ctx.before_response(8_000)
    ctx.compact()
    ctx.session_end()
    return ctx.session_id


# ---- which project -------------------------------------------------------------------------------


def test_the_only_memory_of_a_context_manager_here_is_found(run: Any) -> None:  # noqa: F811
    session = hosted(Path())
    assert session in run("manager", "status").out
    assert run("manager", "health", "--json").json["session_id"] == session
    (chunk, *_) = run("manager", "cold-storage", "list", "--json").json
    assert "crossing" in run("manager", "recover", "--chunk-id", chunk["id"]).out
    refused: Ran = run("manager", "reset", "--force")
    assert refused.code == 3
    assert "--home ./memfas.holdfast --project context-manager" in refused.err.replace("\n", " ")
    assert Path("memfas.holdfast/contexts-v2/context-manager/events.ndjson").stat().st_size


def test_a_chunk_that_is_none_is_told_by_a_command_that_works_there(run: Any) -> None:  # noqa: F811
    hosted(Path())
    ran = run("manager", "recover", "--chunk-id", "abc123")
    assert ran.code == 3
    advised = re.findall(r"`holdfast ([^`]*)` names them", ran.err.replace("\n", " "))
    assert [run(*one.split()).code for one in advised] == [0]


def test_the_usual_home_is_looked_at_too(run: Any) -> None:  # noqa: F811
    ctx = Host(notes(3)).manager(Path(), memory_path=None)
    ctx.before_response(8_000)
    ctx.session_end()
    assert ctx.session_id in run("manager", "status").out


def test_of_several_memories_none_is_guessed(run: Any) -> None:  # noqa: F811
    hosted(Path())
    hosted(Path(), memory_path="other.json")
    ran = run("manager", "status")
    said = ran.err.replace("\n", " ")
    assert ran.code == 3
    assert "--home ./memfas.holdfast --project context-manager" in said
    assert "--home ./other.holdfast --project context-manager" in said
    assert run("manager", "status", "--home", "./other.holdfast").code == 0


def test_a_memory_that_came_with_a_repository_is_not_opened(run: Any) -> None:  # noqa: F811
    hosted(Path())
    Path("memfas.holdfast").chmod(0o755)  # as git makes folders
    ran = run("manager", "status")
    assert (ran.code, "ContextManager" in ran.err) == (3, False)


def test_the_project_of_the_folder_comes_first(project: Any) -> None:
    hosted(Path())
    assert project("manager", "status", "--json").json["session_id"] == "one"
    lost = project("manager", "status", "--session", "nope")
    assert lost.code == 3
    assert "--home ./memfas.holdfast" in lost.err.replace("\n", " ")


# ---- for cron ------------------------------------------------------------------------------------


def test_an_empty_project_is_no_alarm(run: Any) -> None:  # noqa: F811
    run("init")
    ran = run("manager", "health", "--notify-if-pct", "0.5")
    assert (ran.code, "no session yet" in ran.out) == (0, True)
    assert run("manager", "health", "--notify-if-pct", "0.5", "--json").json is None
    assert run("manager", "health").code == 3
    assert run("manager", "health", "--notify-if-pct", "0.5", "--session", "x").code == 3


@pytest.mark.parametrize(
    ("share", "code"), [("50%", 0), ("0.01%", 10), ("100%", 0), ("50", 2), ("%", 2), ("101%", 2)]
)
def test_a_share_is_written_in_either_way(project: Any, share: str, code: int) -> None:
    ran = project("manager", "health", "--notify-if-pct", share)
    assert ran.code == code
    assert code != 2 or "0.5 or 50%" in ran.err


# ---- what is shown -------------------------------------------------------------------------------


def test_lists_of_what_left_say_what_it_says(project: Any) -> None:
    project("compact", "--to", "600", "--prompt", "database")
    for command in (("cold", "list"), ("manager", "drops"), ("manager", "cold-storage", "list")):
        listed = project(*command, "--json").json
        assert listed
        for one in listed:
            assert one["says"]
            said = project("cold", "show", one["id"]).out
            assert one["says"].removesuffix("…") in " ".join(said.split())
        assert listed[0]["says"].split()[0] in project(*command).out


def test_what_a_list_says_moves_no_cursor(project: Any) -> None:
    with holdfast.open() as hf:
        s = hf.session(agent="coder", session_id="one").start()
        s.tool_result("Bash", "\x1b[2Jwiped\nand more " + "a screen " * 300)
        talk(s)
        assert s.compact("database", to=300)
    out = project("cold", "list").out
    assert "wiped" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("command", [("cold", "list"), ("manager", "drops")])
def test_a_session_that_is_none_is_said_to_be_none(project: Any, command: tuple[str, ...]) -> None:
    ran = project(*command, "--session", "nope")
    assert ran.code == 3
    assert "there is no session nope" in ran.err


@pytest.mark.parametrize("command", [("cold", "show"), ("recover",)])
def test_a_handle_is_sent_to_the_command_that_knows_it(
    project: Any, command: tuple[str, ...]
) -> None:
    ran = project(*command, "events 3-9")
    assert ran.code == 3
    assert "holdfast expand events 3-9" in ran.err.replace("\n", " ")


def test_the_last_compaction_is_said_in_words(project: Any) -> None:
    assert "none" in project("manager", "status").out
    made = project("manager", "compact", "--prompt", "database", "--window", "4000", "--json").json
    assert made["window"] == 4_000
    assert made["prompt"] == "database"
    assert made["event_seq"] > made["through"]
    said = " ".join(project("manager", "status").out.replace("│", " ").split())
    assert f"{made['tokens_before']:,} tokens became {made['tokens_after']:,}" in said
    assert "{" not in said


def test_a_reset_says_what_is_gone_from_folders_elsewhere(run: Any, tmp_path: Path) -> None:  # noqa: F811
    place = {"LOG_PATH": str(tmp_path / "logs"), "COLD_STORAGE_PATH": str(tmp_path / "cold")}
    hosted(Path(), **place)
    where = ("--home", "./memfas.holdfast", "--project", "context-manager")
    ran = run("manager", "reset", "--force", *where)
    said = ran.out.replace("\n", "")
    assert all(path in said for path in place.values())
    assert "holdfast rebuild" in " ".join(ran.out.split())


@pytest.mark.parametrize("columns", ["80", "60"])
def test_ids_of_items_and_checkpoints_stay_whole(
    project: Any, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    with holdfast.open() as hf:
        s = hf.session(agent="coder", session_id="one").start()
        item = s.items.save("The deploy script runs as www-data since April.", type="TASK")
        saved = s.checkpoint("deploying")
    assert item.id in project("items", "list").out
    shown = project("session", "checkpoints").out
    assert saved.id in shown
    assert "deploying" in shown
