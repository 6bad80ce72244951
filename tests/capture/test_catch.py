"""What a hook calls: append, or spool and be gone."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.capture.catch import Catcher
from holdfast.capture.chain import Chain
from holdfast.capture.disk import Disk
from holdfast.capture.lock import Lock
from holdfast.capture.redact import Redactor
from holdfast.capture.shape import Shaper
from holdfast.engines.clock import SystemClock, UlidIds
from holdfast.engines.files import FileLog
from holdfast.model.events import Damage, Draft, Event
from holdfast.record.recorder import Recorder

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


ODD = [
    {"kind": "user_turn"},
    {"kind": 'x","trust":3'},
    {"kind": None},
    {"who": ("s\ud800", "a\nb\x1b[31m", "u" * 1000)},
    {"who": (None, "", 7)},
    {"origin": "root"},
    {"payload": ["a", "list"]},
    {"payload": {"text": "x\ud800", "n": float("nan"), 3: 4}},
    {"payload": {"password": "Tr0ub4dor&3xyz", "args": ["--token", "9f8e7d6c5b4a39281706f5e4"]}},
]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_whatever_a_host_says_is_caught_and_what_was_odd_is_noted(tmp_path: Path, odd: Any) -> None:
    given = {"kind": "user_message", "payload": {"text": "x"}, "who": WHO, "origin": "user", **odd}
    catcher = Catcher(str(tmp_path), KEY)
    kind, payload = given["kind"], given["payload"]
    assert catcher.catch(kind, payload, who=given["who"], origin=given["origin"])
    caught = events(tmp_path)[0]
    assert caught.trust <= 3
    assert b"Tr0ub4dor" not in (tmp_path / "events.ndjson").read_bytes()
    assert b"9f8e7d6c5b4a" not in (tmp_path / "events.ndjson").read_bytes()
    if "kind" in odd and odd["kind"] == "user_turn":
        assert caught.type == "user_message@1"
    elif "payload" not in odd:
        assert caught.payload["_as_given"]


@pytest.mark.parametrize("payload", [{"text": "é\u2028\0"}, {"a": {"b": [1, 2.5, None]}}, {}])
def test_the_engine_writes_the_very_bytes_the_catcher_wrote(tmp_path: Path, payload: Any) -> None:
    Catcher(str(tmp_path / "a"), KEY, disk=made(tmp_path / "a")).catch(
        "tool_event", payload, who=WHO, origin="tool"
    )
    written = (tmp_path / "a" / "events.ndjson").read_bytes()
    caught = events(tmp_path / "a")[0]
    log, redactor = FileLog(str(tmp_path / "b")), Redactor(KEY)
    recorder = Recorder(
        log,
        redactor=redactor,
        shaper=Shaper(redactor, log.blobs.keep),
        clock=SystemClock(),
        ids=UlidIds(),
    )
    draft = Draft(
        type="tool_event",
        payload=payload,
        origin="tool",
        session_id=WHO[0],
        agent=WHO[1],
        user=WHO[2],
        at=caught.timestamp,
        event_id=caught.event_id,
    )
    recorder.record([draft])
    log.close()
    assert (tmp_path / "b" / "events.ndjson").read_bytes() == written


def made(folder: Path) -> Disk:
    folder.mkdir()
    return Disk()


def test_a_chained_log_is_never_written_without_its_key_and_anchored_at_a_session_end(
    tmp_path: Path,
) -> None:
    chain = Chain(KEY, str(tmp_path / "anchors"), Disk())
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / "meta.json").write_text(
        '{"schema_version":2,"generation":1,"integrity_mode":"chained"}'
    )
    without = Catcher(str(folder), KEY)
    assert not without.catch("user_message", {"text": "spooled"}, who=WHO, origin="user")
    with_key = Catcher(str(folder), KEY, chain=chain)
    assert with_key.catch("session_ended", {}, who=WHO, origin="system")
    assert list(chain.anchors()) == [1]
    log = FileLog(str(folder), chain=chain)
    log.seal()
    said = log.verify()
    log.close()
    assert (said.sound, said.chain, said.events) == (True, "whole", 2)
