"""Faults that only hurt together with something else: each a story of two or three steps."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.capture.chain import Chain
from holdfast.capture.spool import spool
from holdfast.engines.files import FileLog
from holdfast.engines.files.log import _fields
from holdfast.errors import HoldfastError, Unavailable
from holdfast.model.events import Event
from holdfast.model.settings import LogSettings
from tests.faults.disks import Crash, FailingDisk, Fault, HookedDisk
from tests.faults.logs import baseline, check_log, entry, subject, text_of
from tests.faults.operations import everything
from tests.faults.plug import Platter, PlugDisk

SYNC = frozenset({"fdatasync"})


def log_whose_first_sync_of_a_segment_failed(folder: str) -> FileLog:
    """p1 and p2 sealed; then a segment given up before anything in it counted; then p3 and p4."""
    disk = FailingDisk()
    log = FileLog(folder, disk=disk)
    log.append([entry("p1"), entry("p2")])
    log.seal()
    disk.arm(Fault("EIO", 1, methods=SYNC))
    with pytest.raises(Unavailable):
        log.append([entry("p3")])
    disk.arm(None)
    log.append([entry("p3")])
    log.append([entry("p4")])
    return log


def test_erasing_after_a_segment_that_failed_empty_takes_only_what_it_should(
    tmp_path: Path,
) -> None:
    log = log_whose_first_sync_of_a_segment_failed(str(tmp_path))
    log.erase(["p1"], subject=subject("x1", ["p1"]))
    log.close()
    check_log(str(tmp_path), ["p1", "p2", "p3", "p4", "x1"], erased=["p1"])


def test_retaining_after_a_segment_that_failed_empty_leaves_no_hole(tmp_path: Path) -> None:
    log = log_whose_first_sync_of_a_segment_failed(str(tmp_path))
    log.retain(baseline("k1"), through=2)
    log.close()
    check_log(str(tmp_path), ["p3", "p4", "k1"], dropped=["p1", "p2"])


def test_an_event_seen_and_then_taken_back_does_not_hide_the_one_in_its_place(
    tmp_path: Path,
) -> None:
    other = FileLog(str(tmp_path), disk=HookedDisk())

    class Peeking(FailingDisk):
        """Before the sync fails, another process looks."""

        def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
            if name == "fdatasync" and self.fault:
                assert other.find("never acknowledged")
            return super().on_call(name, real, args)

    disk = Peeking()
    log = FileLog(str(tmp_path), disk=disk)
    log.append([entry("p1")])
    disk.arm(Fault("EIO", 1, methods=SYNC))
    with pytest.raises(Unavailable):
        log.append([entry("never acknowledged")])
    disk.arm(None)
    log.append([entry("p2")])
    other.append([entry("p2")])  # a retry that arrives through the other process
    log.close()
    other.close()
    check_log(str(tmp_path), ["p1", "p2"])


def test_an_event_spooled_while_the_spool_is_emptied_is_not_forgotten(tmp_path: Path) -> None:
    late = entry("w2")

    class Busy(HookedDisk):
        """Somebody spools right after the spool was listed."""

        def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
            result = real(*args)
            if name == "listdir" and str(args[0]).endswith("spool") and "w1.ndjson" in result:
                spool(HookedDisk(), str(tmp_path), "w2", _fields(late), late.payload)
            return result

    early = entry("w1")
    spool(HookedDisk(), str(tmp_path), "w1", _fields(early), early.payload)
    log = FileLog(str(tmp_path), disk=Busy())
    log.append([entry("e1")])
    log.append([entry("e2")])
    there = {event.event_id for event in log.read() if isinstance(event, Event)}
    log.close()
    assert there == {"w1", "w2", "e1", "e2"}


def test_an_anchor_is_never_ahead_of_what_a_power_cut_leaves(tmp_path: Path) -> None:
    root = tmp_path / "machine"
    root.mkdir()
    platter = Platter(str(root))
    disk = PlugDisk(platter)
    os.mkdir(tmp_path / "keys")
    chain = Chain(b"k" * 32, str(tmp_path / "keys" / "anchors"), HookedDisk())
    log = FileLog(str(root / "log"), LogSettings(window_ms=3_600_000), chain=chain, disk=disk)
    log.append([entry("p1")])
    log.append([entry("p2")], durable=False)
    log.anchor()
    for number, tree in enumerate(platter.trees()):
        platter.lay_out(tree, str(tmp_path / str(number)))
        after = FileLog(str(tmp_path / str(number) / "log"), chain=chain)
        last = after.head().event_seq
        assert max(chain.anchors()) <= last, "the anchor will look like a tail cut off by somebody"
    log.close()


def test_an_anchor_half_written_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "anchors"
    chain = Chain(b"k" * 32, str(path), HookedDisk())
    chain.anchor(1, "a" * 64)
    path.write_bytes(path.read_bytes() + b'{"event_seq": 2, "h"')
    chain.anchor(3, "c" * 64)
    assert chain.anchors() == {1: "a" * 64, 3: "c" * 64}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_killed_processes_left_half_done_does_not_outlive_an_erase(tmp_path: Path) -> None:
    folder = str(tmp_path)
    log = FileLog(folder, disk=HookedDisk())
    secret = entry("p1", 100)
    log.append([secret])
    for leave in (
        lambda disk: spool(disk, folder, "p1", _fields(secret), secret.payload),
        lambda disk: FileLog(folder, disk=disk).blobs.keep([text_of("p1", 100).encode()]),
    ):
        disk = FailingDisk()
        disk.arm(Fault("crash", 1, methods=frozenset({"replace"})))
        with pytest.raises(Crash):
            leave(disk)
        disk.abandon()
    log.erase(["p1"], subject=subject("x1", ["p1"]))
    log.close()
    assert text_of("p1").encode() not in everything(folder)


@pytest.mark.parametrize("kind", ["EIO", "EACCES"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_reading_from_a_failing_disk_raises_what_a_caller_can_act_on(
    tmp_path: Path, kind: str
) -> None:
    prepared = FileLog(str(tmp_path), disk=HookedDisk())
    prepared.append([entry("p1")])
    digest, _ = prepared.blobs.keep([b"body"])
    prepared.close()

    def body(log: FileLog) -> None:
        assert log.blobs.sound(digest)

    reads: list[Callable[[FileLog], object]] = [
        lambda log: list(log.read()),
        lambda log: log.find("p1"),
        lambda log: log.head(),
        lambda log: log.verify(),
        lambda log: log.retained_through(),
        lambda log: log.wait(0, 0),
        body,
    ]
    for read in reads:
        for nth in range(1, 200):
            disk = FailingDisk()
            log = FileLog(str(tmp_path), disk=disk)
            disk.arm(Fault(kind, nth))
            with contextlib.suppress(HoldfastError):
                read(log)
            if not disk.reached:
                break
            disk.arm(None)
            read(log)
            log.close()


def test_a_lock_that_cannot_be_released_blocks_neither_threads_nor_processes(
    tmp_path: Path,
) -> None:
    disk = FailingDisk()
    log = FileLog(str(tmp_path), LogSettings(lock_timeout=1), disk=disk)
    log.append([entry("p1")])
    disk.arm(Fault("EIO", 2, methods=frozenset({"flock"})))
    with contextlib.suppress(HoldfastError):
        log.append([entry("p2")])
    disk.arm(None)
    other = FileLog(str(tmp_path), LogSettings(lock_timeout=1))
    other.append([entry("p3")])
    other.close()
    thread = threading.Thread(target=log.append, args=([entry("p4")],))
    thread.start()
    thread.join(timeout=20)
    assert not thread.is_alive()
    log.close()
    check_log(str(tmp_path), ["p1", "p3", "p4"], ["p2"])


def test_damage_is_noted_in_the_log_although_the_first_one_to_mend_it_died(tmp_path: Path) -> None:
    for crash_at in range(1, 200):
        folder = tmp_path / str(crash_at)
        log = FileLog(str(folder), disk=HookedDisk())
        log.append([entry("p1")])
        log.close()
        with open(folder / "events.ndjson", "ab") as file:
            file.write(b'{"v":2,"event_seq":2,"event')
        disk = FailingDisk()
        disk.arm(Fault("crash", crash_at))
        dying = FileLog(str(folder), disk=disk)
        try:
            dying.append([entry("p2")])
        except Crash:
            disk.abandon()
        after = FileLog(str(folder), disk=HookedDisk())
        after.append([entry("p3")])
        kinds = [event.kind for event in after.read() if isinstance(event, Event)]
        after.close()
        assert kinds.count("damage_found") == 1, f"killed at call {crash_at}: {kinds}"
        if not disk.dead:
            disk.arm(None)
            dying.close()
            return
