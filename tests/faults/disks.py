"""Disks that fail: the Nth call, once or from then on, with an error, a short write or a crash."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from holdfast.capture.disk import Disk

#: every system call of the log
METHODS = [name for name, call in vars(Disk).items() if isinstance(call, staticmethod)]
ALL = frozenset(METHODS)
#: what a full disk refuses; the rest goes on working
GROWING = {"open", "write", "pwrite", "fsync", "fdatasync", "mkdir", "replace", "link"}


#: after a death before one of the others, the disk is as after a death before the next of these
CHANGING = GROWING | {"ftruncate", "unlink", "flock"}


def changes(name: str, args: tuple[Any, ...]) -> bool:
    """Does this call change what another process finds?"""
    return name in CHANGING and (name != "open" or bool(args[1] & (os.O_CREAT | os.O_TRUNC)))


class Crash(BaseException):
    """The process is gone: no call after this one happens, no handler can do anything."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and when: at the nth call of one of `methods`, or of any that can."""

    kind: str  # EIO, ENOSPC, short, crash
    nth: int
    persistent: bool = False
    methods: frozenset[str] = field(default=ALL, repr=False)

    def hits(self, name: str, args: tuple[Any, ...]) -> bool:
        """Can this call fail so?"""
        if name not in self.methods:
            return False
        if self.kind == "crash":
            return changes(name, args)
        if self.kind == "short":
            return name in ("write", "pwrite") and len(args[1]) > 1
        if self.kind == "ENOSPC":
            return name in GROWING and (name != "open" or bool(args[1] & os.O_CREAT))
        return True


class HookedDisk(Disk):
    """Every call passes `on_call`; syncs cost nothing, because nobody pulls a plug here."""

    def __init__(self) -> None:
        self.fds: set[int] = set()
        self.dead = False
        for name in METHODS:
            real = getattr(Disk, name)
            if name in ("fsync", "fdatasync"):
                real = _no_sync
            setattr(self, name, partial(self._called, name, real))

    def _called(self, name: str, real: Callable[..., Any], *args: Any) -> Any:
        result = self.on_call(name, real, args)
        if name == "open":
            self.fds.add(result)
        elif name == "close" and not self.dead:
            self.fds.discard(args[0])
        return result

    def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Do the call, or something worse."""
        return real(*args)

    def abandon(self) -> None:
        """What the kernel does for a dead process."""
        for fd in self.fds:
            os.close(fd)
        self.fds.clear()


def _no_sync(fd: int) -> None:
    os.fstat(fd)


class FailingDisk(HookedDisk):
    """Fails as its fault says, once armed."""

    def __init__(self) -> None:
        super().__init__()
        self.fault: Fault | None = None
        self.calls = 0
        self.reached = False

    def arm(self, fault: Fault | None) -> None:
        """Count from here, and fail as told; None is a disk that works."""
        self.fault = fault
        self.calls = 0
        self.reached = False

    def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Count, and fail when it is time."""
        if self.dead:
            return self._after_death(name)
        fault = self.fault
        if fault is None or not fault.hits(name, args):
            return real(*args)
        self.calls += 1
        if self.calls < fault.nth or (self.calls > fault.nth and not fault.persistent):
            return real(*args)
        self.reached = True
        return self._fail(fault, name, real, args)

    def _fail(
        self, fault: Fault, name: str, real: Callable[..., Any], args: tuple[Any, ...]
    ) -> Any:
        if fault.kind == "crash":
            self.dead = True
            raise Crash
        if fault.kind == "short":
            return real(args[0], bytes(args[1])[: len(args[1]) // 2], *args[2:])
        code = getattr(errno, fault.kind)
        if code == errno.ENOSPC and name == "write":  # as much as fits, then no more
            real(args[0], bytes(args[1])[: len(args[1]) // 2])
        if name == "close":
            real(*args)  # Linux gives the descriptor back whatever close returns
        raise OSError(code, os.strerror(code))

    def _after_death(self, name: str) -> None:
        if name != "close":  # an abandoned reader lets go of what the kernel took long ago
            raise Crash
