"""Starting anew beside a process that still has the project open."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import holdfast
from holdfast.app.reset import reset
from holdfast.errors import Unavailable


def test_nobody_writes_into_another_log_after_a_reset(tmp_path: Path) -> None:
    acknowledged: list[str] = []

    def record(hf: holdfast.Holdfast, times: int) -> None:
        session = hf.session(agent="a", session_id=f"s{id(hf)}")
        acknowledged.extend(session.user(str(n)).event_id for n in range(times))

    old = holdfast.open(project="p")
    record(old, 5)
    before = set(acknowledged)
    aside = reset(project="p", force=True)
    new = holdfast.open(project="p")
    threads = [threading.Thread(target=record, args=(hf, 100)) for hf in (old, new)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    present = [event.event_id for event in new.events()]
    assert set(present) == set(acknowledged) - before
    assert len(present) == len(set(present))
    assert new.verify().sound
    assert b'"text":"4"' in Path(aside, "events.ndjson").read_bytes()
    old.close()
    new.close()


def test_a_project_removed_under_an_open_one_is_unavailable_and_not_a_crash(tmp_path: Path) -> None:
    hf = holdfast.open(project="p")
    session = hf.session(agent="a", session_id="s")
    session.user("there")
    shutil.rmtree(Path(hf.folder).parent)
    for _ in range(2):
        with pytest.raises(Unavailable):
            session.user("gone")


def test_a_number_changed_in_meta_json_drops_and_hides_nothing(tmp_path: Path) -> None:
    with holdfast.open(project="p") as hf:
        session = hf.session(agent="a", session_id="s")
        for n in range(4):
            session.user(str(n))
            hf.log.seal()
        meta = Path(hf.folder) / "meta.json"
        meta.write_text(json.dumps({**json.loads(meta.read_bytes()), "retained_through": 10**6}))
    with holdfast.open(project="p") as hf:
        hf.session(agent="a", session_id="s").user("on")
        assert [e.text for e in hf.events()] == ["0", "1", "2", "3", "on"]
        assert not hf.verify().sound


def test_an_exit_without_close_syncs_what_was_promised_within_the_window(tmp_path: Path) -> None:
    script = """
import atexit, sys
from holdfast.capture.disk import Disk
from holdfast.engines.files import FileLog
from holdfast.model.settings import LogSettings
from tests.contract.entries import entry

class Counting(Disk):
    synced = 0
    def fdatasync(self, fd):
        Counting.synced += 1
        super().fdatasync(fd)

atexit.register(lambda: print(Counting.synced - before))
log = FileLog(sys.argv[1], LogSettings(window_ms=60_000), disk=Counting())
log.append([entry("first")])
log.append([entry("second")], durable=False)
before = Counting.synced
"""
    ran = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "log")],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert ran.stdout.split() == ["1"], ran.stderr


def test_a_short_stream_stands_in_the_line_like_any_text(tmp_path: Path) -> None:
    import io

    with holdfast.open(project="p") as hf, hf.session(agent="a") as s:
        for data in (b"", b"hi there", "größer".encode()):
            assert s.tool_result("Bash", io.BytesIO(data)).payload == {
                "tool": "Bash",
                "text": data.decode(),
            }
        assert s.tool_result("Bash", io.StringIO("text")).text == "text"
