"""Clients over stdin share the project's resident: one process has it open, however many ask."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

import holdfast
from holdfast.app import residents
from holdfast.app.open import locate, project_folder
from holdfast.app.toolbox_away import Away
from holdfast.app.toolbox_desk import CALL, LEAVE, Desk
from holdfast.doors.resident.server import Places
from holdfast.errors import Invalid, NotFound
from tests.doors.residents import LONG, Project, project, until
from tests.doors.test_mcp_http import TOKEN, begin, post
from tests.doors.test_mcp_stdio import RUN, Server


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    with project(tmp_path) as one:
        yield one


@contextmanager
def client(made: Project, *more: str, cwd: Path | None = None) -> Iterator[Server]:
    words = [sys.executable, "-c", RUN, "mcp", "--home", str(made.home), *more]
    pipe, place = subprocess.PIPE, cwd or made.root
    with subprocess.Popen(words, cwd=place, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            server = Server(process)
            server.begin()
            yield server
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
        finally:
            process.kill()


def away(made: Project, **more: Any) -> Away:
    found, chosen = locate(made.home, path=made.root)
    own = Desk(lambda: holdfast.open(made.home, path=made.root), agent="tester")
    return Away(chosen, found, {"agent": "tester"}, own, **more)


def decide(caller: Away, text: str = "cents", client: str = "c") -> Any:
    """The session a decision is recorded in."""
    said = {"client": client, "as": "t", "name": "record_decision", "arguments": {"text": text}}
    return caller(CALL, said)["session"]


def opened_by(home: Path) -> set[str]:
    """The processes that have an index below a home open."""
    found = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):
            if f"{home}/contexts-v2" in maps.read_text("utf-8", "replace"):
                found.add(maps.parent.name)
    return found


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


# ---- one for each project, however it is named ---------------------------------------------------


def test_clients_that_name_the_project_share_one_process_too(made: Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    named = ("--project", made.id)
    with (
        client(made, *named, cwd=elsewhere) as one,
        client(made, *named, cwd=elsewhere) as two,
        client(made, *named, cwd=elsewhere) as three,
    ):
        sessions = {one.decide(), two.decide(), three.decide()}
        resident = made.answers()
        assert opened_by(made.home) == {str(resident["pid"])}
    assert len(sessions) == 3
    assert resident["project"] == made.id


def test_a_repository_that_was_never_opened_gets_its_resident_with_the_first_call(
    made: Project, tmp_path: Path
) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    found, chosen = locate(made.home, path=root)
    folder = project_folder(chosen, found.id)
    assert not os.path.exists(folder)
    own = Desk(lambda: pytest.fail("it was opened here"), agent="tester")
    try:
        assert decide(Away(chosen, found, {"agent": "tester"}, own))
    finally:
        residents.stop(folder)


def test_a_server_over_http_shares_it_too_and_ends_in_order_with_a_hangup(made: Project) -> None:
    words = [sys.executable, "-c", RUN, "mcp", "--home", str(made.home), "--http"]
    env = {**os.environ, "HOLDFAST_TOKEN": TOKEN}
    with subprocess.Popen(words, cwd=made.root, stderr=subprocess.PIPE, env=env) as server:
        try:
            assert server.stderr is not None
            port = int(server.stderr.readline().split(b":")[-1].split(b"/")[0])
            mine = begin(port)
            asked = {"name": "record_decision", "arguments": {"text": "cents"}}
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked}
            answer = json.loads(post(port, call, mine).body)
            session = answer["result"]["structuredContent"]["session"]
            assert opened_by(made.home) == {str(made.answers()["pid"])}
            server.send_signal(signal.SIGHUP)
            assert server.wait(LONG) == 0
        finally:
            server.kill()
    with holdfast.open(made.home, path=made.root) as hf:
        assert hf.status(session).state.info.ended_because == "client left"


# ---- many at once --------------------------------------------------------------------------------


def test_more_calls_than_there_are_places_are_all_answered(made: Project) -> None:
    one, two = away(made), away(made)
    decide(one)
    search = {"as": "t", "name": "memory_search", "arguments": {"query": "cents"}}
    with ThreadPoolExecutor(60) as pool:
        asked = [
            pool.submit(caller, CALL, {**search, "client": f"c{n % 20}"})
            for n in range(60)
            for caller in (one, two)
        ]
        assert all("hits" in one.result(LONG) for one in asked)


def test_a_client_takes_one_place_at_a_time_and_whoever_finds_none_is_told_so() -> None:
    places = Places(2, waiting=1, seconds=0.1)
    with places.taken("a") as first, places.taken("b") as second:
        assert (first, second) == (True, True)
        with places.taken("c") as third:
            assert not third
    with places.taken("a") as first, places.taken("a") as again, places.taken("b") as second:
        assert (first, again, second) == (True, False, True)
        with places.taken("d") as too_many:
            assert not too_many
    with places.taken("") as first, places.taken("") as second:
        assert (first, second) == (True, True)


# ---- one that hangs, ends or is another version --------------------------------------------------


def test_where_the_resident_hangs_the_call_is_done_here_and_later_there_again(
    made: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.app.toolbox_away._STATUS", 0.5)
    monkeypatch.setattr("holdfast.app.toolbox_away._AGAIN", 0.5)
    caller = away(made)
    session = decide(caller, "one")
    pid = made.answers()["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        assert decide(caller, "two") == session
        assert time.monotonic() - began < 20
    finally:
        os.kill(pid, signal.SIGCONT)
    time.sleep(0.6)
    before = made.answers()["answered"]
    assert decide(caller, "three") == session
    assert made.answers()["answered"] > before + 1
    caller(LEAVE, {"client": "c"})
    with holdfast.open(made.home, path=made.root) as hf:
        state = hf.state(session)
        assert [one.text for one in state.decisions] == ["one", "two", "three"]
        ends = [event for event in hf.events(session_id=session) if event.kind == "session_ended"]
    assert len(ends) == 1


def test_a_server_ends_with_a_signal_though_the_resident_hangs(made: Project) -> None:
    with client(made) as server:
        server.decide()
        pid = made.answers()["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            server.process.terminate()
            assert server.process.wait(20) == 0
        finally:
            os.kill(pid, signal.SIGCONT)


def test_a_session_goes_on_with_the_next_resident_without_a_wait(made: Project) -> None:
    caller = away(made, lives=True)
    session = decide(caller)
    for end in (signal.SIGKILL, signal.SIGTERM):
        pid = made.answers()["pid"]
        os.kill(pid, end)
        until(lambda: not residents.held(os.path.join(made.folder, "resident.lock")))
        began = time.monotonic()
        assert decide(caller) == session
        assert time.monotonic() - began < 9
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text("utf-8").split()
        assert str(pid) not in children
    caller(LEAVE, {"client": "c"})
    with holdfast.open(made.home, path=made.root) as hf:
        kinds = [event.kind for event in hf.events(session_id=session)]
    assert [kinds.count(one) for one in ("session_started", "session_ended")] == [1, 1]


@pytest.mark.parametrize("next_one", [True, False])
def test_a_session_ends_with_its_client_though_its_resident_ended_before(
    made: Project, *, next_one: bool
) -> None:
    caller, other = away(made, lives=True), away(made)
    session = decide(caller)
    assert residents.stop(made.folder)
    with holdfast.open(made.home, path=made.root) as hf:
        assert hf.status(session).state.info.open
    if next_one:
        decide(other, client="d")
    caller(LEAVE, {"client": "c"})
    with holdfast.open(made.home, path=made.root) as hf:
        assert hf.status(session).state.info.ended_because == "client left"
    caller._own.close()


def test_another_version_is_not_asked(made: Project) -> None:
    assert decide(away(made))
    assert decide(away(made, version=holdfast.__version__))
    before = made.answers()["answered"]
    caller = away(made, version="99.0")
    assert decide(caller)
    assert made.answers()["answered"] == before + 2  # how it is: asked there, asked here
    caller(LEAVE, {"client": "c"})


def test_it_stays_while_the_process_of_a_client_lives(made: Project, tmp_path: Path) -> None:
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[hooks]\nidle_minutes = 0.01\n", "utf-8")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as someone:
        caller = away(made, lives=True)
        caller._process["process"] = someone.pid
        session = decide(caller)
        time.sleep(2)
        held = os.path.join(made.folder, "resident.lock")
        assert residents.held(held)
        someone.kill()
    until(lambda: not residents.held(held))
    with holdfast.open(made.home, path=made.root) as hf:
        assert hf.status(session).state.info.ended_because == "client left"


@pytest.mark.parametrize("text", ["ж" * 1_900_000, "\ud800" * 500_000])
def test_whatever_a_door_lets_in_the_resident_takes_too(made: Project, text: str) -> None:
    caller = away(made)
    said = {"client": "c", "as": "t", "name": "remember", "arguments": {"text": text}}
    with pytest.raises(Invalid):
        caller(CALL, said)
