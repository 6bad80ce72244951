"""What a hook calls: append, or spool and be gone."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from holdfast.capture.catch import Catcher
from holdfast.capture.disk import Disk
from holdfast.capture.lock import Lock
from holdfast.engines.files import FileLog
from holdfast.model.events import Damage, Event

KEY = b"k" * 32
WHO = ("ses_1", "coder", "ana")


class FullDisk(Disk):
    """No append succeeds; small files elsewhere still do, as with a log on a full volume."""

    def __init__(self, path: str) -> None:
        self._path = path

    def write_all(self, fd: int, data: bytes) -> None:
        if os.readlink(f"/proc/self/fd/{fd}") == self._path:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write_all(fd, data)


def events(folder: Path) -> list[Event]:
    log = FileLog(str(folder))
    found = list(log.read())
    log.close()
    assert not any(isinstance(piece, Damage) for piece in found)
    return [piece for piece in found if isinstance(piece, Event)]


def test_an_event_is_in_the_log_when_catch_returns(tmp_path: Path) -> None:
    assert Catcher(str(tmp_path), KEY).catch("user_message", {"text": "hi"}, who=WHO, origin="user")
    caught = events(tmp_path)[0]
    assert (caught.type, caught.trust, caught.text) == ("user_message@1", 3, "hi")
    assert (caught.session_id, caught.agent, caught.user) == WHO


def test_a_held_lock_sends_the_event_to_the_spool_and_the_next_writer_drains_it(
    tmp_path: Path,
) -> None:
    catcher = Catcher(str(tmp_path), KEY)
    catcher.catch("user_message", {"text": "first"}, who=WHO, origin="user")
    lock = Lock(str(tmp_path / "lock"), Disk())
    lock.acquire(1)
    for text in ("second", "third"):
        assert not catcher.catch("user_message", {"text": text}, who=WHO, origin="user", timeout=0)
    lock.close()
    assert len(list((tmp_path / "spool").iterdir())) == 2
    log = FileLog(str(tmp_path))
    log.seal()
    log.close()
    assert [e.text for e in events(tmp_path)] == ["first", "second", "third"]
    assert [e.event_seq for e in events(tmp_path)] == [1, 2, 3]
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_full_disk_sends_the_event_to_the_spool(tmp_path: Path) -> None:
    catcher = Catcher(str(tmp_path), KEY)
    catcher.catch("user_message", {"text": "first"}, who=WHO, origin="user")
    full = Catcher(str(tmp_path), KEY, disk=FullDisk(str(tmp_path / "events.ndjson")))
    assert not full.catch("user_message", {"text": "second"}, who=WHO, origin="user")
    assert [e.text for e in events(tmp_path)] == ["first"]
    assert catcher.catch("user_message", {"text": "third"}, who=WHO, origin="user")
    log = FileLog(str(tmp_path))
    log.seal()
    log.close()
    assert [e.text for e in events(tmp_path)] == ["first", "third", "second"]


def test_secrets_and_denied_files_never_reach_the_disk_through_a_hook(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    catcher = Catcher(str(tmp_path), KEY)
    catcher.catch("user_message", {"text": secret}, who=("s", secret, "u"), origin="user")
    payload: dict[str, object] = {
        "tool_input": {"file_path": ".env"},
        "tool_response": "PLAIN=words",
    }
    catcher.catch("tool_result", payload, who=WHO, origin="tool")
    everything = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert secret.encode() not in everything
    assert b"PLAIN=words" not in everything
