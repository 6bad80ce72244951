"""Single values in the user's own settings file, changed where they stand.

What always holds: but for these values the file says what it said, comments and order included; a
file that cannot be changed so is left alone, with the lines to write by hand; before it is changed
a copy of it lies beside it; when the settings that hold afterwards are not those that were meant,
it is as before.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.errors import Conflict, Invalid
from holdfast.settings import config_file

from .install_files import Change, apply, current

#: what the copy of the file is called
BEFORE = ".before-tune"
_TABLE = re.compile(r"\s*\[(?!\[)\s*(?P<name>[^\[\]#]+?)\s*\]\s*(?:#.*)?")
_ANY_TABLE = re.compile(r"\s*\[")
_VALUE = re.compile(
    r"(?P<head>\s*(?P<name>[A-Za-z0-9_-]+)\s*=\s*)"
    r"(?P<value>\"[^\"\\]*\"|'[^']*'|[^\s#\"'\[\]{}]+)(?P<tail>\s*(?:#.*)?)"
)


def written(table: str, values: Mapping[str, Any], holds: Callable[[], bool]) -> str:
    """Set values of a table; the path of the file. `holds` says whether they are in force then."""
    path = os.fspath(config_file())
    before = current(path)
    after = edited(_text(before, path), table, values, path).encode()
    copy = path + BEFORE
    changes = [Change(path=path, before=before, after=after, private=True)]
    if before is not None:
        there = current(copy)
        changes.insert(0, Change(path=copy, before=there, after=before, private=True))
    apply(changes)
    try:
        good = holds()
    except BaseException:
        _put_back(path, before, after)
        raise
    if not good:
        _put_back(path, before, after)
        raise Conflict(
            f"{path} is as it was: something else sets the same, such as context-config.yaml "
            f"beside it; write there what these lines say\n{lines(table, values)}"
        )
    return path


def _put_back(path: str, before: bytes | None, after: bytes) -> None:
    apply([Change(path=path, before=after, after=before)])


def _text(data: bytes | None, path: str) -> str:
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as exc:
        raise Invalid(f"{path} is not valid TOML: {exc}") from exc


def edited(text: str, table: str, values: Mapping[str, Any], path: str = "config.toml") -> str:
    """A file of settings with other values; Invalid for one in which that cannot be done safely."""
    wanted = _parsed(text, path)
    wanted[table] = {**wanted.get(table, {}), **values}
    made = _edited(text, table, values)
    try:
        same = tomllib.loads(made) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise Invalid(
            f"{path} is written in a way in which [{table}] cannot be changed safely; write this "
            f"there yourself:\n{lines(table, values)}"
        )
    return made


def _parsed(text: str, path: str) -> dict[str, Any]:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise Invalid(f"{path} is not valid TOML: {exc}") from exc
    return found


def _edited(text: str, table: str, values: Mapping[str, Any]) -> str:
    """Replace the values that stand there, add the others to the end of their table."""
    rows = text.split("\n")
    ends = "\r" if rows[0].endswith("\r") else ""
    begin = next((n for n, row in enumerate(rows) if _names(row, table)), None)
    if begin is None:
        more = lines(table, values).replace("\n", ends + "\n")
        open_end = f"{ends}\n" if text and not text.endswith("\n") else ""
        apart = f"{ends}\n" if text.strip() else ""
        return f"{text}{open_end}{apart}{more}{ends}\n"
    left, last = dict(values), begin
    for n in range(begin + 1, len(rows)):
        if _ANY_TABLE.match(rows[n]):
            break
        if rows[n].strip():
            last = n
        found = _VALUE.fullmatch(rows[n].removesuffix("\r"))
        if found is not None and found["name"] in left:
            value = _written(left.pop(found["name"]))
            rows[n] = found["head"] + value + found["tail"] + ends
    rows[last + 1 : last + 1] = [
        f"{name} = {_written(value)}{ends}" for name, value in left.items()
    ]
    return "\n".join(rows)


def _names(row: str, table: str) -> bool:
    found = _TABLE.fullmatch(row.removesuffix("\r"))
    return found is not None and found["name"] == table


def lines(table: str, values: Mapping[str, Any]) -> str:
    """Values as a file of settings says them."""
    return "\n".join(
        [f"[{table}]", *(f"{name} = {_written(value)}" for name, value in values.items())]
    )


def _written(value: Any) -> str:
    """A plain value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return f'"{value}"'
