"""The commands about what leaves a window, as a person, a machine and cron use them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.capture.stamp import timestamp
from holdfast.manager import ContextManager
from holdfast.settings import config_file
from tests.app.test_cold import talk
from tests.doors.test_cli import Ran, run  # noqa: F401  (a fixture)


@pytest.fixture
def project(run: Any) -> Any:  # noqa: F811
    run("init")
    with holdfast.open() as hf:
        s = hf.session(agent="coder", session_id="one").start()
        talk(s)
    return run


def test_what_leaves_is_listed_shown_recovered_and_runs_out(project: Any) -> None:
    assert "Nothing is cold" in project("cold", "list").out
    ran: Ran = project("compact", "--to", "600", "--prompt", "database", "--json")
    dropped = [one["id"] for one in ran.json["decided"] if one["verdict"] == "drop"]
    assert dropped
    assert "Nothing would leave" in project("compact", "--to", "90000").out
    listed = project("cold", "list", "--json").json
    assert {one["id"] for one in listed} == set(dropped)
    assert dropped[0] in project("cold", "list", "--session", "one").out
    shown = project("cold", "show", dropped[0])
    assert "zebra" in shown.out
    assert project("cold", "show", dropped[0], "--json").json["chunk"]["recovered"] is None
    assert "zebra" in project("recover", dropped[0], "--prompt", "crossings").out
    assert project("cold", "show", dropped[0], "--json").json["chunk"]["recovered"]
    assert "back" in project("cold", "list").out
    assert project("recover", "evt_never").code == 3
    assert project("cold", "show", dropped[0], "--agent", "critic").code == 3
    assert project("cold", "expire").out == "0 chunks would run out.\n"
    assert project("cold", "expire", "--force", "--json").json["chunks"] == []


class Ago:
    """A clock that is so many days behind."""

    def __init__(self, days: int) -> None:
        self.days = days

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 - self.days * 86_400_000


def test_nothing_runs_out_unless_that_is_meant(project: Any) -> None:
    for days in (40, 5):
        with holdfast.open(now=Ago(days)) as hf:
            s = hf.session(agent="coder", session_id="one")
            talk(s)
            assert s.compact("database", to=600)
    every = ("cold", "list", "--limit", "1000", "--json")
    cold = project(*every).json
    over = [one for one in cold if one["until"] < timestamp()]
    assert 0 < len(over) < len(cold)
    for words in (("expire",), ("expire", "--user", "nobody"), ("expire", "--json")):
        project("cold", *words)
    said = project("cold", "expire").out
    assert said.startswith(f"{len(over)} chunks would run out")
    assert "--force" in said
    assert project(*every).json == cold
    assert project("cold", "expire", "--force").out == f"{len(over)} chunks ran out.\n"
    left = [one for one in cold if one not in over]
    assert project(*every).json == left


def test_a_strategy_that_is_none_is_refused(project: Any) -> None:
    ran = project("compact", "--strategy", "magic")
    assert ran.code == 2
    assert "adaptive" in ran.err
    ran = project("compact", "--strategy", "token_truncation", "--to", "300", "--session", "one")
    assert "left." in ran.out


def test_status_shows_the_window(project: Any) -> None:
    assert "next compaction at" in project("status").out
    assert project("status", "--json").json["pressure"]["band"] == "calm"


def test_a_session_in_which_nobody_spoke_has_a_window_too(project: Any) -> None:
    with holdfast.open() as hf:
        s = hf.session(agent="quiet").start()
        assert s.pressure().turns_left is None
        s.assistant("to nobody")
        assert s.pressure().tokens > 0
    assert "next compaction at" in project("status", "--agent", "quiet").out


def test_the_manager_s_commands(project: Any, tmp_path: Path) -> None:
    assert project("manager", "compact", "--now", "--json").code == 0
    project("compact", "--to", "600")
    status = project("manager", "status", "--json").json
    assert status["session_id"] == "one"
    assert status["cold_storage_chunks"] > 0
    assert status["last_compaction"]["event"] == "compaction_triggered"
    assert "Logs:" in project("manager", "status").out
    drops = project("manager", "drops", "--session", "one", "--json").json
    assert len(drops) == status["cold_storage_chunks"]
    assert project("manager", "cold-storage", "list", "--json").json == drops
    back = project("manager", "recover", "--chunk-id", drops[0]["id"])
    assert "zebra" in back.out or "painted" in back.out
    assert project("manager", "reset").code != 0
    assert "set aside" in project("manager", "reset", "--force").out
    assert project("manager", "status").code == 3


@pytest.mark.parametrize(
    ("share", "code"), [("0.5", 0), ("0.0001", 10), ("> 0.0001", 10), ("2", 2), ("x", 2)]
)
def test_cron_hears_of_a_full_window_by_the_exit_code(project: Any, share: str, code: int) -> None:
    assert project("manager", "health", "--notify-if-pct", share).code == code
    assert project("manager", "health", "--json").code == 0


def test_a_window_that_a_host_holds_is_reported_as_the_host_did(
    project: Any, tmp_path: Path
) -> None:
    ctx = ContextManager(
        tmp_path / "m.json", get_context=lambda: ["a" * 400], get_token_count=lambda: 700
    )
    ctx.before_response(1_000)
    where = ("--home", str(tmp_path / "m.holdfast"), "--project", "context-manager")
    found = project("manager", "health", "--notify-if-pct", "0.5", "--json", *where)
    assert (found.code, found.json["current_tokens"], found.json["limit"]) == (10, 700, 1_000)
    assert found.json["band"] == "compact"
    assert "held by its host" in project("manager", "compact", *where).err
    ctx.session_end()


@pytest.mark.parametrize("columns", ["80", "60", "200"])
@pytest.mark.parametrize(
    "command",
    [
        ("cold", "list"),
        ("manager", "drops"),
        ("manager", "cold-storage", "list"),
        ("compact", "--to", "300", "--strategy", "token_truncation"),
    ],
)
def test_ids_stay_whole_however_narrow_the_window_is(
    project: Any, monkeypatch: pytest.MonkeyPatch, columns: str, command: tuple[str, ...]
) -> None:
    if command[0] != "compact":
        project("compact", "--to", "600")
    monkeypatch.setenv("COLUMNS", columns)
    shown = project(*command).out
    ids = [one["id"] for one in project("cold", "list", "--json").json]
    assert ids
    assert all(one in shown for one in ids)


def test_the_window_that_is_measured_can_be_named(project: Any) -> None:
    assert project("manager", "health", "--window", "77777", "--json").json["limit"] == 77_777
    assert project("status", "--window", "77777", "--json").json["pressure"]["limit"] == 77_777
    assert project("manager", "health", "--model", "gpt-4o", "--json").json["limit"] == 128_000
    assert project("manager", "health", "--window", "10", "--notify-if-pct", "0.5").code == 10


def test_why_no_model_wrote_a_summary_is_said(project: Any) -> None:
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '[complete]\nprovider = "openai"\nmodel = "m"\nurl = "http://127.0.0.1:9/v1"\n'
        '[compact]\nstrategy = "recursive_summarization"\nmodel_calls = 0\n'
    )
    with holdfast.open() as hf:
        s = hf.session(agent="coder", session_id="one")
        for n in range(20):
            s.assistant(f"Crossing {n}: " + f"stripe {n} is white and straight. " * 60)
    said = project("compact", "--to", "4000", "--session", "one").out
    assert "Summaries are by rule, not by the model that is set: " in said
    assert "compact.model_calls" in said
