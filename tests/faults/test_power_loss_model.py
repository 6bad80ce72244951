"""The plug is pulled at every call: what was acknowledged is on the platter, whatever else is not."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from pathlib import Path

import pytest

from holdfast.capture.lock import Lock
from holdfast.engines.files import FileLog
from holdfast.errors import HoldfastError
from tests.faults.disks import Crash, HookedDisk
from tests.faults.logs import check_log, entry
from tests.faults.operations import ERASE_FAILED, OPERATIONS, Operation, check_after
from tests.faults.plug import Platter, PlugDisk, Tree

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Machine:
    """A machine with one log on it, whose plug is pulled again and again."""

    def __init__(self, operation: Operation, place: Path) -> None:
        self.operation = operation
        self.root = place / "machine"
        self.scratch = place / "after"
        self.root.mkdir(parents=True)
        self.platter = Platter(str(self.root))
        self.acked = set(operation.acked)
        self.seen: set[bytes] = set()
        operation.prepare(self.folder, PlugDisk(self.platter))

    @property
    def folder(self) -> str:
        return str(self.root / "log")

    def process(self) -> tuple[FileLog, PlugDisk]:
        """A fresh process."""
        disk = PlugDisk(self.platter)
        return FileLog(self.folder, self.operation.settings, disk=disk), disk

    def run(self, log: FileLog) -> None:
        """The operation, with its acknowledgements noted as they come."""
        self.operation.run(log, self.acked.add)

    def cut(self) -> None:
        """Look at everything a cut at this moment may leave."""
        acked = self.acked - self.operation.relaxed
        for tree in self.platter.trees():
            key = _key(tree, acked)
            if key not in self.seen:
                self.seen.add(key)
                self._check(tree, acked)

    def _check(self, tree: Tree, acked: set[str]) -> None:
        self.platter.lay_out(tree, str(self.scratch))
        folder = str(self.scratch / "log")
        check_log(
            folder,
            {name for name in acked if not name.startswith("body ") and name != "meta"},
            self.operation.offered | self.operation.relaxed,
            erased=self.operation.erased,
            dropped=self.operation.dropped,
            disk=HookedDisk(),
        )
        check_after(self.operation, folder, acked)
        shutil.rmtree(self.scratch)


def _key(tree: Tree, acked: set[str]) -> bytes:
    found = hashlib.sha256(repr(sorted(acked)).encode())
    for path, data in sorted(tree.items()):
        found.update(b"%b\0%b\0" % (path.encode(), hashlib.sha256(data or b"").digest()))
    return found.digest()


@pytest.mark.parametrize(
    "operation", [*OPERATIONS.values(), ERASE_FAILED], ids=lambda operation: operation.name
)
def test_a_power_cut_at_any_call_leaves_every_acknowledged_event(
    operation: Operation, place: Path
) -> None:
    machine = Machine(operation, place)
    log, disk = machine.process()
    disk.watch = machine.cut
    machine.run(log)
    machine.cut()
    log.close()
    assert len(machine.seen) > 1, "the cuts left one state only"


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_a_killed_process_left_unsynced_is_synced_by_the_next_that_answers_for_it(
    name: str, place: Path
) -> None:
    for crash_at in range(1, 1000):
        machine = Machine(OPERATIONS[name], place / str(crash_at))
        log, disk = machine.process()
        disk.crash_at = crash_at
        try:
            machine.run(log)
        except Crash:
            log._flusher.close()
            disk.abandon()
        try:
            again, _ = machine.process()
            machine.run(again)
            machine.cut()
            again.close()
        except BaseException as exc:
            exc.add_note(f"{name}: killed at call {crash_at}")
            raise
        shutil.rmtree(place / str(crash_at))
        if not disk.dead:
            disk.crash_at = 0
            log.close()
            assert crash_at > 1, "nobody ever died"
            return
    raise AssertionError("the operation never ends")


@pytest.mark.parametrize("killed", [False, True], ids=["alive", "killed"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_failed_sync_is_never_answered_for_from_the_page_cache(
    name: str, killed: bool, place: Path
) -> None:
    for nth in range(1, 1000):
        machine = Machine(OPERATIONS[name], place / str(nth))
        log, disk = machine.process()
        disk.fail_sync_at = nth
        try:
            if not _fails_once(machine, log, disk, killed=killed):
                assert nth > 1, "no sync ever failed"
                return
            machine.cut()
            machine.run(machine.process()[0] if killed else log)
            machine.cut()
        except BaseException as exc:
            exc.add_note(f"{name}: sync {nth} failed")
            raise
        shutil.rmtree(place / str(nth))
    raise AssertionError("the operation never ends")


def _fails_once(machine: Machine, log: FileLog, disk: PlugDisk, *, killed: bool) -> bool:
    """Run into the failing sync; killed: no call after it happens."""

    def stop() -> None:
        if killed and disk.syncs == disk.fail_sync_at:
            disk.dead = True
            raise Crash

    disk.watch = stop  # the call that changes something after the failing sync is the first
    with contextlib.suppress(Crash, HoldfastError, OSError):
        machine.run(log)
    if disk.dead:
        log._flusher.close()
        disk.abandon()
    return disk.syncs >= disk.fail_sync_at


def test_a_mark_of_an_older_file_with_the_same_inode_makes_nothing_durable(place: Path) -> None:
    machine = Machine(OPERATIONS["append"], place)
    inode = os.stat(os.path.join(machine.folder, "events.ndjson")).st_ino
    stale = Lock(os.path.join(machine.folder, "lock"), HookedDisk())
    stale.mark(
        inode, 1_000_000, b"x"
    )  # as a power cut can leave it: the mark itself is never synced
    stale.close()
    relaxed, disk = machine.process()
    relaxed.append([entry("e1")], durable=False)
    relaxed._flusher.close()
    disk.abandon()
    log, _ = machine.process()
    log.append([entry("e1")])
    machine.acked.add("e1")
    looked_at = len(machine.seen)
    machine.cut()
    assert len(machine.seen) > looked_at
    log.close()


def test_a_process_killed_while_it_gives_up_a_segment_leaves_one_copy_of_everything(
    place: Path,
) -> None:
    operation = OPERATIONS["batched"]
    for crash_at in range(1, 200):
        machine = Machine(operation, place / str(crash_at))
        log, disk = machine.process()
        log.append([entry("d0")])
        machine.acked.add("d0")
        log.append([entry("r1")], durable=False)
        disk.fail_sync_at, disk.crash_at = disk.syncs + 1, disk.calls + crash_at
        with contextlib.suppress(Crash, HoldfastError):
            machine.run(log)
        machine.cut()
        log._flusher.close()
        dead, disk.dead = disk.dead, True
        disk.abandon()
        again, _ = machine.process()
        machine.run(again)
        again.seal()
        machine.run(again)
        again.seal()
        machine.cut()
        again.close()
        check_log(machine.folder, machine.acked, disk=HookedDisk())
        shutil.rmtree(place / str(crash_at))
        if not dead:
            return
