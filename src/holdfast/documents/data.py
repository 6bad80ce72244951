"""Files of statements and of keys: SQL, JSON, YAML, TOML and their like."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from .units import Unit, lines

_SQL_MARK = re.compile(r"--|/\*|['\"`;]|\$[A-Za-z_]*\$")
_SQL_REST = re.compile(r"[ \t\r]*(?:--[^\n]*)?(?:\n|$)")
_SQL_COMMENT = re.compile(r"\s+|--[^\n]*|/\*(?s:.)*?\*/")
_JSON_MARK = re.compile(r'"(?:[^"\\]|\\(?s:.))*+"?|[\[\]{}]')
_YAML_KEY = re.compile(
    r"(?:-[ \t]+)?[\"']?([^\s#\"'\-{\[|>&*!%@`][^:#\n]{0,200}?)[\"']?[ \t]*:(?:\s|$)"
)
_TOML_TABLE = re.compile(r"\[{1,2}[ \t]*([^\]\n]{1,200}?)[ \t]*\]{1,2}[ \t]*(?:[#;].*)?$")
_TOML_KEY = re.compile(r"([A-Za-z0-9_.\"'-]{1,200})[ \t]*[=:]")


# ---- SQL -------------------------------------------------------------------------------------


def sql(text: str) -> list[Unit]:
    """Each statement, with the comments before it."""
    found, start = [], 0
    for end in [*_ends(text), len(text)]:
        said = _first_words(text, start, end)
        if said:
            found.append(Unit(start, said))
        start = end
    return found


def _ends(text: str) -> Iterator[int]:
    """Where a statement ends with its line, semicolons in quotes and comments apart."""
    at = 0
    while (mark := _SQL_MARK.search(text, at)) is not None:
        at = mark.end()
        if mark[0] == ";":
            rest = _SQL_REST.match(text, at)
            if rest is not None:
                at = rest.end()
                yield at
            continue
        closing = {"--": "\n", "/*": "*/"}.get(mark[0], mark[0])
        end = text.find(closing, at)
        at = len(text) if end < 0 else end + len(closing)


def _first_words(text: str, start: int, end: int) -> str:
    """What a statement does, to what: its first words, up to a bracket."""
    while start < end and (comment := _SQL_COMMENT.match(text, start, end)) is not None:
        start = comment.end()
    head = text[start : min(end, start + 200)].partition("(")[0].partition(";")[0]
    return " ".join(head.split()[:6])


# ---- keys ------------------------------------------------------------------------------------


def json(text: str) -> list[Unit]:
    """Each key of the outermost object, or each element of the outermost list."""
    breaks = [end.end() for end in re.finditer("\n", text)]
    found: list[Unit] = []
    depth = before = 0
    for mark in _JSON_MARK.finditer(text):
        said, at = mark[0], mark.start()
        if depth == 1:
            line = bisect_right(breaks, at)
            start = breaks[line - 1] if line else 0
            alone = start >= before and not text[start:at].strip()
            named = said[0] == '"' and text[mark.end() : mark.end() + 20].lstrip()[:1] == ":"
            if alone and (named or said in "[{"):
                found.append(Unit(start, said[1:-1][:200] if named else ""))
        depth += (said in "[{") - (said in "]}")
        before = mark.end()
    return found


def yaml(text: str) -> list[Unit]:
    """Each key at the left margin, and each element of a list there, with the comments above it."""
    found: list[Unit] = []
    above: int | None = None
    for start, line in lines(text):
        if line.startswith("#"):
            above = start if above is None else above
            continue
        key = _YAML_KEY.match(line)
        if key is not None or line.startswith("- ") or line.rstrip() == "---":
            found.append(Unit(start if above is None else above, key[1] if key else ""))
        above = None
    return found


def toml(text: str) -> list[Unit]:
    """Each table, and each key before the first of them, with the comments above it."""
    found: list[Unit] = []
    above: int | None = None
    in_table = False
    for start, line in lines(text):
        if line.startswith(("#", ";")):
            above = start if above is None else above
            continue
        table = _TOML_TABLE.match(line)
        key = None if in_table or table is not None else _TOML_KEY.match(line)
        named = table or key
        if named is not None:
            in_table = in_table or table is not None
            found.append(Unit(start if above is None else above, named[1]))
        above = None
    return found
