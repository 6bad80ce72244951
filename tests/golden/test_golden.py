"""Logs written by earlier versions read as they always did: the format is a promise."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from holdfast.engines.files import FileLog
from holdfast.model.events import Event
from tests.contract.entries import entry, events_of, file_log

HERE = Path(__file__).parent
LOGS = sorted(path.stem for path in HERE.glob("*.ndjson"))


def opened(name: str, tmp_path: Path, file: str = "events.ndjson") -> FileLog:
    log = file_log(tmp_path / "log", chained="chained" in name)
    shutil.copy(HERE / f"{name}.ndjson", tmp_path / "log" / file)
    if "chained" in name:
        shutil.copy(HERE / f"{name}.anchors", tmp_path / "log.anchors")
    return log


def test_the_golden_logs_are_there() -> None:
    assert {"v2", "v2-chained"} <= set(LOGS)
    for name in LOGS:
        assert len((HERE / f"{name}.ndjson").read_bytes().splitlines()) == 20


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("file", ["events.ndjson", "events-000000000001.ndjson"])
def test_a_golden_log_reads_to_the_values_it_was_written_with(
    name: str, file: str, tmp_path: Path
) -> None:
    log = opened(name, tmp_path, file)
    expected = json.loads((HERE / f"{name}.json").read_text("utf-8"))
    events = events_of(log)
    told = json.loads(msgspec.json.encode(events))
    # a later version may know more of an event, never less and nothing else
    assert [
        {key: event[key] for key in said} for event, said in zip(told, expected, strict=True)
    ] == (expected)
    assert [event.event_id for event in events if event.erased] == ["golden-none", "golden-gone"]
    for event, said in zip(events, expected, strict=True):  # 1 is not 1.0, nor is it true
        assert json.dumps(event.payload, sort_keys=True) == json.dumps(
            said["payload"], sort_keys=True
        )
    report = log.verify()
    assert (report.sound, report.erased) == (True, 2)
    assert report.chain == ("whole" if "chained" in name else "off")
    assert report.unanchored == 0


@pytest.mark.parametrize("name", LOGS)
def test_a_golden_log_is_gone_on_with_and_its_bytes_stay(name: str, tmp_path: Path) -> None:
    log = opened(name, tmp_path)
    before = (tmp_path / "log" / "events.ndjson").read_bytes()
    added = log.append([entry("today", "own-1"), entry(payload={}, event_id="golden-7")])
    assert [event.event_seq for event in added] == [21, 8]
    assert (tmp_path / "log" / "events.ndjson").read_bytes().startswith(before)
    assert log.verify().sound
    log.close()


@pytest.mark.parametrize("name", LOGS)
def test_todays_writer_writes_the_golden_lines_again(name: str, tmp_path: Path) -> None:
    """Apart from what is random (salt and chain) and what is erased, byte for byte."""
    written = (HERE / f"{name}.ndjson").read_bytes().splitlines()
    log = file_log(tmp_path / "again", chained="chained" in name)
    for raw in written:
        event = msgspec.json.decode(raw, type=Event)
        given = entry(event_id=event.event_id, **{n: getattr(event, n) for n in FIELDS})
        log.append([given])
    again = (tmp_path / "again" / "events.ndjson").read_bytes().splitlines()
    for old, new in zip(written, again, strict=True):
        if b',"erased":true,"payload":' in old:
            continue  # what an erase leaves is written by an erase only
        same = _without_chain if "chained" in name else bytes
        assert same(old) == same(new)
    log.close()


FIELDS = (
    "session_id",
    "agent",
    "user",
    "type",
    "timestamp",
    "origin",
    "trust",
    "sources",
    "payload",
)


def _without_chain(raw: bytes) -> bytes:
    start, _, rest = raw.partition(b',"salt":')
    if not rest:
        start, _, rest = raw.partition(b',"pd":')
    return start + rest[rest.index(b',"payload":') :].rpartition(b',"crc":')[0]
