"""Listening, answering a few at a time, and knowing when to go."""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

import holdfast
from holdfast.capture.layout import RESIDENT_SOCKET
from holdfast.capture.lock import Lock
from holdfast.capture.place import identity
from holdfast.errors import HoldfastError

from .desk import Desk

_TICK = 0.5
_PATIENCE = 2.0
_THANKS = 1.0
_MOST_BYTES = 4 << 20
_WORKERS = 4
_LOG = "resident.log"
_MOST_LOG = 256 << 10


def serve(home: str, root: str, folder: str, lock: Lock) -> int:
    """Answer until there is a reason to go."""
    os.umask(0o077)
    os.chdir(folder)
    with holdfast.open(home, path=root) as hf:
        desk = Desk(hf)
        desk.warm()
        server = Server(desk, lock, root)
        try:
            server.run()
        finally:
            server.close()
            desk.close()
    return 0


class Server:
    """One door, a few workers."""

    def __init__(self, desk: Desk, lock: Lock, root: str) -> None:
        self._desk = desk
        self._root, self._project = root, identity(root)
        self._door, self._place = _opened()
        self._lock = lock
        self._hooks = desk.settings
        self._busy = threading.Semaphore(self._hooks.clients)
        self._asked = time.monotonic()
        self._code = _code()
        self._stop = threading.Event()
        self._preparing = threading.Lock()

    def run(self) -> None:
        """Until somebody says so, nobody asks any more, or this is not the process it should be."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        with ThreadPoolExecutor(_WORKERS, "holdfast-answer") as pool:
            while not self._stop.is_set() and not self._done():
                try:
                    line, _ = self._door.accept()
                except TimeoutError:
                    self._reachable()
                    pool.submit(self._quiet)
                    continue
                self._asked = time.monotonic()
                if _ours(line) and self._busy.acquire(blocking=False):
                    pool.submit(self._answer, line)
                else:
                    line.close()

    def _done(self) -> bool:
        idle = time.monotonic() - self._asked > self._hooks.idle_minutes * 60
        large = _megabytes() > self._hooks.memory_mb
        moved = identity(self._root) != self._project or not self._lock.still_the_one()
        return idle or large or moved or _code() != self._code

    def _reachable(self) -> None:
        """Whoever took the socket away, or put another in its place, finds it there again."""
        if _socket_inode() != self._place:
            self._door.close()
            self._door, self._place = _opened()

    def close(self) -> None:
        """Nobody can knock any more."""
        self._door.close()
        if _socket_inode() == self._place:
            os.unlink(RESIDENT_SOCKET)

    def _quiet(self) -> None:
        if not self._preparing.acquire(blocking=False):
            return  # somebody is at it
        try:
            self._desk.prepare()
        except Exception as exc:  # noqa: BLE001  (what is prepared is a courtesy; the log says what failed)
            _note(exc)
        finally:
            self._preparing.release()

    def _answer(self, line: socket.socket) -> None:
        try:
            with line:
                line.settimeout(_PATIENCE)
                asked = _line_of(line)
                if asked:
                    self._reply(line, asked)
        except (TimeoutError, ConnectionError, OSError) as exc:
            _note(exc)
        finally:
            self._busy.release()

    def _reply(self, line: socket.socket, asked: bytes) -> None:
        try:
            wanted: dict[str, Any] = msgspec.json.decode(asked, type=dict[str, Any])
            if wanted.get("do") == "stop":
                self._stop.set()
            said = self._desk.answer(wanted)
        except (HoldfastError, msgspec.MsgspecError) as exc:
            wanted, said = {}, {"error": type(exc).__name__, "message": str(exc)}
        except Exception as exc:  # noqa: BLE001  (one bad question must not end the process)
            _note(exc)
            wanted, said = {}, {"error": "Unavailable", "message": "see resident.log"}
        line.settimeout(_THANKS)
        try:
            line.sendall(msgspec.json.encode(said) + b"\n")
            thanked = bool(line.recv(16))
        except OSError:
            thanked = False
        if not thanked:
            self._desk.too_late(wanted, said)


def _opened() -> tuple[socket.socket, int]:
    """The door others knock at, and its inode; what lies in its place is nobody's: we have the lock."""
    with suppress(FileNotFoundError):
        os.unlink(RESIDENT_SOCKET)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.bind(RESIDENT_SOCKET)
    os.chmod(RESIDENT_SOCKET, 0o600)
    door.listen(64)
    door.settimeout(_TICK)
    return door, _socket_inode()


def _socket_inode() -> int:
    """Which socket lies where others look for it; 0 for none."""
    try:
        return os.lstat(RESIDENT_SOCKET).st_ino
    except OSError:
        return 0


def _line_of(line: socket.socket) -> bytes:
    said = b""
    while not said.endswith(b"\n"):
        part = line.recv(1 << 16)
        said += part
        if not part or len(said) > _MOST_BYTES:
            return b""
    return said


def _ours(line: socket.socket) -> bool:
    """Is it the same person who asks? The folder is private; this is the second wall."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    _, uid, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(uid == os.getuid())


def _code() -> int:
    """Which code this is; another one after an upgrade."""
    try:
        return os.stat(str(holdfast.__file__)).st_mtime_ns
    except OSError:
        return 0


def _megabytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return 0  # this system does not say
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def _note(exc: BaseException) -> None:
    """What failed and where, without a word of what was asked."""
    where = "".join(traceback.format_tb(exc.__traceback__))
    told = f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {type(exc).__name__}\n{where}\n"
    with suppress(OSError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        if os.path.exists(_LOG) and os.stat(_LOG).st_size > _MOST_LOG:
            flags |= os.O_TRUNC
        fd = os.open(_LOG, flags, 0o600)
        with os.fdopen(fd, "a", encoding="utf-8") as file:
            file.write(told)
