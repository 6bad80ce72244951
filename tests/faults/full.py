"""A disk that fills up and is cleared again, and a process that runs out of what it needs."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
from collections.abc import Callable
from typing import Any

from holdfast.capture.disk import Disk
from holdfast.capture.layout import ACTIVE
from holdfast.engines.files import FileLog
from holdfast.errors import HoldfastError, Unavailable
from holdfast.model.events import Event
from holdfast.model.settings import LogSettings

from .children import Say, spawn
from .logs import entry


def main(what: str, place: str, **args: Any) -> dict[str, object]:
    """See tests.faults.start."""
    return _RUNS[what](place, **args)


def _tiny(place: str, kilobytes: int) -> str:
    root = os.path.join(place, "tiny")
    os.makedirs(root, exist_ok=True)
    size = f"size={kilobytes}k"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", root], check=True)
    return root


def _fill(path: str) -> None:
    """Take every byte that is left."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        while os.write(fd, b"x" * 4096):
            continue
    except OSError:
        pass
    os.close(fd)


def _until_full(log: FileLog, acked: list[str], size: int, tag: str) -> str:
    """Append until the disk refuses; the id that was refused."""
    for n in range(10_000):
        try:
            log.append([entry(f"{tag}{n}", size)])
        except Unavailable as exc:
            if "space" not in str(exc):
                raise
            return f"{tag}{n}"
        acked.append(f"{tag}{n}")
    raise AssertionError("the disk never filled up")


def fills_up(place: str, kilobytes: int, size: int) -> dict[str, object]:
    """Full in the middle of a record; full again; then there is room, and the same object goes on."""
    root = _tiny(place, kilobytes)
    folder = os.path.join(root, "log")
    log = FileLog(folder)
    acked: list[str] = []
    refused = _until_full(log, acked, size, "a")
    _fill(os.path.join(root, "filler"))
    length = os.path.getsize(os.path.join(folder, ACTIVE))
    for _ in range(3):
        try:
            log.append([entry(refused, size)])
            raise AssertionError("there is no room, and it was acknowledged")
        except Unavailable:
            pass
        assert os.path.getsize(os.path.join(folder, ACTIVE)) == length, "bytes of a refused record"
        there = [event.event_id for event in log.read() if isinstance(event, Event)]
        assert there == acked, "reading does not go on"
    os.unlink(os.path.join(root, "filler"))
    subprocess.run(["mount", "-o", "remount,size=4m", root], check=True)
    for name in (refused, "later"):
        log.append([entry(name, size)])
        acked.append(name)
    log.close()
    return _checked(folder, acked)


def full_while_mending(place: str) -> dict[str, object]:
    """A torn tail and no room for its copy: nothing is cut, everything can be read."""
    root = _tiny(place, 256)
    folder = os.path.join(root, "log")
    log = FileLog(folder)
    log.append([entry("p1"), entry("p2", 3000)])
    log.close()
    path = os.path.join(folder, ACTIVE)
    torn = b'{"v":2,"event_seq":3,"event_id":"half' + b"y" * 9000
    with open(path, "ab") as file:
        file.write(torn)
    length = os.path.getsize(path)
    _fill(os.path.join(root, "filler"))
    after = FileLog(folder)
    try:
        after.append([entry("p3")])
        raise AssertionError("acknowledged without room")
    except Unavailable as exc:
        if "read-only" not in str(exc):
            raise
    assert os.path.getsize(path) == length, "cut without a copy"
    found = list(after.read())
    assert [e.event_id for e in found if isinstance(e, Event)] == ["p1", "p2"]
    assert any(not isinstance(e, Event) for e in found), "the torn tail is not mentioned"
    os.unlink(os.path.join(root, "filler"))
    after.append([entry("p3")])
    after.close()
    kept = [os.path.join(folder, "quarantine", n) for n in os.listdir(folder + "/quarantine")]
    assert [Disk().get_file(name) for name in kept] == [torn]
    return _checked(folder, ["p1", "p2", "p3"])


def limited(place: str, limit: str) -> dict[str, object]:
    """A process meets a limit of its own; when it is lifted the same object goes on."""
    folder = os.path.join(place, "log")
    acked = []
    child = spawn(lambda say: _LIMITS[limit](folder, say))
    acked = child.wait()
    assert child.status == 0, f"{limit}: ended with {child.status}"
    return _checked(folder, acked)


def _file_size(folder: str, say: Say) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    log = FileLog(folder)
    acked: list[str] = []
    refused = _until_full(log, acked, 700, "f")
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    log.append([entry(refused, 700)])
    log.close()
    for name in (*acked, refused):
        say(name)


def _open_files(folder: str, say: Say) -> None:
    log = FileLog(folder, LogSettings(segment_bytes=2000))
    log.append([entry("n0")])
    say("n0")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for n, allowed in enumerate([*range(3, 24)], start=1):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        for use in (log, FileLog(folder)):
            try:
                use.append([entry(f"n{n}", 300)])
                list(use.read())
            except HoldfastError:
                pass
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        log.append([entry(f"n{n}", 300)])
        say(f"n{n}")
    log.close()


def _memory(folder: str, say: Say) -> None:
    log = FileLog(folder)
    log.append([entry("m0")])
    say("m0")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    for n, spare in enumerate((1 << 20, 4 << 20, 16 << 20, 30 << 20), start=1):
        large = entry(f"m{n}", 10 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (used + (10 << 20) + spare, hard))
        with contextlib.suppress(HoldfastError):
            log.append([large])
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        log.append([large])
        say(f"m{n}")
    log.close()


def _threads(folder: str, say: Say) -> None:
    """No room for one more thread: the event is written, so it is answered for."""
    log = FileLog(folder)
    log.append([entry("t0")])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (3 << 20), hard))
    with contextlib.suppress(HoldfastError):
        log.append([entry("t1")], durable=False)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    log.append([entry("t1")])
    log.close()
    say("t0")
    say("t1")


_LIMITS: dict[str, Callable[[str, Say], None]] = {
    "file size": _file_size,
    "open files": _open_files,
    "memory": _memory,
    "threads": _threads,
}
_RUNS: dict[str, Callable[..., dict[str, object]]] = {
    "fills up": fills_up,
    "full while mending": full_while_mending,
    "limited": limited,
}


def _checked(folder: str, acked: list[str]) -> dict[str, object]:
    from .logs import look

    return look(folder, acked, ()).as_dict()
