"""Peers in environments of their own: made with pip, then run with no way out of the machine."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

import msgspec

from bench.peer_embedding import EmbeddingServer

_ROOT = Path(__file__).resolve().parent.parent
_MADE = "made.json"
#: a peer that says nothing for so long has failed
_PATIENCE_S = 1_800.0
_GOODBYE_S = 10.0
_LINES = 12
_NAMESPACES = (["unshare", "--net"], ["unshare", "--user", "--map-root-user", "--net"])
#: a port of the loopback where nobody listens
_NOWHERE = "http://127.0.0.1:9"
_QUIET = {
    "MEM0_TELEMETRY": "False",
    "POSTHOG_DISABLED": "1",
    "ANONYMIZED_TELEMETRY": "False",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "HTTP_PROXY": _NOWHERE,
    "HTTPS_PROXY": _NOWHERE,
    "ALL_PROXY": _NOWHERE,
    "NO_PROXY": "127.0.0.1,localhost",
}


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody else's memory, and how it is used here."""

    name: str
    #: the module that runs in its environment, and which of its ways is meant
    module: str
    way: str = ""
    #: what pip installs, and what of it has a version worth telling
    packages: tuple[str, ...]
    named: tuple[str, ...]
    #: whether the benchmark fails without it
    required: bool = True
    embeds: bool = True


class Failed(Exception):
    """A peer could not be installed, or did not run."""


# ---- environments ------------------------------------------------------------------------------


def environment(folder: Path, packages: Sequence[str]) -> Path:
    """The Python of an environment with these packages, made unless the folder holds it."""
    home = folder / re.sub(r"[^\w.]+", "-", "-".join(packages))
    python = home / "bin" / "python"
    made = home / _MADE
    if not made.is_file():
        _run([sys.executable, "-m", "venv", "--clear", str(home)])
        _run([str(python), "-m", "pip", "install", "--quiet", *packages])
        made.write_text(json.dumps(list(packages)), "utf-8")
    return python


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise Failed(f"{' '.join(command[1:])}: {_end_of(done.stderr or done.stdout)}")


def _end_of(text: str) -> str:
    """The last lines, where the error stands."""
    return "\n".join(text.strip().splitlines()[-_LINES:])


# ---- processes ---------------------------------------------------------------------------------


@cache
def namespace() -> list[str]:
    """The command that runs another without a network; empty where there is none."""
    for command in _NAMESPACES:
        try:
            done = subprocess.run([*command, "true"], capture_output=True, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return command
    return []


class Child:
    """A peer's process, from entering to leaving; Failed is what goes wrong with it."""

    def __init__(
        self, peer: Peer, python: Path, embeddings: EmbeddingServer, cage: Sequence[str]
    ) -> None:
        """`cage` is the command that keeps it off the network; without one Python itself does."""
        self.peer = peer
        self._python = python
        self._embeddings = embeddings
        self._cage = list(cage)

    def __enter__(self) -> Child:
        with ExitStack() as stack:
            home = Path(stack.enter_context(TemporaryDirectory(prefix="holdfast-peer-")))
            self._errors = stack.enter_context((home / "errors").open("w+b"))
            ours, theirs = socket.socketpair()
            with ours, theirs:
                self._process = self._started(home, theirs)
                stack.callback(_ended, self._process)
                theirs.close()  # a child that dies before it answers is then the end of ours
                self._begin(ours)
            self._stack = stack.pop_all()
        return self

    def _started(self, home: Path, door: socket.socket) -> subprocess.Popen[str]:
        self._door = door.fileno() if self._cage else -1
        try:
            return subprocess.Popen(
                [*self._cage, str(self._python), "-m", self.peer.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                encoding="utf-8",
                cwd=home,
                env=_surroundings(home),
                pass_fds=(door.fileno(),),
            )
        except OSError as exc:
            raise Failed(str(exc)) from exc

    def _begin(self, ours: socket.socket) -> None:
        """Tell it its job; in a network namespace take the listener it opens in there."""
        embedder = self._embeddings.embedder
        job = {
            "way": self.peer.way,
            "model": embedder.name,
            "dims": embedder.dims,
            "named": self.peer.named,
            "installed": self.peer.packages,
            "url": "" if self._cage else self._embeddings.listen(),
            "door": self._door,
        }
        self._tell(job)
        if self._cage:
            _, descriptors, _, _ = socket.recv_fds(ours, 16, 1)
            if not descriptors:
                raise self._failed()
            self._embeddings.adopt(socket.socket(fileno=descriptors[0]))

    def ask(self, op: str, **more: Any) -> dict[str, Any]:
        """One request; Failed with the peer's own error when it has one."""
        self._tell({"op": op, **more})
        assert self._process.stdout is not None
        late = threading.Timer(_PATIENCE_S, self._process.kill)
        late.start()
        try:
            line = self._process.stdout.readline()
        finally:
            overdue = not late.is_alive()
            late.cancel()
        if not line:
            raise Failed(f"no answer in {_PATIENCE_S:,.0f} s") if overdue else self._failed()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            tried = f" (it reached for {', '.join(answer['tried'])})" if answer["tried"] else ""
            raise Failed(f"{answer['error']}{tried}")
        return answer

    def _tell(self, said: object) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(said) + "\n")
            self._process.stdin.flush()
        except OSError as exc:
            raise self._failed() from exc

    def _failed(self) -> Failed:
        """What a process that is gone wrote last."""
        code = _ended(self._process)
        self._errors.seek(0)
        said = _end_of(self._errors.read().decode("utf-8", "replace"))
        return Failed(said or f"it ended with exit code {code}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()


def _ended(process: subprocess.Popen[str]) -> int:
    """Let a process come to its end, or end it; its exit code."""
    for pipe in (process.stdin, process.stdout):
        with suppress(BrokenPipeError):  # what it did not take is of no use any more
            if pipe is not None:
                pipe.close()
    try:
        return process.wait(_GOODBYE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _surroundings(home: Path) -> dict[str, str]:
    """The whole environment of a peer: its home is its own, nobody is told anything."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    folders = {"HOME": home, "TMPDIR": home, "MEM0_DIR": home / "mem0", "PYTHONPATH": _ROOT}
    return kept | _QUIET | {name: str(folder) for name, folder in folders.items()}
