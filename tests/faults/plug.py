"""A disk whose plug can be pulled: it knows what a power cut would leave, at any moment.

Bytes count from the sync of their file, names from the sync of their folder. Between two syncs the
worst that is legal is tried: unsynced bytes are gone, all there, there up to somewhere, or NULs;
unsynced creations, renames and removals have each happened or not.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from .disks import Crash, HookedDisk, changes

#: one change of names in a folder: path to inode, or to nothing
Step = tuple[tuple[str, int | None], ...]
Tree = dict[str, bytes | None]  # path to content; a folder has none


class Platter:
    """What survives, and what the kernel still holds. One for all processes of a machine."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.names: dict[str, int] = {}
        self.steps: dict[str, list[Step]] = {}
        #: inode to bytes: on the platter, and as the next sync would leave them; None is a folder
        self.synced: dict[int, bytes | None] = {}
        self.coming: dict[int, bytes] = {}

    def adopt(self) -> None:
        """Take what lies in the root as synced: the machine has just come up."""
        for place, folders, files in os.walk(self.root):
            for name in folders:
                self._adopted(os.path.join(place, name), None)
            for name in files:
                with open(os.path.join(place, name), "rb") as file:
                    self._adopted(os.path.join(place, name), file.read())

    def _adopted(self, path: str, data: bytes | None) -> None:
        inode = os.stat(path).st_ino
        self.names[path] = inode
        self.synced[inode] = data
        self.coming[inode] = data or b""

    def trees(self) -> Iterator[Tree]:
        """Every folder tree a power cut at this moment may leave."""
        folders = list(self.steps)
        happened = [_subsets(self.steps[folder]) for folder in folders]
        for chosen in product(*happened):
            names = dict(self.names)
            for steps in chosen:
                for step in steps:
                    _apply(names, step)
            for bytes_of in (_none, _all, _torn, _nuls):
                yield self._tree(names, bytes_of)

    def forget(self, gone: set[str]) -> None:
        """A rename is one change, also between two folders: the old name cannot come back."""
        for folder, steps in self.steps.items():
            self.steps[folder] = [s for s in steps if s[0][0] not in gone or len(s) > 1]

    def _tree(self, names: dict[str, int], bytes_of: Callable[[bytes, bytes], bytes]) -> Tree:
        tree: Tree = {}
        for path in sorted(names):
            parent = os.path.dirname(path)
            if parent != self.root and parent not in tree:
                continue  # its folder did not last
            synced = self.synced[names[path]]
            if synced is not None:
                synced = bytes_of(synced, self.coming[names[path]])
            tree[path] = synced
        return tree

    def lay_out(self, tree: Tree, place: str) -> None:
        """Make a tree real somewhere else."""
        os.makedirs(place, exist_ok=True)
        for path, data in tree.items():
            target = os.path.join(place, os.path.relpath(path, self.root))
            if data is None:
                os.makedirs(target, exist_ok=True)
            else:
                with open(target, "wb") as file:
                    file.write(data)


def _subsets(steps: list[Step]) -> list[list[Step]]:
    if len(steps) > 6:  # too many to try all: everything up to somewhere
        return [steps[:count] for count in range(len(steps) + 1)]
    kept = product((False, True), repeat=len(steps))
    return [[s for s, keep in zip(steps, keeps, strict=True) if keep] for keeps in kept]


def _apply(names: dict[str, int], step: Step) -> None:
    path, inode = step[0]
    if inode is not None and len(step) == 1 and path in names:
        return  # a creation where the rename before it never happened: that file is in the way
    for path, inode in step:
        if inode is None:
            names.pop(path, None)
        else:
            names[path] = inode


def _none(synced: bytes, coming: bytes) -> bytes:
    return synced


def _all(synced: bytes, coming: bytes) -> bytes:
    return coming


def _torn(synced: bytes, coming: bytes) -> bytes:
    if not coming.startswith(synced):
        return synced
    return coming[: (len(synced) + len(coming) + 1) // 2]


def _nuls(synced: bytes, coming: bytes) -> bytes:
    if not coming.startswith(synced):
        return synced
    return synced + b"\0" * (len(coming) - len(synced))


class PlugDisk(HookedDisk):
    """One process on such a machine."""

    def __init__(self, platter: Platter) -> None:
        super().__init__()
        self.platter = platter
        self.calls = 0
        self.syncs = 0
        #: called before every call that changes something
        self.watch: Callable[[], None] = lambda: None
        self.crash_at = 0
        self.fail_sync_at = 0

    def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Do it, and note what it means for the platter."""
        if self.dead:
            if name == "close":
                return None
            raise Crash
        if changes(name, args):
            self.watch()
            self.calls += 1
        if self.crash_at and self.calls == self.crash_at:
            self.dead = True
            raise Crash
        noted = getattr(self, "_on_" + name, None)
        return noted(real, *args) if noted else real(*args)

    def _step(self, folder: str, *step: tuple[str, int | None]) -> None:
        self.platter.steps.setdefault(folder, []).append(step)

    def _on_open(self, real: Callable[..., int], path: str, flags: int, mode: int = 0o600) -> int:
        fresh = bool(flags & os.O_CREAT) and not os.path.exists(path)
        fd = real(path, flags, mode)
        inode = os.fstat(fd).st_ino
        if fresh:
            self.platter.synced[inode] = b""
            self._step(os.path.dirname(path), (path, inode))
        if fresh or flags & os.O_TRUNC:
            self.platter.coming[inode] = b""
        return fd

    def _on_mkdir(self, real: Callable[..., None], path: str, mode: int) -> None:
        real(path, mode)
        inode = os.stat(path).st_ino
        self.platter.synced[inode] = None
        self._step(os.path.dirname(path), (path, inode))

    def _on_replace(self, real: Callable[..., None], old: str, new: str) -> None:
        inode = os.stat(old).st_ino
        real(old, new)
        self._step(os.path.dirname(new), (new, inode), (old, None))

    def _on_link(self, real: Callable[..., None], old: str, new: str) -> None:
        real(old, new)
        self._step(os.path.dirname(new), (new, os.stat(new).st_ino))

    def _on_unlink(self, real: Callable[..., None], path: str) -> None:
        real(path)
        self._step(os.path.dirname(path), (path, None))

    def _on_write(self, real: Callable[..., int], fd: int, data: bytes) -> int:
        at = os.fstat(fd).st_size  # every descriptor of the log only ever appends
        return self._wrote(fd, data, at, real(fd, data))

    def _on_pwrite(self, real: Callable[..., int], fd: int, data: bytes, at: int) -> int:
        return self._wrote(fd, data, at, real(fd, data, at))

    def _wrote(self, fd: int, data: bytes, at: int, count: int) -> int:
        inode = os.fstat(fd).st_ino
        coming = self.platter.coming[inode].ljust(at, b"\0")
        self.platter.coming[inode] = coming[:at] + bytes(data)[:count] + coming[at + count :]
        return count

    def _on_ftruncate(self, real: Callable[..., None], fd: int, length: int) -> None:
        real(fd, length)
        inode = os.fstat(fd).st_ino
        self.platter.coming[inode] = self.platter.coming[inode][:length].ljust(length, b"\0")

    def _on_fdatasync(self, real: Callable[..., None], fd: int) -> None:
        inode = os.fstat(fd).st_ino
        self.syncs += 1
        if self.syncs == self.fail_sync_at:  # reported once; the pages count as clean from here
            self.platter.coming[inode] = self.platter.synced[inode] or b""
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.platter.synced[inode] = self.platter.coming[inode]

    def _on_fsync(self, real: Callable[..., None], fd: int) -> None:
        path = os.readlink(f"/proc/self/fd/{fd}")
        if not os.path.isdir(path):
            self._on_fdatasync(real, fd)
            return
        for step in self.platter.steps.pop(path, []):
            _apply(self.platter.names, step)
            self.platter.forget({name for name, inode in step if inode is None})
