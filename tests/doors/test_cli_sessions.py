"""The commands about sessions, as a person and as a machine uses them."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.app.session import Session
from tests.doors.test_cli import Ran, run  # noqa: F401  (a fixture)


@pytest.fixture
def project(run: Any) -> Any:  # noqa: F811
    run("init")
    return run


def a_session(agent: str = "coder", **details: Any) -> Session:
    with holdfast.open() as hf:
        s = hf.session(agent=agent, **details).start(at="2026-03-02T09:00:00Z")
        s.user("Build the refund endpoint.", at="2026-03-02T09:10:00Z")
        s.update_state({"current_task": "refunds"}, at="2026-03-02T09:15:00Z")
        s.error("Race between two refunds", at="2026-03-02T10:00:00Z")
        s.decision("Lock the invoice row first", at="2026-03-02T10:05:00Z")
        s.gate(1, passed=True, at="2026-03-03T11:00:00Z")
        return s


def test_a_project_without_sessions_says_so(project: Any) -> None:
    assert "No session" in project("session", "list").out
    assert project("session", "list", "--json").json == []
    for words in (("status",), ("session", "show"), ("session", "end"), ("restore",)):
        ran: Ran = project(*words)
        assert (ran.code, "no session" in ran.err) == (3, True), words


def test_sessions_are_listed_the_latest_first(project: Any) -> None:
    one, two = a_session(), a_session("architect", workflow="design")
    out = project("session", "list").out
    assert out.index(two.id) < out.index(one.id)
    assert "1 d 2 h" in out
    answer = project("session", "list", "--json").json
    assert [info["id"] for info in answer] == [two.id, one.id]
    assert [
        info["id"] for info in project("session", "list", "--agent", "coder", "--json").json
    ] == [one.id]
    project("session", "end", one.id)
    listed = project("session", "list", "--open-only", "--json").json
    assert [info["id"] for info in listed] == [two.id]


def test_status_shows_id_duration_events_tokens_scratchpad_and_checkpoints(project: Any) -> None:
    s = a_session()
    out = project("status").out
    for said in (
        s.id,
        "1 d 2 h",
        "6 events in 1 turn",
        "o200k_base",
        "version 1",
        "refunds",
        "gate 1 passed",
    ):
        assert said in out, said
    answer = project("status", s.id, "--json").json
    assert answer["tokens"] > 10
    assert answer["state"]["scratchpad"]["content"] == {"current_task": "refunds"}
    assert answer["seconds"] == 26 * 3600


def test_status_tells_what_is_open_in_a_few_lines(project: Any) -> None:
    with holdfast.open() as hf:
        s = hf.session(agent="coder").start()
        for n in range(8):
            s.error(f"KeyError {n}: " + "the price is missing " * 40)
    out = project("status").out
    assert "KeyError 4" in out
    assert "and 3 more" in out
    assert len(out.splitlines()) < 50


def test_show_says_all_a_session_knows(project: Any) -> None:
    s = a_session()
    out = project("session", "show", s.id).out
    for said in ("Lock the invoice row first", "Race between two refunds", "passed", "refunds"):
        assert said in out, said
    assert project("session", "show", "--json").json["decisions"][0]["text"] == (
        "Lock the invoice row first"
    )


def test_a_session_is_ended_by_hand_or_with_its_workflow(project: Any) -> None:
    s, other = a_session(workflow="w"), a_session("architect", workflow="w")
    assert "has ended" in project("session", "end", s.id, "--reason", "lunch").out
    assert project("session", "show", s.id, "--json").json["info"]["ended_because"] == "lunch"
    assert project("session", "end", s.id).code == 4
    assert project("session", "end", "--workflow", "w", "--json").json == [other.id]
    assert "No open session" in project("session", "end", "--workflow", "w").out
    ran: Ran = project("session", "end")
    assert (ran.code, "no open session" in ran.err) == (3, True)
    assert "session of nobody" in project("session", "list", "--agent", "nobody").out
    assert "No open session of any agent" in project("session", "list", "--open-only").out
    assert project("session", "end", "x", "--workflow", "w").code == 2


def test_restore_prints_the_page_within_its_budget(project: Any) -> None:
    s = a_session()
    out = project("restore").out
    assert out.startswith(f"# Continuing session {s.id} of coder\n")
    assert "- Lock the invoice row first" in out
    answer = project("restore", s.id, "--tokens", "60", "--json").json
    assert 0 < answer["tokens"] <= 60
    assert project("restore", "ses_nobody").code == 3


def test_rebuild_says_whether_the_index_was_right(project: Any) -> None:
    a_session()
    done = project("rebuild", "--json").json
    assert (done["same"], done["events"], done["sessions"]) == (True, 6, 1)
    with holdfast.open() as hf:
        for name in os.listdir(hf.folder):
            if name.startswith("index.db"):
                (Path(hf.folder) / name).unlink()
        assert hf.state_hash() == done["state_hash"]
    assert re.search("the same state as before", project("rebuild").out)


def test_what_happened_to_an_index_is_said(project: Any) -> None:
    a_session()
    with holdfast.open() as hf:
        path = Path(hf.folder) / "index.db"
    path.write_bytes(b"not a database at all, but long enough to look at" * 100)
    assert project("doctor").code == 1
    ran: Ran = project("session", "show")
    assert ("refunds" in ran.out, "index" in ran.err) == (True, True)
    assert project("doctor").code == 0


@pytest.mark.parametrize(
    "words", [("status",), ("session", "list"), ("restore",), ("session", "end"), ("export", "x")]
)
def test_a_misspelt_project_is_none(project: Any, words: tuple[str, ...]) -> None:
    ran: Ran = project(*words, "--project", "typo")
    assert (ran.code, "nothing is kept for typo" in ran.err) == (3, True)
    with holdfast.open() as hf:
        assert "typo" not in os.listdir(Path(hf.folder).parent)


def test_rebuild_says_when_the_index_was_wrong(project: Any) -> None:
    a_session()
    with holdfast.open() as hf:
        path = Path(hf.folder) / "index.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE rows SET row=x'7b7d' WHERE view='gates'")
        db.commit()
    done = project("rebuild", "--json")
    assert done.json["same"] is False
    assert "damaged" in done.err
    assert project("rebuild", "--json").json["same"] is True


def test_hostile_words_cannot_move_the_cursor(project: Any) -> None:
    with holdfast.open() as hf:
        s = hf.session(agent="coder\u202e", workflow="w").start()
        s.decision("\x1b[2J\x1b]0;owned\x07 wipe")
        s.update_state({"\x1b[31mkey": "\x9b2J"})
    for words in (("status",), ("session", "show"), ("session", "list"), ("restore",)):
        out = project(*words).out
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", out), words


def test_a_checkpoint_is_listed_with_its_id_and_gone_back_to(project: Any) -> None:
    s = a_session()
    assert "No checkpoint" in project("session", "checkpoints").out
    with holdfast.open() as hf:
        mine = hf.session(agent="coder", session_id=s.id)
        saved = mine.checkpoint()
        mine.update_state({"current_task": "another"})
    (found,) = project("session", "checkpoints", "--json").json
    assert found["event_id"] == saved.id
    assert (found["trigger"], found["tokens"] > 0) == ("asked", True)
    listed = project("session", "checkpoints").out
    assert all(said in listed for said in (saved.id, "asked", f"{found['tokens']:,}"))
    assert saved.id in project("session", "show").out
    assert saved.id in project("session", "resume", saved.id).out
    assert project("session", "show", "--json").json["scratchpad"]["content"] == {
        "current_task": "refunds"
    }
    resumed = project("session", "resume", str(found["event_seq"]), "--json").json
    assert resumed["trigger"] == saved.id
    assert resumed["event_seq"] > found["event_seq"]
    assert resumed["at"] > found["at"]
    ran: Ran = project("session", "resume", "evt_nothing")
    assert (ran.code, "no checkpoint" in ran.err) == (3, True)
