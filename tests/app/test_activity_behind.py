"""The five logs of a long run of events: they catch up in steps, and nobody has to ask for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.app.activity import _CHEAP, Activity
from holdfast.capture.disk import Disk
from holdfast.capture.layout import INDEX_LOCK
from holdfast.capture.lock import Lock
from holdfast.doors.resident.desk import Desk
from holdfast.model.events import Draft
from tests.app.test_activity import anew, written
from tests.app.test_cold import talk
from tests.doors.test_cli import run  # noqa: F401  (a fixture)
from tests.recall.replays import Ticking

#: more than two steps
MANY = 2 * _CHEAP + 500


@pytest.fixture
def hf(tmp_path: Path) -> Iterator[holdfast.Holdfast]:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as opened:
        yield opened


def worked(s: holdfast.Session) -> None:
    """So much happened, and no context was asked for."""
    one = Draft(
        type="tool_result",
        payload={"tool": "Bash", "text": "line " * 60},
        origin="tool",
        session_id=s.id,
        agent=s.agent,
        user=s.principal,
    )
    for _ in range(0, MANY, 500):
        s._hf.record([one] * 500)


def compacted(hf: holdfast.Holdfast) -> holdfast.Session:
    s = hf.session(agent="coder").start()
    talk(s)
    worked(s)
    s.compact("database indexes", to=600)
    return s


def test_a_few_contexts_catch_up_with_any_number_of_events(hf: holdfast.Holdfast) -> None:
    s = compacted(hf)
    assert not written(hf)["compaction"]
    for _ in range(3):
        s.context("zebra", window=20_000)
    there = written(hf)
    assert there["compaction"]
    assert there == anew(hf)


def test_another_process_goes_on_where_one_was_killed(hf: holdfast.Holdfast) -> None:
    compacted(hf)  # its first step is on the disk
    for _ in range(3):
        Activity(hf).follow()
    there = written(hf)
    assert there["drops"]
    assert there == anew(hf)


def test_whoever_meets_another_at_it_leaves_it_to_that_one(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder").start()
    talk(s)
    lock = Lock(os.path.join(hf.folder, INDEX_LOCK), Disk())
    lock.acquire(1)
    try:
        hf.activity.follow()
        assert (written(hf), hf.activity.behind) == ({}, True)
    finally:
        lock.done()
    s.context("zebra", window=20_000)
    assert written(hf)["context-health"]
    assert hf.notices == []


def test_closing_a_project_takes_in_what_is_left(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        compacted(hf)
    there = written(hf)
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        assert there["compaction"]
        assert there == anew(hf)


def test_the_end_of_a_session_is_in_them_without_any_context(hf: holdfast.Holdfast) -> None:
    with hf.session(agent="coder") as s:
        for n in range(200):
            s.tool_result("Bash", f"{n} " + "line " * 300)
    assert written(hf)["context-health"]
    assert not hf.activity.behind


def test_a_resident_takes_them_in_step_by_step(hf: holdfast.Holdfast) -> None:
    compacted(hf)
    desk = Desk(hf)
    for _ in range(4):
        desk.prepare()
    desk.close()
    assert not hf.activity.behind
    assert written(hf)["compaction"]


@pytest.mark.parametrize("command", [("manager", "status"), ("cold", "list"), ("compact",)])
def test_commands_about_windows_take_them_in(run: Any, command: tuple[str, ...]) -> None:  # noqa: F811
    run("init")
    with holdfast.open() as hf:
        worked(hf.session(agent="coder").start())
    assert written(hf) == {}
    run(*command)
    assert written(hf)["context-health"]
