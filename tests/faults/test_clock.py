"""A clock that jumps: order is event_seq, so neither ten years back nor forward changes anything."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from holdfast.capture import stamp
from holdfast.capture.spool import spool
from holdfast.engines.files import FileLog
from holdfast.engines.files.log import _fields
from holdfast.model.events import Event
from tests.faults.disks import HookedDisk
from tests.faults.logs import baseline, check_log, entry

NOW = 1_780_000_000_000
TEN_YEARS = 10 * 365 * 86_400_000
JUMPS = [0, 1, -TEN_YEARS, 5, TEN_YEARS, -TEN_YEARS, 0, 2 * TEN_YEARS, -NOW + 1]


def test_order_is_the_order_of_writing_whatever_the_clock_says(tmp_path: Path) -> None:
    names = []
    for number, jump in enumerate(JUMPS):
        log = FileLog(str(tmp_path), disk=HookedDisk())  # a process after each jump
        name = stamp.fresh_id("evt", NOW + jump)
        one = msgspec.structs.replace(entry(name), timestamp=stamp.timestamp(NOW + jump))
        written = log.append([one])
        assert written[0].event_seq == number + 1
        assert log.append([one]) == written  # a retry finds it
        log.close()
        names.append(name)
    there = [event for event in FileLog(str(tmp_path)).read() if isinstance(event, Event)]
    assert [event.event_id for event in there] == names
    assert there[2].timestamp < there[0].timestamp < there[4].timestamp
    check_log(str(tmp_path), names)


def test_reading_from_a_position_misses_nothing_when_times_go_backwards(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path), disk=HookedDisk())
    for n in range(30):
        when = stamp.timestamp(NOW - n * TEN_YEARS // 40)
        log.append([msgspec.structs.replace(entry(f"e{n}"), timestamp=when)])
        if n % 7 == 6:
            log.seal()
    for after in range(31):
        assert [e.event_seq for e in log.read(after) if isinstance(e, Event)] == [
            *range(after + 1, 31)
        ]
    log.close()


def test_ids_made_while_the_clock_runs_backwards_still_differ_and_sort_by_making(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter([NOW, NOW + TEN_YEARS, NOW - TEN_YEARS, NOW, NOW + 1] * 20)
    monkeypatch.setattr(stamp, "_last", [0, 0])
    monkeypatch.setattr(time, "time_ns", lambda: next(times) * 1_000_000)
    made = [stamp.fresh_id("evt") for _ in range(100)]
    assert made == sorted(made)
    assert len(set(made)) == 100


def test_the_spool_is_drained_once_and_whole_whatever_the_clock_says(tmp_path: Path) -> None:
    names = [stamp.fresh_id("evt", NOW + jump) for jump in JUMPS]
    for name in names:
        one = entry(name)
        spool(HookedDisk(), str(tmp_path), name, _fields(one), one.payload)
    log = FileLog(str(tmp_path), disk=HookedDisk())
    log.append([entry("e1")])
    log.close()
    check_log(str(tmp_path), [*names, "e1"])


def test_retention_goes_by_position_and_a_jump_of_ten_years_drops_nothing(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path), disk=HookedDisk())
    for n in range(4):
        old = stamp.timestamp(NOW - TEN_YEARS)
        log.append([msgspec.structs.replace(entry(f"p{n}"), timestamp=old)])
        log.seal()
    assert log.retain(baseline("k1"), through=0) == 0
    log.close()
    check_log(str(tmp_path), [*(f"p{n}" for n in range(4)), "k1"])
