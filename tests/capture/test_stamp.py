"""Ids that sort by time and never meet; times as they are written."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from holdfast.capture.stamp import fresh_id, timestamp
from holdfast.record.limits import event_id, moment


def test_an_id_is_its_kind_and_a_ulid() -> None:
    made = fresh_id("evt")
    assert made.startswith("evt_")
    assert len(made) == 4 + 26
    assert set(made[4:]) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    assert event_id(made) == made


def test_ids_of_one_process_sort_in_order_of_making() -> None:
    made = [fresh_id("evt") for _ in range(20_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_sort_by_time() -> None:
    made = [fresh_id("evt", at) for at in (0, 1, 1_000, 1_700_000_000_000, (1 << 48) - 1)]
    assert made == sorted(made)
    assert made[0].startswith("evt_0000000000")


def test_threads_never_make_the_same_id() -> None:
    made: list[str] = []

    def make() -> None:
        made.extend([fresh_id("evt") for _ in range(5_000)])

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert len(set(made)) == 40_000


_FORKED = """
import os, sys
from holdfast.capture import stamp
# the clock was set back since the last id: from here on ids count up from it
stamp._last[0] += 4_000_000_000_000
stamp.fresh_id("evt")
ends = []
for _ in range(4):
    r, w = os.pipe()
    if os.fork() == 0:
        os.close(r)
        with open(w, "w") as out:
            out.write("\\n".join(stamp.fresh_id("evt") for _ in range(40_000)))
        os._exit(0)
    os.close(w)
    ends.append(r)
made = [line for r in ends for line in open(r).read().split()]
print(len(made), len(set(made)))
"""


def test_forked_processes_never_make_the_same_id_even_with_a_clock_set_back() -> None:
    done = subprocess.run([sys.executable, "-c", _FORKED], capture_output=True, text=True)
    assert done.stdout.split() == ["160000", "160000"], done


def test_a_time_is_written_in_utc_to_the_millisecond() -> None:
    assert timestamp(0) == "1970-01-01T00:00:00.000Z"
    assert timestamp(1_769_851_800_007) == "2026-01-31T09:30:00.007Z"
    assert timestamp(-1) == "1969-12-31T23:59:59.999Z"
    assert len(timestamp()) == 24


def test_now_is_now() -> None:
    before = time.time_ns() // 1_000_000
    assert timestamp(before) <= timestamp() <= timestamp(time.time_ns() // 1_000_000)


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_a_written_time_reads_as_itself(milliseconds: int) -> None:
    assert moment(timestamp(milliseconds)) == timestamp(milliseconds)


def test_a_broken_clock_is_no_reason_to_fail() -> None:
    assert timestamp(10**18) == "9999-12-31T23:59:59.999Z"
    assert timestamp(-(10**18)) == "0001-01-01T00:00:00.000Z"
