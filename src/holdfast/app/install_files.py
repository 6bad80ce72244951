"""Files of other people, changed all together or not at all.

Each file is written beside itself, synced and renamed, keeps its mode and owner, and is reached through
a link when it is one. When anything fails, what was changed before is put back.
"""

from __future__ import annotations

import difflib
import errno
import os
import re
import stat
from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec

from holdfast.capture.disk import Disk
from holdfast.errors import Conflict, Denied, HoldfastError, Invalid, Unavailable

_LARGEST = 16 << 20
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_IN_USE = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EBUSY, errno.EACCES}


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds now and what it is to hold; None where there is no file."""

    path: str
    before: bytes | None
    after: bytes | None
    #: nobody else may read it when it is made
    private: bool = False


class _Made(msgspec.Struct, kw_only=True):
    """How far one change has come."""

    change: Change
    was: os.stat_result | None
    folders: list[str]
    written: bool = False


def digest(data: bytes) -> str:
    """The SHA-256 of bytes."""
    return sha256(data).hexdigest()


def current(path: str) -> bytes | None:
    """What a file holds; None when there is none."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except (IsADirectoryError, NotADirectoryError) as exc:
        raise Invalid(
            f"{path} cannot be a file here: {exc.strerror}; move away what is there"
        ) from exc
    except PermissionError as exc:
        raise Denied(f"{path} cannot be read: {exc.strerror}") from exc
    except OSError as exc:
        raise Unavailable(f"{path} cannot be read: {exc.strerror}") from exc
    if len(data) > _LARGEST:
        raise Invalid(f"{path} is larger than {_LARGEST >> 20} MiB and so not a file to edit")
    return data


def missing_folders(paths: Iterable[str]) -> list[str]:
    """The folders that would be made for these files, parents first."""
    found: set[str] = set()
    for path in paths:
        folder = os.path.dirname(os.path.realpath(path))
        while folder not in found and not os.path.lexists(folder):
            found.add(folder)
            folder = os.path.dirname(folder)
    return sorted(found)


def apply(changes: Sequence[Change], disk: Disk | None = None) -> None:
    """Make every change, or none: what fails is said after everything is as it was."""
    disk = disk or Disk()
    begun: list[_Made] = []
    try:
        for change in changes:
            begun.append(_begun(change))
            _make(begun[-1], disk)
    except BaseException as exc:
        lost = _put_back(begun, disk)
        if lost:
            raise Unavailable(
                f"{exc}; and these could not be put back as they were: {', '.join(lost)}"
            ) from exc
        if isinstance(exc, OSError):
            raise _said(exc, begun[-1].change.path) from exc
        raise


def _said(exc: OSError, path: str) -> HoldfastError:
    kind = Denied if isinstance(exc, PermissionError) else Unavailable
    return kind(f"{path} cannot be written: {exc.strerror or exc}; nothing was changed")


def _begun(change: Change) -> _Made:
    target = os.path.realpath(change.path)
    try:
        was = os.stat(target)
    except (FileNotFoundError, NotADirectoryError):
        was = None
    return _Made(change=change, was=was, folders=missing_folders([change.path]))


def _make(made: _Made, disk: Disk) -> None:
    change = made.change
    if current(change.path) != change.before:
        raise Conflict(f"{change.path} was changed by somebody else just now; run this again")
    for folder in made.folders if change.after is not None else ():
        disk.mkdir(folder, 0o700 if change.private else 0o777)
    _put(change.path, change.after, made, disk)
    made.written = True


def _put(path: str, data: bytes | None, made: _Made, disk: Disk) -> None:
    target = os.path.realpath(path)
    if data is None:
        disk.unlink(target)
    else:
        draft = disk.draft_name(target)
        try:
            _write(draft, data, made, disk)
            disk.replace(draft, target)
        except BaseException:
            if os.path.lexists(draft):
                os.unlink(draft)
            raise
    disk.sync_folder(os.path.dirname(target))


def _write(draft: str, data: bytes, made: _Made, disk: Disk) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = disk.open(draft, flags, 0o600 if made.change.private or made.was else 0o666)
    try:
        if made.was is not None:
            if os.geteuid() == 0:
                os.fchown(fd, made.was.st_uid, made.was.st_gid)
            os.fchmod(fd, stat.S_IMODE(made.was.st_mode))
        disk.write_all(fd, data)
        disk.fsync(fd)
    finally:
        disk.let_go(fd)


def _put_back(begun: list[_Made], disk: Disk) -> list[str]:
    """Undo what was done, the last first; the files for which that failed."""
    lost = []
    for made in reversed(begun):
        change = made.change
        try:
            if made.written or current(change.path) == change.after != change.before:
                _put(change.path, change.before, made, disk)
        except (OSError, HoldfastError):
            lost.append(change.path)
        remove_folders(made.folders)
    return lost


def remove_folders(folders: Iterable[str]) -> list[str]:
    """Remove those of these folders that hold nothing, children first; which they were."""
    gone = []
    for folder in sorted(folders, reverse=True):
        try:
            os.rmdir(folder)
        except OSError as exc:
            if exc.errno not in _IN_USE:
                raise
        else:
            gone.append(folder)
    return gone


def difference(change: Change) -> str:
    """What a change does, as a unified diff."""
    old, new = _lines(change.before), _lines(change.after)
    names = (
        change.path if change.before is not None else "/dev/null",
        change.path if change.after is not None else "/dev/null",
    )
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(old, new, *names)
    )


def _lines(data: bytes | None) -> list[str]:
    return _LINE.findall((data or b"").decode("utf-8", "replace"))
