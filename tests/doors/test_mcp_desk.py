"""The desk: clients come and go, each with its own session, never more of them than there is room."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app.toolbox_desk import CALL, LEAVE, PROMPT, READ, Desk
from holdfast.errors import Invalid, NotFound


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


def decided(desk: Desk, client: str, text: str = "Use cents.") -> str:
    asked = {"client": client, "as": client, "name": "record_decision", "arguments": {"text": text}}
    return str(desk(CALL, asked)["session"])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def sessions(home: Path) -> dict[str, bool]:
    """Every session and whether it is open."""
    with holdfast.open(home, project="p", user="ana") as hf:
        return {info.id: info.open for info in hf.sessions()}


def opening(home: Path) -> Any:
    return lambda: holdfast.open(home, project="p", user="ana")


def test_nothing_is_opened_before_the_first_call(home: Path) -> None:
    desk = Desk(opening(home))
    desk.sweep()
    desk(LEAVE, {"client": "nobody"})
    desk.close()
    assert not home.exists()


def test_each_client_has_a_session_of_its_own_that_ends_when_it_leaves(home: Path) -> None:
    desk = Desk(opening(home))
    one, other = decided(desk, "one"), decided(desk, "other")
    assert decided(desk, "one", "Again.") == one != other
    desk(LEAVE, {"client": "one"})
    assert desk.clients == ["other"]
    back = decided(desk, "one")
    assert back not in (one, other)
    assert sessions(home) == {one: False, other: True, back: True}
    desk.close()
    assert set(sessions(home).values()) == {False}


@settings(max_examples=30)
@given(
    most=st.integers(1, 4),
    steps=st.lists(
        st.tuples(st.sampled_from("abcdefg"), st.sampled_from(["call", "leave", "wait", "sweep"])),
        max_size=25,
    ),
)
def test_there_are_never_more_clients_than_room_and_the_longest_idle_leaves(
    most: int, steps: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home, clock = tmp_path_factory.mktemp("desk"), Clock()
    desk = Desk(opening(home), most=most, idle_seconds=10, clock=clock)
    heard: dict[str, float] = {}
    for client, step in steps:
        clock.at += 1
        if step == "call":
            decided(desk, client)
            heard.pop(client, None)
            heard[client] = clock.at
            heard = dict(list(heard.items())[-most:])
        elif step == "leave":
            desk(LEAVE, {"client": client})
            heard.pop(client, None)
        elif step == "wait":
            clock.at += 4
        else:
            desk.sweep()
            heard = {one: at for one, at in heard.items() if at >= clock.at - 10}
        assert desk.clients == list(heard)
    desk.close()
    if heard:
        assert set(sessions(home).values()) == {False}


class Slow:
    """A project whose opening waits, so that a call is under way."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.go = threading.Event()

    def __call__(self) -> holdfast.Holdfast:
        self.go.wait()
        return holdfast.open(self.home, project="p", user="ana")


def test_clients_that_come_at_once_share_one_project(home: Path) -> None:
    slow = Slow(home)
    desk = Desk(slow)
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(decided(desk, f"client {n}")))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    slow.go.set()
    for thread in threads:
        thread.join()
    desk.close()
    assert len(set(found)) == 6
    assert sessions(home) == dict.fromkeys(found, False)


def test_a_call_that_outlives_its_client_leaves_no_session_open(home: Path) -> None:
    desk = Desk(opening(home))
    decided(desk, "one")
    with desk._seats["one"].box._lock:  # as a call that takes long holds it
        calls = [
            threading.Thread(target=lambda: decided(desk, "one")),
            threading.Thread(target=lambda: desk(LEAVE, {"client": "one"})),
        ]
        for call in calls:
            call.start()
            while desk.clients == ["one"] and call is calls[1]:
                continue
    for call in calls:
        call.join()
    assert set(sessions(home).values()) == {False}
    desk.close()


def test_a_project_that_cannot_be_opened_is_said_with_each_call_and_tried_again(home: Path) -> None:
    tries: Iterator[bool] = iter([False, False, True])

    def sometimes() -> holdfast.Holdfast:
        if not next(tries):
            raise NotFound("there is no project here; run `holdfast init`")
        return holdfast.open(home, project="p", user="ana")

    desk = Desk(sometimes)
    for _ in range(2):
        with pytest.raises(NotFound, match="holdfast init"):
            decided(desk, "one")
        assert desk.clients == []
    assert decided(desk, "one")
    desk.close()


def test_every_operation_goes_through_one_call_made_of_json(home: Path) -> None:
    desk = Desk(opening(home), compat=True)
    who = {"client": "one", "as": "tester"}
    graph: dict[str, Any] = {"entities": [], "relations": []}
    assert desk(CALL, {**who, "name": "read_graph", "arguments": {}}) == graph
    assert desk(READ, {**who, "uri": "holdfast://topics"})["text"] == "[]"
    assert desk(PROMPT, {**who, "name": "debrief", "arguments": None})["messages"]
    with pytest.raises(Invalid, match="erase"):
        desk("erase", who)
    desk.close()


def test_a_desk_for_one_session_joins_it_for_every_client(home: Path) -> None:
    with holdfast.open(home, project="p", user="ana") as hf:
        s = hf.session(agent="claude-code").start()
        desk = Desk(opening(home), session_id=s.id)
        assert decided(desk, "one") == decided(desk, "other") == s.id
        desk.close()
        assert s.info().open
        assert len(s.state().decisions) == 2
