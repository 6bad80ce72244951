"""Listening, answering a few at a time, and knowing when to go.

Every line that is taken has a thread that waits with it; who may work is decided after the question is
read. Hooks and tools have places of their own, a client's calls take one of them at a time, and how the
process is can be asked however much there is to do. Where there is no place, a hook's line is closed and
a tool's answer is Busy, so that it is asked again.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
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
#: no door lets a longer question in, not even with every letter escaped
_MOST_BYTES = 16 << 20
#: questions that are worked on at once, of hooks and of tools each
_WORKERS = 4
#: lines that may wait; whoever comes then is told that everybody is busy
_LINES = 128
_PORTERS = 2
#: so long a call of a tool waits for a place; its client asks again
_WAITS = 5.0
_BUSY = {"error": "Busy", "message": "too much is asked at once; ask again"}
_LOG = "resident.log"
_MOST_LOG = 256 << 10


class Whose(msgspec.Struct, frozen=True, kw_only=True):
    """The project it is the resident of: by its root, or by its id where nobody knows a root."""

    home: str
    root: str = ""
    project: str = ""

    def opened(self) -> holdfast.Holdfast:
        """The project, open."""
        if self.root:
            return holdfast.open(self.home, path=self.root)
        return holdfast.open(self.home, project=self.project)

    def identity(self) -> list[int] | None:
        """Which project lies in the root now."""
        return identity(self.root) if self.root else None


def serve(whose: Whose, folder: str, lock: Lock) -> int:
    """Answer until there is a reason to go."""
    os.umask(0o077)
    os.chdir(folder)
    with whose.opened() as hf:
        desk = Desk(hf)
        desk.warm()
        server = Server(desk, lock, whose)
        try:
            server.run()
        finally:
            server.close()
            desk.close()
    return 0


class Server:
    """One door, a few workers."""

    def __init__(self, desk: Desk, lock: Lock, whose: Whose) -> None:
        self._desk = desk
        self._whose, self._project = whose, whose.identity()
        self._door, self._place = _opened()
        self._lock = lock
        self._hooks = desk.settings
        self._lines = threading.Semaphore(_LINES)
        self._places = {
            "inject": Places(
                _WORKERS, waiting=max(0, self._hooks.clients - _WORKERS), seconds=_WAITS
            ),
            "tools": Places(_WORKERS, waiting=_LINES, seconds=_WAITS),
        }
        self._asked = time.monotonic()
        self._code = _code()
        self._stop = threading.Event()
        self._preparing = threading.Lock()

    def run(self) -> None:
        """Until somebody says so, nobody asks any more, or this is not the process it should be."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        with (
            ThreadPoolExecutor(_LINES + 1, "holdfast-answer") as pool,
            ThreadPoolExecutor(_PORTERS, "holdfast-busy") as porters,
        ):
            while not self._stop.is_set() and not self._done():
                try:
                    line, _ = self._door.accept()
                except TimeoutError:
                    self._reachable()
                    pool.submit(self._quiet)
                    continue
                self._asked = time.monotonic()
                if not _ours(line):
                    line.close()
                elif self._lines.acquire(blocking=False):
                    pool.submit(self._answer, line)
                else:
                    porters.submit(_send_away, line)

    def _done(self) -> bool:
        idle = time.monotonic() - self._asked > self._hooks.idle_minutes * 60
        large = _megabytes() > self._hooks.memory_mb
        moved = self._whose.identity() != self._project or not self._lock.still_the_one()
        unused = idle and not self._desk.has_clients()
        return unused or large or moved or _code() != self._code

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
            self._lines.release()

    def _reply(self, line: socket.socket, asked: bytes) -> None:
        try:
            wanted: dict[str, Any] = msgspec.json.decode(asked, type=dict[str, Any])
            if wanted.get("do") == "stop":
                self._stop.set()
            said = self._worked_on(wanted)
        except HoldfastError as exc:
            wanted, said = {}, {"error": type(exc).__name__, "message": str(exc)}
        except msgspec.MsgspecError as exc:
            wanted, said = {}, {"error": "Invalid", "message": f"this cannot be asked: {exc}"}
        except Exception as exc:  # noqa: BLE001  (one bad question must not end the process)
            _note(exc)
            wanted, said = {}, {"error": "Unavailable", "message": "see resident.log"}
        if said is _BUSY and wanted.get("do") == "inject":
            return  # a hook that gets no answer says what lies ready
        line.settimeout(_THANKS)
        try:
            line.sendall(msgspec.json.encode(said) + b"\n")
            thanked = bool(line.recv(16))
        except OSError:
            thanked = False
        if not thanked:
            self._desk.too_late(wanted, said)

    def _worked_on(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """What is answered, once there is a place for it; how the process is needs none."""
        places = self._places.get(str(wanted.get("do")))
        if places is None:
            return self._desk.answer(wanted)
        with places.taken(self._desk.client_of(wanted)) as taken:
            return self._desk.answer(wanted) if taken else _BUSY


class Places:
    """So many questions are worked on at once, and one of each client; so many more may wait."""

    def __init__(self, most: int, *, waiting: int, seconds: float) -> None:
        self._free = threading.Semaphore(most)
        self._room = threading.Semaphore(most + waiting)
        self._seconds = seconds
        self._clients: dict[str, tuple[threading.Lock, int]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, client: str) -> Iterator[bool]:
        """A place of its own for one question of a client; False when there is none in time."""
        if not self._room.acquire(blocking=False):
            yield False
            return
        end = time.monotonic() + self._seconds
        own = self._known(client)
        try:
            if not own.acquire(timeout=self._seconds):
                yield False
                return
            try:
                if not self._free.acquire(timeout=max(0.0, end - time.monotonic())):
                    yield False
                    return
                try:
                    yield True
                finally:
                    self._free.release()
            finally:
                own.release()
        finally:
            self._known(client, -1)
            self._room.release()

    def _known(self, client: str, more: int = 1) -> threading.Lock:
        """The lock of a client, as long as somebody has or wants it; of nobody it is nobody's."""
        if not client:
            return threading.Lock()
        with self._lock:
            lock, users = self._clients.get(client, (threading.Lock(), 0))
            self._clients[client] = (lock, users + more)
            if users + more <= 0:
                del self._clients[client]
        return lock


def _send_away(line: socket.socket) -> None:
    """Tell somebody that there is no place; what was asked is read, or the answer would be lost."""
    with line, suppress(OSError):
        line.settimeout(_PATIENCE / 4)
        if _line_of(line):
            line.sendall(msgspec.json.encode(_BUSY) + b"\n")


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
    said = bytearray()
    while not said.endswith(b"\n"):
        part = line.recv(1 << 16)
        said += part
        if not part or len(said) > _MOST_BYTES:
            return b""
    return bytes(said)


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
