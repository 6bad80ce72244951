"""The process behind the hooks: one for each project, polite to all, gone when it is not needed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import holdfast
from holdfast.app import doctor, residents
from holdfast.capture import place, prepared, resident
from holdfast.capture.disk import Disk
from holdfast.capture.origin import person
from holdfast.doors.hooks import ask
from tests.doors.residents import LONG, Project, project, until

WHO = {"session": "s1", "agent": "claude-code", "user": "ana"}
WHOM = ("ana", "claude-code", "s1")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    with project(tmp_path) as one:
        yield one


def remembered(made: Project, *texts: str) -> None:
    with holdfast.open(made.home, path=made.root, user="ana") as hf:
        for text in texts:
            hf.remember(text)


def test_many_are_started_and_one_stays(made: Project) -> None:
    started = [made.start() for _ in range(6)]
    pid = made.answers()["pid"]
    others = [child for child in started if child.pid != pid]
    assert [child.wait(LONG) for child in others] == [0] * 5
    assert made.ask(do="status")["pid"] == pid


def test_its_socket_is_its_owners_alone(made: Project) -> None:
    made.start()
    made.answers()
    mode = os.stat(os.path.join(made.folder, "resident.sock")).st_mode
    assert not stat.S_IMODE(mode) & 0o177
    assert stat.S_IMODE(os.stat(made.folder).st_mode) == 0o700


def test_it_answers_with_what_is_new_and_what_was_just_recorded(made: Project) -> None:
    made.start()
    made.answers()
    remembered(made, "refunds lock the invoice row first")
    wanted = {"do": "inject", "at": "prompt", "text": "how do refunds work?", **WHO}
    assert "lock the invoice row" in made.ask(**wanted)["text"]
    assert made.ask(**wanted)["text"] == ""


def test_a_killed_one_leaves_no_lock_and_the_next_takes_its_place(made: Project) -> None:
    first = made.start()
    made.answers()
    first.send_signal(signal.SIGKILL)
    first.wait(LONG)
    left = residents.look(made.folder)
    assert (left.alive, left.left_over) == (False, True)
    second = made.start()
    assert made.answers()["pid"] == second.pid


def test_it_goes_when_asked_to_and_takes_its_socket_along(made: Project) -> None:
    child = made.start()
    made.answers()
    assert residents.stop(made.folder)
    assert child.wait(LONG) == 0
    assert residents.look(made.folder) == residents.Resident(
        folder=made.folder, alive=False, listens=False
    )


def test_it_goes_when_nobody_asks_any_more(made: Project, tmp_path: Path) -> None:
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[hooks]\nidle_minutes = 0.01\n", "utf-8")
    assert made.start().wait(LONG) == 0


def test_it_goes_when_its_project_was_set_aside(made: Project) -> None:
    child = made.start()
    made.answers()
    os.rename(made.folder, made.folder + "-aside")
    assert child.wait(LONG) == 0
    os.rename(made.folder + "-aside", made.folder)


HOSTILE = [
    b"\n",
    b"not json\n",
    b"[]\n",
    b"{}\n",
    b'{"do": "rm -rf"}\n',
    b'{"do": "inject"}\n',
    b'{"do": "inject", "at": "prompt", "session": 7, "agent": "a", "user": "u"}\n',
    b'{"do": "inject", "at": "prompt", "session": "*", "agent": "a", "user": "u", "text": "x"}\n',
    b'{"do": "tools"}\n',
    b'{"do": "tools", "how": {}, "operation": "x", "asked": {}}\n',
    b'{"do": "tools", "how": {"agent": 3}, "operation": "tools/call", "asked": []}\n',
    b"[" * 100_000 + b"\n",
    b"\xff\xfe\n",
]


def test_whatever_it_is_asked_it_lives_on(made: Project) -> None:
    child = made.start()
    made.answers()
    for asked in HOSTILE:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(LONG)
            _connect(line, made.folder)
            line.sendall(asked)
            said = line.recv(1 << 16)
            assert not said or "error" in json.loads(said), asked
    with socket.socket(socket.AF_UNIX) as line:  # one that says nothing, and one that says half
        _connect(line, made.folder)
        line.sendall(b'{"do": "sta')
        assert made.ask(do="status")["pid"] == child.pid


def _connect(line: socket.socket, folder: str) -> None:
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        line.connect(f"/proc/self/fd/{held}/resident.sock")
    finally:
        os.close(held)


def test_an_answer_nobody_took_waits_for_the_next_hook_of_that_session(made: Project) -> None:
    made.start()
    made.answers()
    remembered(made, "refunds lock the invoice row first")
    wanted = {"do": "inject", "at": "prompt", "text": "how do refunds work?", **WHO}
    with socket.socket(socket.AF_UNIX) as line:
        _connect(line, made.folder)
        line.sendall(json.dumps(wanted).encode() + b"\n")
    until(lambda: prepared.prepared(made.folder, WHOM, Disk()))
    assert made.ask(**wanted)["text"] == ""
    assert "lock the invoice row" in prepared.take(made.folder, WHOM, Disk())


def _waits(made: Project, text: str) -> bool:
    return text in prepared.prepared(made.folder, WHOM, Disk())


def test_answers_nobody_took_wait_one_behind_the_other(made: Project) -> None:
    made.start()
    made.answers()
    for subject in ("refunds lock the invoice row", "carts expire after an hour"):
        remembered(made, subject)
        wanted = {"do": "inject", "at": "prompt", "text": subject, **WHO}
        with socket.socket(socket.AF_UNIX) as line:
            _connect(line, made.folder)
            line.sendall(json.dumps(wanted).encode() + b"\n")
        until(partial(_waits, made, subject))
    waiting = prepared.prepared(made.folder, WHOM, Disk())
    assert waiting.index("lock the invoice row") < waiting.index("expire after an hour")


def test_an_answer_has_no_more_room_than_it_is_given_and_the_rest_comes_later(
    made: Project,
) -> None:
    made.start()
    made.answers()
    for n in range(6):
        remembered(made, f"service {n} answers refunds on port {8_000 + n}")
    wanted = {"do": "inject", "at": "prompt", "text": "which service answers refunds?", **WHO}
    now = made.ask(**wanted, room=250)["text"]
    later = prepared.take(made.folder, WHOM, Disk())
    assert 0 < len(now) <= 250
    said = [line for line in (now + later).split("\n") if line.startswith("[")]
    assert len(said) == len(set(said)) >= 4


def test_once_it_is_quiet_it_lays_a_page_ready_for_the_next_session(made: Project) -> None:
    made.start()
    made.answers()
    with holdfast.open(made.home, path=made.root) as hf:
        user = hf.user
        with hf.session(agent="claude-code", session_id="s0") as s:
            s.user("Amounts are cents.")
            s.decision("amounts are integers in cents")
    page = until(lambda: prepared.prepared(made.folder, (user, "claude-code"), Disk()))
    assert page.startswith("Continuing from checkpoint")
    assert "integers in cents" in page
    own = until(lambda: prepared.prepared(made.folder, (user, "claude-code", "s0", "page"), Disk()))
    assert "integers in cents" in own


def test_who_goes_on_without_a_resident_is_told_its_own_page_and_nobody_elses(
    made: Project,
) -> None:
    for whose, text in (("s0", "rename the cart module"), ("s1", "drop the invoices table")):
        whom = (person(), "claude-code", whose, "page")
        prepared.prepare(made.folder, whom, f"Continuing: {text}", Disk())
    prepared.prepare(made.folder, (person(), "claude-code"), "Continuing: the latest", Disk())
    there = place.Place(str(made.home), {}, str(made.root), made.folder, [], claimed=True)
    told = {}
    for source in ("compact", "resume", "startup", "clear"):
        wanted = {"at": "start", "source": source, "do": "inject", "user": person()}
        told[source] = ask.words(there, {**wanted, "agent": "claude-code", "session": "s0"}, 1.0)
    assert told["compact"] == told["resume"] == "Continuing: rename the cart module"
    assert told["startup"] == told["clear"] == "Continuing: the latest"


def test_it_goes_when_another_project_lies_in_its_root(made: Project) -> None:
    child = made.start()
    made.answers()
    marker = made.root / place.MARKER
    marker.write_text(marker.read_text() + "\n# another\n")
    assert child.wait(LONG) == 0


@pytest.mark.parametrize("limit", ["memory_mb = 1", "deadline_ms = 400"])
def test_one_that_has_grown_too_large_goes(made: Project, tmp_path: Path, limit: str) -> None:
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"[hooks]\n{limit}\n", "utf-8")
    child = made.start()
    if limit.startswith("memory"):
        assert child.wait(LONG) == 0
    else:  # the same without that limit stays
        made.answers()
        assert child.poll() is None


def test_one_whose_code_was_replaced_goes(made: Project, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "holdfast"
    shutil.copytree(Path(holdfast.__file__).parent, copy)
    words = [sys.executable, "-m", "holdfast.doors.resident", str(made.home), str(made.root)]
    child = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(copy.parent)})
    made.children.append(child)
    made.answers()
    os.utime(copy / "__init__.py")
    assert child.wait(LONG) == 0


def test_no_more_ask_at_once_than_there_is_room_for(made: Project, tmp_path: Path) -> None:
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[hooks]\nclients = 1\n", "utf-8")
    made.start()
    made.answers()
    with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
        _connect(first, made.folder)  # says nothing, and so takes the one place there is
        _connect(second, made.folder)
        second.settimeout(LONG)
        assert second.recv(1) == b""


def test_many_ask_at_the_same_time_and_each_gets_an_answer_or_none(made: Project) -> None:
    made.start()
    made.answers()
    remembered(made, *(f"deploy {n} goes through queue {n}" for n in range(20)))
    said: list[object] = []

    def asks(n: int) -> None:
        try:
            wanted = {"do": "inject", "at": "prompt", "text": f"deploy {n}", **WHO}
            said.append(made.ask(**{**wanted, "session": f"s{n}"})["text"])
        except (OSError, ValueError) as exc:
            said.append(exc)

    threads = [threading.Thread(target=asks, args=(n,)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 24
    assert any(isinstance(one, str) and one for one in said)
    assert made.ask(do="status")["answered"] > 0


def test_the_doctor_sees_one_that_hangs_and_ends_it(made: Project) -> None:
    child = made.start()
    made.answers()
    child.send_signal(signal.SIGSTOP)
    found = {one.check: one for one in doctor.examine(str(made.home), path=str(made.root))}
    assert not found["resident"].good
    assert str(child.pid) in found["resident"].found
    done = doctor.clean(str(made.home), path=str(made.root))
    assert any("did not answer" in one for one in done)
    child.wait(LONG)
    assert not residents.look(made.folder).listens
    findings = doctor.examine(str(made.home), path=str(made.root))
    assert "resident" not in {one.check for one in findings}


def test_a_project_is_asked_by_a_short_name_however_deep_it_lies(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    with project(deep) as made:
        made.start()
        made.answers()
        assert len(os.path.join(made.folder, "resident.sock")) > 107
        said = resident.ask(made.folder, {"do": "status"}, residents.in_seconds(LONG))
        assert said["project"] == made.id
