"""Which files a pattern means: below the project's root, and never beyond it.

A pattern is relative to the root, with forward slashes. `*` and `?` stay within a name, `[…]` names
characters, `**` is any number of folders. Names that begin with a dot are found only by patterns that
say the dot. `**` does not follow links, and passes over folders of dependencies, over other projects
and, with all that stands behind it, over what the project's .gitignore files leave out; whoever wants
those names them.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from holdfast.errors import Denied, Invalid
from holdfast.model.documents import LONGEST_PATH, LeftOut

from .ignore import Ignored

#: the file that says a folder is a project of its own
_MARKER = ".holdfast.toml"
#: folders that hold what others wrote or what can be made again
_PASSED_OVER = frozenset({"node_modules", "bower_components", "site-packages", "__pycache__"})
LEADS_OUT = "it is a link that leads out of the project"


def normal(given: str, root: str = "") -> str:
    """A pattern as it is remembered; empty for the root itself. Denied when it leads out of the root."""
    if not isinstance(given, str) or not given.strip() or "\0" in given:
        raise Invalid(f"a pattern is a text like docs/**/*.md, not {given!r}")
    if len(given) > LONGEST_PATH:
        raise Invalid(f"a pattern has at most {LONGEST_PATH:,} characters, not {len(given):,}")
    segments: list[str] = []
    for segment in _below(given, root).split("/"):
        if segment == "..":
            if not segments:
                raise Denied(
                    f"{given} is outside the project; only what lies below its root is read"
                )
            segments.pop()
        elif segment in ("", ".") or (segment == "**" and segments[-1:] == ["**"]):
            continue
        else:
            segments.append(segment)
    return "/".join(segments)


def _below(given: str, root: str) -> str:
    """A pattern without the root it may begin with."""
    if not os.path.isabs(given):
        return given
    for base in (root, os.path.realpath(root)) if root else ():
        if given == base or given.startswith(base.rstrip("/") + "/"):
            return given[len(base) :]
    raise Denied(
        f"{given} is outside the project{f' ({root})' if root else ''}; only files below are read"
    )


def meant(given: str, root: str) -> str:
    """The pattern somebody means who gives this: a folder means all it holds, a file itself."""
    pattern = normal(given, root)
    place = os.path.join(root, pattern)
    if not pattern or os.path.isdir(place):
        return f"{pattern}/**".lstrip("/")
    return glob.escape(pattern) if glob.has_magic(pattern) and os.path.lexists(place) else pattern


def fits(pattern: str, path: str) -> bool:
    """Does a path match a pattern, or lie in the folder it names? Every path lies in the empty one."""
    if pattern in ("", path) or path.startswith(pattern + "/"):
        return True
    wanted, names = pattern.split("/"), path.split("/")
    at = name = 0
    back, retry = -1, 0
    while name < len(names):
        if at < len(wanted) and wanted[at] == "**":
            back, retry = at, name
            at += 1
        elif at < len(wanted) and fnmatchcase(names[name], wanted[at]):
            at, name = at + 1, name + 1
        elif back >= 0:
            retry += 1
            at, name = back + 1, retry
        else:
            return False
    return all(segment == "**" for segment in wanted[at:])


class Finder:
    """Looks for files below one root; what it had to pass over is in `left_out`."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._real = os.path.realpath(root)
        self._ignored = Ignored(root)
        self.left_out: list[LeftOut] = []

    def files(self, pattern: str) -> list[str]:
        """The paths that match, in order; whatever they are, but no folders."""
        segments = pattern.split("/")
        if segments[-1] == "**":
            segments.append("*")
        found: set[str] = set()
        seen: set[tuple[str, int]] = set()
        waiting = [("", 0)]
        while waiting:
            if (here := waiting.pop()) in seen:
                continue
            seen.add(here)
            for path, at in self._from(*here, segments):
                if at < len(segments):
                    waiting.append((path, at))
                else:
                    found.add(path)
        return sorted(found)

    def _from(self, folder: str, at: int, segments: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Where a pattern leads from a folder, and how much of it is used up there."""
        segment, last = segments[at], at == len(segments) - 1
        if segment == "**":
            yield folder, at + 1
            for entry in self._entries(folder):
                if entry.is_dir(follow_symlinks=False) and self._goes_into(folder, entry):
                    yield _join(folder, entry.name), at
        elif not glob.has_magic(segment):
            path = _join(folder, segment)
            if self._suits(path, last=last):
                yield path, at + 1
        else:
            behind = "**" in segments[:at]
            for entry in self._entries(folder):
                hidden = entry.name.startswith(".") and not segment.startswith(".")
                if hidden or not fnmatchcase(entry.name, segment):
                    continue
                path = _join(folder, entry.name)
                if behind and self._is_ignored(folder, path, is_folder=not last):
                    continue
                if self._suits(path, last=last):
                    yield path, at + 1

    def _suits(self, path: str, *, last: bool) -> bool:
        """A file where a pattern ends, a folder of the project where it goes on."""
        place = os.path.join(self._root, path)
        if last:
            return os.path.lexists(place) and not os.path.isdir(place)
        if not os.path.isdir(place):
            return False
        if not inside(os.path.realpath(place), self._real):
            self._leave(path, LEADS_OUT)
            return False
        return True

    def _goes_into(self, folder: str, entry: os.DirEntry[str]) -> bool:
        hidden = entry.name.startswith(".")
        return not (
            hidden
            or entry.name in _PASSED_OVER
            or os.path.lexists(os.path.join(entry.path, _MARKER))
            or self._is_ignored(folder, _join(folder, entry.name), is_folder=True)
        )

    def _is_ignored(self, folder: str, path: str, *, is_folder: bool) -> bool:
        """Is it left out, and not because somebody named the folder it lies in although that is?"""
        return self._ignored.leaves_out(path, folder=is_folder) and not self._ignored.holds(folder)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(os.path.join(self._root, folder)) as found:
                return sorted(found, key=lambda entry: entry.name)
        except NotADirectoryError:
            return []
        except OSError as exc:
            self._leave(folder or ".", f"it cannot be read: {exc.strerror}")
            return []

    def _leave(self, path: str, why: str) -> None:
        left = LeftOut(path=path, why=why, passing=why != LEADS_OUT)
        if left not in self.left_out:
            self.left_out.append(left)


def inside(place: str, root: str) -> bool:
    """Is a real path that of the root, or below it?"""
    return place == root or place.startswith(root.rstrip("/") + "/")


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
