"""A project of several sessions through the hooks alone, as `bench.project` plays it, in short.

What must always hold: a later session is told what an earlier one decided, a window only grows, nothing
is given twice, whatever dies nothing acknowledged is lost, and there is one resident. Hooks have a long
deadline here, so that a slow machine changes nothing.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.project import kept_prefixes, lost, repeats, windows_of
from bench.project_host import Host, Tool, session_id
from bench.project_machine import USER, Machine, watched
from bench.project_play import Play
from holdfast.capture import prepared
from holdfast.capture.disk import Disk
from holdfast.doors.hooks.claude import AGENT

AGREED = "Continuing from checkpoint "
LIST = Tool("Bash", {"command": "ls"}, {"stdout": "settings.py", "stderr": ""})


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(str(tmp_path / "machine"), deadline_ms=30_000)
    try:
        yield made
    finally:
        made.end()


def until(what: Callable[[], object]) -> None:
    """Wait for something that comes by itself; the suite's own limit ends what never does."""
    while not what():
        time.sleep(0.02)


def words(text: str) -> int:
    return len(text.split())


def first_session(play: Play) -> None:
    host, machine = play.host, play.host.machine
    host.start(session_id("one"))
    until(machine.answers)
    play.plant("numbers", "fonts")
    play.work(1)
    machine.kill_resident()
    play.plant("zone")
    host.end()


def test_session_three_knows_what_session_one_decided(machine: Machine) -> None:
    play = Play(Host(machine), words)
    host = play.host
    with watched(machine) as watch:
        first_session(play)
        host.start(session_id("two"))
        play.plant("vat")
        play.work(1)
        after = host.compact()
        play.ask("after compaction", "vat", "numbers")
        host.end("other")
        host.start(session_id("three"))
        play.ask("session three", "numbers", "zone", "fonts")
        host.end("other")
        again = host.start(session_id("three"), "resume")
        play.ask("after resume", "vat")
        watch.look()
    assert [one.fact for one in play.asked if not one.told] == []
    assert not any(one.alone for one in play.asked)
    assert [source for source, given in host.openings[1:] if AGREED not in given] == []
    assert "## Said last" in after
    assert "## Said last" not in again
    assert not any("what: continued" in given for _, given in host.openings)
    assert all(kept_prefixes(windows_of([play])))
    assert watch.most == 1
    assert lost(machine) == ({}, {})
    assert machine.program("verify")["sound"]


def test_no_entry_is_given_twice_to_one_window_though_the_resident_dies(machine: Machine) -> None:
    play = Play(Host(machine), words)
    first_session(play)
    play.host.start(session_id("two"))
    until(machine.answers)
    play.ask("next session", "numbers", "fonts", "zone")
    machine.kill_resident()
    machine.lose_index()
    play.work(1)
    until(machine.answers)
    play.ask("again", "zone", "fonts", "numbers")
    (window,) = play.host.windows[session_id("two")]
    given = [piece.text for piece in window.pieces if piece.given]
    entries = [line for text in given for line in text.split("\n") if line.startswith("[")]
    said = [line.partition("] ")[2] for line in entries]
    assert said
    assert len(said) == len(set(said))
    # what the page of the start showed may come again as an entry, nothing else
    page = given[0]
    assert all(line.rpartition(": ")[2] in page for line, again in repeats(window) if again)


def test_hooks_killed_at_any_moment_lose_nothing_that_others_acknowledged(machine: Machine) -> None:
    Path(machine.cache).write_bytes(b"\x00 no JSON")  # and so nobody can start a resident
    host = Host(machine, random.Random(3), killed=0.4)
    host.start(session_id("one"))
    host.turns.append([])
    for _ in range(8):
        host.batch([LIST, LIST, LIST])
    killed = [call for call in machine.calls if not call.finished]
    assert killed
    assert lost(machine) == ({}, {})
    machine.init_again()
    report = machine.program("verify")
    assert report["sound"]
    assert report["report"]["events"] >= sum(call.finished for call in machine.calls)
    assert not machine.answers()


def test_two_agents_at_once_have_one_resident_and_their_own_windows(machine: Machine) -> None:
    hosts = [Host(machine), Host(machine)]
    with watched(machine) as watch:
        for number, host in enumerate(hosts):
            host.start(session_id(f"agent {number}"))
            Play(host, words).plant("money" if number else "retry")
        until(machine.answers)
        for number, host in enumerate(hosts):
            play = Play(host, words)
            play.ask("beside", "retry" if number else "money")
            assert play.asked[0].told
        watch.look()
    assert watch.most == 1
    assert lost(machine) == ({}, {})


def test_a_resident_whose_socket_was_taken_away_is_found_again(machine: Machine) -> None:
    host = Host(machine)
    host.start(session_id("one"))
    until(machine.answers)
    first = machine.answers()
    machine.lose_socket()
    until(machine.answers)
    assert machine.answers() == first
    assert machine.residents() == {first}


def test_what_came_too_late_is_said_at_the_next_tool_whichever_it_is(machine: Machine) -> None:
    session = session_id("one")
    prepared.prepare(machine.folder, (USER, AGENT, session), "remembered too late", Disk())
    host = Host(machine, session=session)
    host.windows[session] = []
    said = {
        "session_id": session,
        "cwd": machine.root,
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "t1",
    }
    assert machine.call(said).context == "remembered too late"
    assert machine.call({**said, "tool_use_id": "t2"}).context == ""
    assert not os.path.exists(prepared.path(machine.folder, (USER, AGENT, session)))
