"""Everything that writes to a log, as named operations over a prepared folder.

The anomaly loop, the power-cut model and the kill points all run the same ones. `run` acknowledges
each id as the log does, and may be run again: a retry of everything with the same ids.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from holdfast.capture.blob import keep_blob
from holdfast.capture.disk import Disk
from holdfast.capture.layout import ACTIVE, new_meta, sealed_name
from holdfast.capture.line import canonical
from holdfast.capture.spool import spool
from holdfast.capture.writer import Writer
from holdfast.engines.files import FileLog, meta
from holdfast.engines.files.log import _fields
from holdfast.model.settings import LogSettings

from .logs import WHEN, baseline, entry, subject

Ack = Callable[[str], None]
BODY = b"a body too large for a line " * 40


@dataclass(frozen=True)
class Operation:
    """One protocol: what is there before, what is done, what may be there after."""

    name: str
    run: Callable[[FileLog, Ack], None]
    prepare: Callable[[str, Disk], None]
    acked: frozenset[str] = frozenset()
    offered: frozenset[str] = frozenset()
    erased: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    settings: LogSettings = field(default_factory=lambda: LogSettings(window_ms=3_600_000))
    #: acknowledged without a sync: a kill must not lose them, a power cut may
    relaxed: frozenset[str] = frozenset()


def _ids(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{n}" for n in range(1, count + 1)]


def _with_meta(folder: str, disk: Disk) -> None:
    disk.make_folder(folder)
    meta.save(disk, folder, new_meta("p", "/p", WHEN, "crc"))


def _nothing(folder: str, disk: Disk) -> None:
    disk.make_folder(folder)


def _some(folder: str, disk: Disk) -> None:
    """Three segments: two sealed, one active; p2 in the first and p6 in the last."""
    _with_meta(folder, disk)
    log = FileLog(folder, disk=disk)
    for at in (1, 3, 5):
        log.append([entry(f"p{at}"), entry(f"p{at + 1}")])
        if at < 5:
            log.seal()
    log.close()


def _with_failed_segment(folder: str, disk: Disk) -> None:
    """As `_some`, the second segment given up after a failed sync."""
    _some(folder, disk)
    path = os.path.join(folder, sealed_name(3))
    failed = sealed_name(3, failed_at=os.path.getsize(path))
    disk.replace(path, os.path.join(folder, failed))
    disk.sync_folder(folder)


def _torn(folder: str, disk: Disk) -> None:
    _some(folder, disk)
    _add(folder, disk, b'{"v":2,"event_seq":7,"event_id":"half')


def _without_newline(folder: str, disk: Disk) -> None:
    _some(folder, disk)
    path = os.path.join(folder, ACTIVE)
    fd = disk.open(path, os.O_RDWR)
    disk.ftruncate(fd, os.path.getsize(path) - 1)
    disk.fsync(fd)
    disk.close(fd)


def _add(folder: str, disk: Disk, data: bytes) -> None:
    fd = disk.open(os.path.join(folder, ACTIVE), os.O_WRONLY | os.O_APPEND)
    disk.write_all(fd, data)
    disk.fsync(fd)
    disk.close(fd)


def _spooled(folder: str, disk: Disk) -> None:
    _some(folder, disk)
    for name in ("w1", "w2", "p6"):  # p6 is in the log: its writer died between the two
        waiting = entry(name)
        spool(disk, folder, name, _fields(waiting), waiting.payload)
    disk.put_file(os.path.join(folder, "spool", "w3.ndjson"), b'{"v":2,"event_seq":0,"ev')


def _with_body(folder: str, disk: Disk) -> None:
    _some(folder, disk)
    digest, _ = keep_blob(disk, folder, [BODY])
    noted = canonical({"text": "cut", "_as_given": [{"blob": digest}]})
    log = FileLog(folder, disk=disk)
    holder = entry("p7", kind="tool_result@1")
    import msgspec

    log.append([msgspec.structs.replace(holder, payload=noted)])
    log.close()
    _add(folder, disk, b'{"v":2,"event_seq":8,"event_id":"torn')


def _append(log: FileLog, ack: Ack) -> None:
    for name in ("e1", "e2"):
        log.append([entry(name)])
        ack(name)


def _batch(log: FileLog, ack: Ack) -> None:
    names = _ids("b", 5)
    log.append([entry(name, 200) for name in names])
    for name in names:
        ack(name)


def _batched(log: FileLog, ack: Ack) -> None:
    for name in ("r1", "r2"):
        log.append([entry(name)], durable=False)
        ack(name)
    log.append([entry("d1")])
    ack("d1")


def _seal(log: FileLog, ack: Ack) -> None:
    log.append([entry("s1")])
    ack("s1")
    log.seal()
    log.append([entry("s2")])
    ack("s2")


def _erase(log: FileLog, ack: Ack) -> None:
    gone = ["p2", "p6", "p7"] if log.find("p7") else ["p2", "p6"]
    log.erase(gone, subject=subject("x1", gone))
    ack("x1")
    log.append([entry("x2")])
    ack("x2")


def _retain(log: FileLog, ack: Ack) -> None:
    log.retain(baseline("k1"), through=4)
    ack("k1")
    log.append([entry("k2")])
    ack("k2")


def _drain(log: FileLog, ack: Ack) -> None:
    log.append([entry("n1")])
    ack("n1")


def _spool(log: FileLog, ack: Ack) -> None:
    waiting = entry("q1")
    spool(log.disk, log.folder, "q1", _fields(waiting), waiting.payload)
    ack("q1")
    log.append([entry("q2")])
    ack("q2")


def _blob(log: FileLog, ack: Ack) -> None:
    digest, _ = log.blobs.keep([BODY[:500], BODY[500:]])
    ack("body " + digest)


def _init(log: FileLog, ack: Ack) -> None:
    meta.begin(log.disk, log.folder, new_meta("p", "/p", WHEN, "crc"))
    ack("meta")
    log.append([entry("i1")])
    ack("i1")


def _raw(log: FileLog, ack: Ack) -> None:
    """Capture's writer alone, as a hook uses it: fresh ids, OSError."""
    writer = Writer(log.folder, disk=log.disk)
    try:
        with writer.hold():
            one = entry("h1")
            if log.find("h1") is None:
                writer.put([(_fields(one), one.payload)])
            writer.sync()
        ack("h1")
    finally:  # a hook's process ends here
        writer._forget()
        with suppress(OSError):
            writer._lock.close()


_P6 = frozenset(_ids("p", 6))
_TINY = LogSettings(window_ms=3_600_000, segment_bytes=300)

OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("append", _append, _some, _P6, frozenset({"e1", "e2"})),
        Operation("append to nothing", _append, _nothing, offered=frozenset({"e1", "e2"})),
        Operation("batch", _batch, _some, _P6, frozenset(_ids("b", 5))),
        Operation(
            "batched",
            _batched,
            _some,
            _P6,
            frozenset({"r1", "r2", "d1"}),
            relaxed=frozenset({"r1", "r2"}),
        ),
        Operation("seal", _seal, _some, _P6, frozenset({"s1", "s2"})),
        Operation("rotate", _append, _some, _P6, frozenset({"e1", "e2"}), settings=_TINY),
        Operation(
            "erase",
            _erase,
            _with_body,
            frozenset(_ids("p", 7)),
            frozenset({"x1", "x2"}),
            erased=frozenset({"p2", "p6", "p7"}),
        ),
        Operation(
            "retain",
            _retain,
            _some,
            _P6,
            frozenset({"k1", "k2"}),
            dropped=frozenset(_ids("p", 4)),
        ),
        Operation(
            "drain", _drain, _spooled, _P6 | {"w1", "w2"}, frozenset({"n1"}), settings=LogSettings()
        ),
        Operation("spool", _spool, _some, _P6, frozenset({"q1", "q2"})),
        Operation("blob", _blob, _some, _P6),
        Operation("init", _init, lambda folder, disk: None, offered=frozenset({"i1"})),
        Operation("torn tail", _append, _torn, _P6, frozenset({"e1", "e2"})),
        Operation("lost newline", _append, _without_newline, _P6, frozenset({"e1", "e2"})),
        Operation("hook", _raw, _some, _P6, frozenset({"h1"})),
    )
}


#: too slow for every loop, and needed by one
ERASE_FAILED = Operation(
    "erase a failed segment",
    _erase,
    _with_failed_segment,
    _P6,
    frozenset({"x1", "x2"}),
    erased=frozenset({"p2", "p6"}),
)


def check_after(operation: Operation, folder: str, acked: set[str]) -> None:
    """What the operation promised beyond the log itself: bodies whole, erased bytes gone."""
    log = FileLog(folder)
    for name in acked:
        if name.startswith("body "):
            assert log.blobs.sound(name[5:]), "an acknowledged body is not there"
        if name == "meta":
            assert meta.load(Disk(), folder).get("project_id") == "p"
    if operation.erased and "x1" in acked:
        from .logs import text_of

        held = everything(folder)
        for name in operation.erased - {"p7"}:
            assert text_of(name).encode() not in held, f"{name} was erased and is still there"
        assert BODY not in held, "the body of an erased event is still there"


def everything(folder: str) -> bytes:
    """Every byte of every file."""
    parts = []
    for place, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(place, name), "rb") as file:
                parts.append(file.read())
    return b"\0".join(parts)
