"""Homes and projects with something wrong about them, for hooks to be called in."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import holdfast
from holdfast.app import hooking
from holdfast.capture import prepared
from holdfast.capture.disk import Disk
from holdfast.capture.layout import INDEX, INDEX_LOCK, RESIDENT_SOCKET
from holdfast.capture.origin import person
from holdfast.capture.place import CACHE, MARKER

PROJECT = "hostile"
_NOBODY = "nobody-is-here"


@dataclass
class Scene:
    """A home and a project of its own."""

    folder: Path
    python: str = _NOBODY
    #: no file may grow, where no full volume can be made
    small: bool = False

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def root(self) -> Path:
        return self.folder / "project"

    @property
    def log(self) -> Path:
        return self.home / "contexts-v2" / PROJECT

    @property
    def cache(self) -> Path:
        return self.home / CACHE

    @property
    def socket(self) -> Path:
        return self.log / RESIDENT_SOCKET

    def make(self) -> None:
        """Open the project once, so that hooks know it; nobody is there who could be started."""
        self.root.mkdir(parents=True)
        (self.root / MARKER).write_text(f'project_id = "{PROJECT}"\n', "utf-8")
        with holdfast.open(str(self.home), path=self.root) as hf:
            hooking.note(hf.settings, hf.project)
            hf.session(agent="claude-code", session_id="s1").user("The shop is called Anemone")
        self.say(python=self.python)

    def say(self, **fields: object) -> None:
        """Change what the cache says."""
        self.cache.write_text(json.dumps({**json.loads(self.cache.read_text()), **fields}))


Setting = Callable[[Scene, ExitStack], None]


# ---- what is wrong with the place ------------------------------------------------------------


def fine(_scene: Scene, _stack: ExitStack) -> None:
    """Nothing."""


def real(scene: Scene, _stack: ExitStack) -> None:
    """A resident can be started."""
    scene.say(python=sys.executable)


def held(name: str) -> Setting:
    """Somebody else has a lock."""

    def setting(scene: Scene, stack: ExitStack) -> None:
        lock = stack.enter_context((scene.log / name).open("ab"))
        fcntl.flock(lock, fcntl.LOCK_EX)

    return setting


def bad_index(scene: Scene, stack: ExitStack) -> None:
    """index.db is none, and somebody can be started who will meet it."""
    for name in (INDEX, INDEX + "-wal", INDEX + "-shm"):
        (scene.log / name).write_bytes(b"SQLite format 3\0" + b"\xa5" * 9_000)
    real(scene, stack)


def held_index(scene: Scene, stack: ExitStack) -> None:
    """The index cannot be opened, and somebody can be started who would."""
    held(INDEX_LOCK)(scene, stack)
    real(scene, stack)


def cache_is(data: bytes) -> Setting:
    """hooks.json says something else."""

    def setting(scene: Scene, _stack: ExitStack) -> None:
        scene.cache.write_bytes(data)

    return setting


def cache_odd(scene: Scene, _stack: ExitStack) -> None:
    """hooks.json is JSON, of other types."""
    root = str(scene.root)
    scene.say(
        keys=["a"], config=[3, 4], deadline_ms="soon", record={"text_chars": -1, "deny_paths": {}},
        projects={root: {"id": 7, "stamp": "x", "deny_paths": "y"}}, python={"a": 1},
    )  # fmt: skip


def cache_gone(scene: Scene, _stack: ExitStack) -> None:
    """No hooks.json."""
    scene.cache.unlink()


def cache_unreadable(scene: Scene, _stack: ExitStack) -> None:
    """A hooks.json that leads to itself: nobody can read that, not even root."""
    scene.cache.unlink()
    scene.cache.symlink_to(scene.cache.name)


def cache_folder(scene: Scene, _stack: ExitStack) -> None:
    """hooks.json is a folder."""
    scene.cache.unlink()
    scene.cache.mkdir()


def read_only(scene: Scene, stack: ExitStack) -> None:
    """Nothing can be written in the home."""
    if os.getuid() == 0 and _mounted(scene, stack, "16m"):
        subprocess.run(["mount", "-o", "remount,ro", str(scene.home)], check=True)
        return
    scene.home.chmod(0o500)
    stack.callback(scene.home.chmod, 0o700)


def full(scene: Scene, stack: ExitStack) -> None:
    """No byte is left on the volume; where that cannot be made, no file may grow."""
    if os.getuid() == 0 and _mounted(scene, stack, "256k"):
        with suppress(OSError), (scene.home / "filler").open("wb", 0) as filler:
            while filler.write(b"x" * 4_096):
                continue
        stack.callback((scene.home / "filler").unlink)
        return
    scene.small = True


def _mounted(scene: Scene, stack: ExitStack, size: str) -> bool:
    """The same home on a volume of its own."""
    aside = scene.home.rename(scene.folder / "aside")
    scene.home.mkdir()
    options = f"size={size}"
    words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(scene.home)]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        scene.home.rmdir()
        aside.rename(scene.home)
        return False
    stack.callback(subprocess.run, ["umount", "-l", str(scene.home)], check=True)
    shutil.copytree(aside, scene.home, dirs_exist_ok=True)
    return True


def bad_pages(scene: Scene, _stack: ExitStack) -> None:
    """What lies ready is garbage."""
    dice = random.Random(1)
    for session in ("s0", "s1", "s2", "s3", "s4"):
        whom = (person(), "claude-code", session)
        prepared.prepare(str(scene.log), whom, "x", Disk())
        Path(prepared.path(str(scene.log), whom)).write_bytes(dice.randbytes(300))
    page = Path(prepared.path(str(scene.log), (person(), "claude-code")))
    page.write_text(json.dumps({"for": [person(), "claude-code"], "text": {"decision": "block"}}))


# ---- residents that are none -----------------------------------------------------------------


def stale(scene: Scene, _stack: ExitStack) -> None:
    """The socket of one that died."""
    with _listening(scene):
        pass


def socket_is(kind: str) -> Setting:
    """In the socket's place is something else."""

    def setting(scene: Scene, _stack: ExitStack) -> None:
        if kind == "folder":
            scene.socket.mkdir()
        elif kind == "file":
            scene.socket.write_bytes(b"{}")
        elif kind == "loop":
            scene.socket.symlink_to(scene.socket.name)
        else:
            os.mkfifo(scene.socket)

    return setting


def deaf(scene: Scene, stack: ExitStack) -> None:
    """One that listens and never looks who came."""
    stack.enter_context(_listening(scene))


def answering(answer: bytes, *, hangs: bool = False, endless: bool = False) -> Setting:
    """One that answers so, and then hangs up, waits for thanks, or goes on forever."""

    def reply(line: socket.socket) -> None:
        with line, suppress(OSError):
            line.settimeout(2)
            line.recv(1 << 16)
            line.sendall(answer)
            while endless:
                line.sendall(answer)
            if hangs:
                line.recv(1 << 16)

    def serve(door: socket.socket) -> None:
        with suppress(OSError):
            while True:
                line, _ = door.accept()
                threading.Thread(target=reply, args=(line,), daemon=True).start()

    def setting(scene: Scene, stack: ExitStack) -> None:
        door = stack.enter_context(_listening(scene))
        stack.callback(door.shutdown, socket.SHUT_RDWR)
        threading.Thread(target=serve, args=(door,), daemon=True).start()

    return setting


def _listening(scene: Scene) -> socket.socket:
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = os.open(scene.log, os.O_RDONLY | os.O_DIRECTORY)
    try:
        door.bind(f"/proc/self/fd/{folder}/{RESIDENT_SOCKET}")
    finally:
        os.close(folder)
    door.listen(64)
    return door
