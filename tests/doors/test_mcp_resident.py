"""Clients over stdin share the project's resident: one process has it open, however many ask."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("mcp")

import holdfast
from holdfast.app.open import locate
from holdfast.app.toolbox_away import Away
from holdfast.app.toolbox_desk import CALL, LEAVE, Desk
from holdfast.errors import Invalid, NotFound
from tests.doors.residents import Project, project, until
from tests.doors.test_mcp_stdio import RUN, Server


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    with project(tmp_path) as one:
        yield one


@contextmanager
def client(made: Project) -> Iterator[Server]:
    words = [sys.executable, "-c", RUN, "mcp", "--home", str(made.home)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=made.root, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            server = Server(process)
            server.begin()
            yield server
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
        finally:
            process.kill()


def away(made: Project) -> Away:
    found, chosen = locate(made.home, path=made.root)
    own = Desk(lambda: holdfast.open(made.home, path=made.root))
    return Away(chosen, found, {"agent": "tester"}, own)


def test_two_clients_are_served_by_one_process_each_with_its_session(made: Project) -> None:
    with client(made) as first, client(made) as second:
        sessions = {first.decide(), second.decide()}
        resident = made.answers()["pid"]
        assert resident not in (first.process.pid, second.process.pid)
        for one in (first, second):
            loaded = Path(f"/proc/{one.process.pid}/maps").read_text("utf-8")
            assert "index.db" not in loaded
    assert len(sessions) == 2

    def ended() -> bool:
        with holdfast.open(made.home, path=made.root) as hf:
            known = {info.id: info.open for info in hf.sessions(agent="*")}
        return not any(known[one] for one in sessions)

    until(ended)


def test_what_goes_wrong_there_is_raised_here(made: Project) -> None:
    caller = away(made)
    with pytest.raises(NotFound, match="there is no tool"):
        caller(CALL, {"client": "c", "as": "t", "name": "nothing", "arguments": {}})
    with pytest.raises(Invalid):
        caller(CALL, {"client": "c", "as": "t", "name": "remember", "arguments": {"text": 7}})
    with pytest.raises(Invalid, match="no operation"):
        caller("tools/burn", {"client": "c"})


def test_a_killed_resident_is_followed_by_another(made: Project) -> None:
    caller = away(made)
    said = {
        "client": "c",
        "as": "t",
        "name": "remember",
        "arguments": {"text": "cents, not floats"},
    }
    first = caller(CALL, said)
    pid = made.answers()["pid"]
    os.kill(pid, signal.SIGKILL)
    os.unlink(os.path.join(made.folder, "resident.started"))
    search = {**said, "name": "memory_search", "arguments": {"query": "cents or floats"}}
    found = caller(CALL, search)
    assert found["hits"][0]["id"] == first["id"]
    assert made.answers()["pid"] != pid
    assert caller(LEAVE, {"client": "c"}) == {}


def test_where_none_can_be_started_the_project_is_opened_here(
    made: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(made.root / "nowhere"))
    monkeypatch.setattr("holdfast.app.toolbox_away._COMES", 0.3)
    caller = away(made)
    said = {"client": "c", "as": "t", "name": "remember", "arguments": {"text": "cents"}}
    assert caller(CALL, said)["text"] == "cents"
    assert not os.path.exists(os.path.join(made.folder, "resident.sock"))
    caller(LEAVE, {"client": "c"})


def test_a_client_that_left_has_no_session_any_more(made: Project) -> None:
    caller = away(made)
    said = {"client": "c", "as": "t", "name": "record_decision", "arguments": {"text": "cents"}}
    session = caller(CALL, said)["session"]
    caller(LEAVE, {"client": "c"})
    with holdfast.open(made.home, path=made.root) as hf:
        assert hf.status(session).state.info.ended_because == "client left"
