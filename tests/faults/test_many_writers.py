"""Processes, forks and threads on one log: nothing lost, doubled, spliced or out of order."""

from __future__ import annotations

import threading
from pathlib import Path

from holdfast.engines.files import FileLog
from holdfast.model.events import Event
from tests.faults.logs import check_log, entry
from tests.faults.start import assert_clean, start


def test_eight_writers_of_two_thousand_each_while_others_read(place: Path) -> None:
    found = start(
        "crowd",
        what="together",
        folder=str(place / "log"),
        writers=8,
        count=2000,
        readers=2,
        seed=7,
    )
    assert found["acked"] == 16_000
    assert_clean(found)


def test_four_writers_on_a_real_disk(tmp_path: Path) -> None:
    folder = str(tmp_path / "log")
    found = start("crowd", what="together", folder=folder, writers=4, count=600, readers=1, seed=9)
    assert found["acked"] == 2400
    assert_clean(found)


def test_a_fork_while_the_log_is_open_shares_nothing_with_its_parent(tmp_path: Path) -> None:
    found = start("forks", folder=str(tmp_path))
    check_log(str(tmp_path), found["acked"])


def test_a_lock_whose_holder_was_killed_blocks_nobody(tmp_path: Path) -> None:
    found = start("forks", folder=str(tmp_path), what="killed holder")
    check_log(str(tmp_path), found["acked"])


def test_threads_of_one_process_share_one_log(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    names = [[f"t{n}-{m}" for m in range(40)] for n in range(8)]

    def work(mine: list[str]) -> None:
        for number, name in enumerate(mine):
            log.append([entry(name)], durable=number % 3 != 0)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    order = [event.event_id for event in log.read() if isinstance(event, Event)]
    log.close()
    check_log(str(tmp_path), [name for mine in names for name in mine])
    for mine in names:
        assert [name for name in order if name in set(mine)] == mine
