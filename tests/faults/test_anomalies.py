"""Every call of every operation fails once, and then for good: nothing acknowledged is harmed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holdfast.capture.spool import spooled
from holdfast.engines.files import FileLog
from holdfast.errors import HoldfastError
from holdfast.model.events import Event
from tests.faults.disks import ALL, METHODS, Crash, FailingDisk, Fault, HookedDisk
from tests.faults.logs import check_log, entry
from tests.faults.operations import OPERATIONS, Operation, check_after

# a reader that is let go while its disk fails to close a file is nobody's concern
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

#: operations whose `run` calls capture itself, where trouble is an OSError
RAW = {"spool", "hook", "init"}
#: tried with a log that has just written, too: its knowledge of the file may be stale then
ALSO_WARM = {"append", "batch", "batched", "seal", "rotate"}


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The prepared folder of each operation, made once and copied for each trial."""
    root = tmp_path_factory.mktemp("templates")
    made = {}
    for number, (name, operation) in enumerate(OPERATIONS.items()):
        made[name] = root / str(number)
        operation.prepare(str(made[name]), HookedDisk())
    return made


class Bench:
    """Trials of one operation: a fresh folder each, one fault, then everything is looked at."""

    def __init__(self, operation: Operation, template: Path, place: Path, *, warm: bool) -> None:
        self.operation = operation
        self.template = template
        self.place = place
        self.warm = warm
        self.trials = 0

    def trial(self, fault: Fault) -> bool:
        """Was the fault reached? If so, every promise was checked."""
        self.trials += 1
        self.place.mkdir(exist_ok=True)
        folder = self.place / str(self.trials)
        if self.template.exists():
            shutil.copytree(self.template, folder)
        disk = FailingDisk()
        log = FileLog(str(folder), self.operation.settings, disk=disk)
        acked = set(self.operation.acked)
        if self.warm:
            log.append([entry("warm")])
            acked.add("warm")
        disk.arm(fault)
        try:
            self.operation.run(log, acked.add)
        except Crash:
            pass
        except HoldfastError:
            assert fault.kind != "short", "a short write is nothing to give up for"
        except OSError:
            assert self.operation.name in RAW
        reached = disk.reached
        if disk.dead:
            log._flusher.close()
            disk.abandon()
        else:
            disk.arm(None)
            self._still_there(str(folder), acked)
            self._go_on(log, acked)
        self._check(folder, acked)
        shutil.rmtree(folder)
        return reached

    def _go_on(self, log: FileLog, acked: set[str]) -> None:
        """The fault is over: the same object works, and a retry of everything is harmless."""
        self.operation.run(log, acked.add)
        log.append([entry("after")])
        acked.add("after")
        log.close()

    def _still_there(self, folder: str, acked: set[str]) -> None:
        """Before anybody tries again: what was acknowledged can be read, or waits in the spool."""
        there = {e.event_id for e in FileLog(folder).read() if isinstance(e, Event)}
        waiting = {Path(path).stem for path in spooled(HookedDisk(), folder)}
        lost = _events(acked) - there - waiting - self.operation.dropped
        assert not lost, f"lost until tried again: {lost}"

    def _check(self, folder: Path, acked: set[str]) -> None:
        check_log(
            str(folder),
            _events(acked),
            self.operation.offered | {"after"},
            erased=self.operation.erased,
            dropped=self.operation.dropped,
            disk=HookedDisk(),
        )
        check_after(self.operation, str(folder), acked)


def _events(acked: set[str]) -> set[str]:
    return {name for name in acked if not name.startswith("body ") and name != "meta"}


def run(bench: Bench, kind: str, *, persistent: bool, methods: frozenset[str] = ALL) -> None:
    """Fail later and later, until the operation is through before its fault."""
    for nth in range(1, 5000):
        fault = Fault(kind, nth, persistent, methods)
        try:
            if not bench.trial(fault):
                return
        except BaseException as exc:
            exc.add_note(f"{bench.operation.name}, {'warm' if bench.warm else 'cold'}: {fault}")
            raise
    raise AssertionError("the operation never ends")


@pytest.mark.parametrize("persistent", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("kind", ["EIO", "ENOSPC", "short"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_failing_call_costs_no_acknowledged_event(
    name: str, kind: str, persistent: bool, templates: dict[str, Path], place: Path
) -> None:
    warm = name in ALSO_WARM and kind == "EIO" and not persistent
    for started in [False, True] if warm else [False]:
        bench = Bench(OPERATIONS[name], templates[name], place / str(started), warm=started)
        run(bench, kind, persistent=persistent)
        assert bench.trials > 1, "no call ever failed"


@pytest.mark.parametrize("kind", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_one_kind_of_call_failing_for_good_costs_no_acknowledged_event(
    name: str, kind: str, templates: dict[str, Path], place: Path
) -> None:
    bench = Bench(OPERATIONS[name], templates[name], place, warm=False)
    for method in METHODS:
        run(bench, kind, persistent=True, methods=frozenset({method}))
    assert bench.trials > len(METHODS), "no call ever failed"


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_process_gone_at_any_call_leaves_every_acknowledged_event(
    name: str, templates: dict[str, Path], place: Path
) -> None:
    for started in [False, True] if name in ALSO_WARM else [False]:
        bench = Bench(OPERATIONS[name], templates[name], place / str(started), warm=started)
        run(bench, "crash", persistent=True)
        assert bench.trials > 1, "nobody ever died"
