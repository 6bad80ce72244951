"""The spool: an event that could not be appended waits as a file, and is appended once."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.capture.disk import Disk
from holdfast.capture.line import canonical, middle
from holdfast.capture.spool import spool, spooled, unspool
from holdfast.capture.stamp import fresh_id
from tests.contract.entries import WHEN, entry, events_of, file_log, folder_for, split, texts


def put_by(folder: str, text: str, event_id: str | None = None) -> str:
    name = event_id or fresh_id("evt")
    fields = middle((name, "ses_1", "coder", "ana", "user_message@1", WHEN, "user", 3, ()))
    return spool(Disk(), folder, name, fields, canonical({"text": text}))


def test_what_is_put_by_comes_back_as_it_was(tmp_path: Path) -> None:
    fields = middle(("evt_1", None, 'a,"payload":{}', "ü", "x@1", WHEN, "user", 3, ("s",)))
    payload = canonical({"text": ',"payload":{"a":"\n"}', "crc": "00000000"})
    path = spool(Disk(), str(tmp_path), "evt_1", fields, payload)
    assert unspool(Path(path).read_bytes()) == (fields, payload)
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_files_wait_in_order_of_making(tmp_path: Path) -> None:
    assert spooled(Disk(), str(tmp_path)) == []
    paths = [put_by(str(tmp_path), str(n)) for n in range(5)]
    (tmp_path / "spool" / ".half.ndjson.1.tmp").write_bytes(b"{")
    assert spooled(Disk(), str(tmp_path)) == paths


def test_any_damage_to_a_waiting_file_is_noticed(tmp_path: Path) -> None:
    data = Path(put_by(str(tmp_path), "words")).read_bytes()
    for at in range(len(data) - 1):
        for bit in (0, 3, 6):
            bad = bytearray(data)
            bad[at] ^= 1 << bit
            assert unspool(bytes(bad)) is None
        assert unspool(data[:at]) is None
    assert unspool(b"") is None


def test_the_next_writer_drains_the_spool_in_order_before_its_own(tmp_path: Path) -> None:
    folder = folder_for(tmp_path / "log")
    for n in range(3):
        put_by(folder, f"waited {n}")
    log = file_log(tmp_path / "log")
    log.append([entry("mine")])
    assert texts(events_of(log)) == ["waited 0", "waited 1", "waited 2", "mine"]
    assert spooled(Disk(), folder) == []
    assert log.verify().sound
    log.close()


def test_an_event_that_is_in_the_log_already_is_not_appended_again(tmp_path: Path) -> None:
    log = file_log(tmp_path / "log")
    log.append([entry("once", "own-1")])
    put_by(log.folder, "once", "own-1")
    put_by(log.folder, "twice", "own-2")
    log.append([entry("after")])
    put_by(log.folder, "twice", "own-2")
    log.seal()
    assert texts(events_of(log)) == ["once", "twice", "after"]
    log.close()


def test_a_torn_waiting_file_is_quarantined_and_said(tmp_path: Path) -> None:
    log = file_log(tmp_path / "log")
    path = Path(put_by(log.folder, "torn"))
    torn = path.read_bytes()[:50]
    path.write_bytes(torn)
    put_by(log.folder, "whole")
    log.append([entry("after")])
    events, damage = split(log)
    assert sorted(texts(events)) == ["", "after", "whole"]
    assert damage == []
    (said,) = [event for event in events if event.kind == "damage_found"]
    assert said.payload["reason"] == "torn_spool"
    assert (tmp_path / "log" / "quarantine" / said.payload["quarantine"]).read_bytes() == torn
    assert spooled(Disk(), log.folder) == []
    log.close()


def test_waiting_events_are_counted_by_verify(tmp_path: Path) -> None:
    log = file_log(tmp_path / "log")
    log.append([entry("one")])
    put_by(log.folder, "waits")
    assert log.verify().spooled == 1
    log.close()


class LateComer(Disk):
    """Another process puts an event by just after the spool was listed."""

    came = False

    def listdir(self, path: str) -> list[str]:  # type: ignore[override]
        names = os.listdir(path)
        if path.endswith("spool") and names and not self.came:
            self.came = True
            put_by(os.path.dirname(path), "late")
        return names


def test_an_event_put_by_while_the_spool_is_drained_is_drained_next(tmp_path: Path) -> None:
    log = file_log(tmp_path / "log", disk=LateComer())
    put_by(log.folder, "early")
    log.append([entry("mine")])
    log.append([entry("mine again")])
    assert "late" in texts(events_of(log))
    log.close()


def test_an_event_put_by_into_a_chained_log_is_chained_when_it_is_drained(tmp_path: Path) -> None:
    log = file_log(tmp_path / "log", chained=True)
    log.append([entry("one")])
    put_by(log.folder, "waited")
    log.append([entry("two")])
    assert texts(events_of(log)) == ["one", "waited", "two"]
    assert log.verify().chain == "whole"
    log.close()
