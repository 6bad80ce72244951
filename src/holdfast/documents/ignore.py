"""What a project's own .gitignore files leave out: what can be made again, and what is nobody else's.

Read as git reads them, from the project's root down: the last rule that matches decides, one in a deeper
folder before one above it, and nothing brings back what lies in a folder that is left out. Not looked at
are the rules of a person or a clone, which stand elsewhere, and named classes of characters.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from fnmatch import translate
from typing import NamedTuple

_NAME = ".gitignore"
#: no rules that people wrote are longer
_MOST_BYTES = 1 << 20
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
#: a character that stands for itself, a class of characters, any other
_TOKEN = re.compile(r"\\(.)|\[([!^]?)(\]?[^\]\\]*)\]|(.)", re.DOTALL)


class Rule(NamedTuple):
    """One line: which paths below its folder it means, and what becomes of them."""

    #: a pattern for each name of the path; None for any number of names
    names: tuple[re.Pattern[str] | None, ...]
    only_folders: bool
    #: it brings back what a rule before it left out
    back: bool

    def means(self, names: Sequence[str], *, folder: bool) -> bool:
        """Is this path meant itself?"""
        return (folder or not self.only_folders) and _match(self.names, names)


def rules(text: str) -> list[Rule]:
    """The rules of one file, in their order; a line that says nothing is none."""
    found = (_rule(line.removesuffix("\r")) for line in text.removeprefix("\ufeff").split("\n"))
    return [rule for rule in found if rule is not None]


def _rule(line: str) -> Rule | None:
    said = _without_spaces(line)
    if not said or said.startswith("#"):
        return None
    back = said.startswith("!")
    said = said.removeprefix("!") if back else said
    only_folders = said.endswith("/")
    said = said.removesuffix("/")
    segments = said.removeprefix("/").split("/")
    if "/" not in said:
        segments.insert(0, "**")
    elif segments[-1] == "**":
        segments.append("*")  # what lies in a folder, not the folder
    try:
        names = tuple(None if one == "**" else _pattern(one) for one in segments)
    except ValueError:
        return None
    return Rule(names, only_folders, back) if said else None


def _without_spaces(line: str) -> str:
    """A line without the spaces it ends with, unless they are meant."""
    bare = line.rstrip(" ")
    slashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if slashes % 2 and bare != line else bare


def _pattern(segment: str) -> re.Pattern[str]:
    """What a name between slashes matches; ValueError for what is not understood."""
    made = ""
    for escaped, inverted, members, plain in _TOKEN.findall(segment):
        if members:
            if "[:" in members:
                raise ValueError(segment)
            made += f"[{'!' if inverted else ''}{members}]"
        elif plain == "[" or (plain == "\\" and not escaped):
            raise ValueError(segment)
        else:
            made += plain or (f"[{escaped}]" if escaped in "*?[" else escaped)
    return re.compile(translate(made))


def _match(wanted: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    """Does each name match its pattern, any number of them where any number may stand?"""
    at = name = 0
    back, retry = -1, 0
    while name < len(names):
        pattern = wanted[at] if at < len(wanted) else None
        if pattern is not None and pattern.match(names[name]):
            at, name = at + 1, name + 1
        elif at < len(wanted) and pattern is None:
            back, retry = at, name
            at += 1
        elif back >= 0:
            retry += 1
            at, name = back + 1, retry
        else:
            return False
    return all(pattern is None for pattern in wanted[at:])


class Ignored:
    """The rules below one root; each file of them is read once, when it is needed."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._rules: dict[str, list[Rule]] = {}
        self._folders: dict[str, bool] = {"": False}

    def leaves_out(self, path: str, *, folder: bool) -> bool:
        """Does a rule mean this path itself, whatever it lies in?"""
        names = path.split("/")
        for depth in range(len(names) - 1, -1, -1):
            above = "/".join(names[:depth])
            for rule in reversed(self._read(above)):
                if rule.means(names[depth:], folder=folder):
                    return not rule.back
        return False

    def holds(self, folder: str) -> bool:
        """Is this folder left out, or one above it?"""
        if folder not in self._folders:
            above = folder.rpartition("/")[0]
            self._folders[folder] = self.holds(above) or self.leaves_out(folder, folder=True)
        return self._folders[folder]

    def _read(self, folder: str) -> list[Rule]:
        if folder not in self._rules:
            self._rules[folder] = rules(_text(os.path.join(self._root, folder, _NAME)))
        return self._rules[folder]


def _text(place: str) -> str:
    """What a file of rules says; nothing where there is none that could be read."""
    try:
        fd = os.open(place, _OPEN)
    except OSError:
        return ""
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return ""
        return file.read(_MOST_BYTES).decode("utf-8", "surrogateescape")
