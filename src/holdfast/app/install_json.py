"""JSON that belongs to somebody else, edited as text.

A document is read into nodes that know where they stand. What is added is one piece of text at the end
of an object or list, written the way its neighbours are; what is taken out is a stretch of text. Every
other character stays as it is, so that taking out what was added gives the very bytes that were there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from holdfast.errors import Invalid

#: documents nested deeper are not settings of anybody
_DEEPEST = 150
_SPACE = re.compile(r"[ \t\r\n]*")
_NEWLINE = re.compile(r"\r\n|\n|\r")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+"')
_PLAIN = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")

Path = tuple[str | int, ...]
Span = tuple[int, int]
#: what is added to an object (with its name) or to a list (without)
Entry = tuple[str | None, Any]


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a document and where it stands; `end` is just behind it."""

    kind: Literal["object", "list", "plain"]
    start: int
    end: int
    #: the names of an object's members, in order; the last of two equal ones counts
    names: tuple[str, ...] = ()
    #: where each member or item begins: at its name, or at itself
    begins: tuple[int, ...] = ()
    parts: tuple[Node, ...] = ()

    def member(self, name: str) -> Node | None:
        """The member that counts under this name."""
        found = [part for known, part in zip(self.names, self.parts, strict=False) if known == name]
        return found[-1] if found else None


class Added(msgspec.Struct, frozen=True):
    """A piece of text and the place where it was put."""

    at: int
    text: str
    #: a little of what stands around it
    before: str = ""
    behind: str = ""


class _Reader:
    """Reads strictly: no comment, no trailing comma, no NaN."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name

    def whole(self) -> Node:
        node = self._value(self._after_space(int(self.text.startswith("\ufeff"))), 0)
        end = self._after_space(node.end)
        if end != len(self.text):
            raise self.wrong(end, "there is more behind the end of the document")
        return node

    def wrong(self, at: int, what: str) -> Invalid:
        return Invalid(
            f"{self.name}, line {line_of(self.text, at)}: {what}; correct it and try again"
        )

    def _after_space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def _value(self, at: int, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.wrong(at, f"it is nested deeper than {_DEEPEST} levels")
        if self.text.startswith("{", at):
            return self._many(at, depth, "object", "}")
        if self.text.startswith("[", at):
            return self._many(at, depth, "list", "]")
        found = _STRING.match(self.text, at) or _PLAIN.match(self.text, at)
        if found is None:
            raise self.wrong(at, "this is not JSON: a value should stand here")
        return Node(kind="plain", start=at, end=found.end())

    def _many(self, start: int, depth: int, kind: Literal["object", "list"], closing: str) -> Node:
        names: list[str] = []
        begins: list[int] = []
        parts: list[Node] = []
        at = self._after_space(start + 1)
        while parts or not self.text.startswith(closing, at):
            begins.append(at)
            if kind == "object":
                name, at = self._name(at)
                names.append(name)
            parts.append(self._value(at, depth + 1))
            at = self._after_space(parts[-1].end)
            if self.text.startswith(closing, at):
                break
            if not self.text.startswith(",", at):
                raise self.wrong(at, f"this is not JSON: , or {closing} should stand here")
            at = self._after_space(at + 1)
        return Node(
            kind=kind,
            start=start,
            end=at + 1,
            names=tuple(names),
            begins=tuple(begins),
            parts=tuple(parts),
        )

    def _name(self, at: int) -> tuple[str, int]:
        found = _STRING.match(self.text, at)
        if found is None:
            raise self.wrong(at, "this is not JSON: a name in quotes should stand here")
        colon = self._after_space(found.end())
        if not self.text.startswith(":", colon):
            raise self.wrong(colon, "this is not JSON: : should stand here")
        return str(json.loads(found[0])), self._after_space(colon + 1)


def read(text: str, name: str) -> Node:
    """The document; Invalid names file and line where it is not strict JSON."""
    return _Reader(text, name).whole()


def line_of(text: str, at: int) -> int:
    """The line a place is on, counted from 1."""
    return len(_NEWLINE.findall(text, 0, at)) + 1


# ---- adding ------------------------------------------------------------------------------------


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """How a document is written."""

    newline: str
    #: one step to the right
    unit: str
    #: what stands behind a comma or colon on one line
    space: str
    #: everything is on one line
    flat: bool


def style_of(text: str, root: Node) -> Style:
    """How this document is written; an empty one as people write them."""
    newline = _NEWLINE.search(text)
    if not root.parts:
        return Style(newline=newline[0] if newline else "\n", unit="  ", space=" ", flat=False)
    indent = _indent(text[root.start + 1 : root.begins[0]])
    return Style(
        newline=newline[0] if newline else "\n",
        unit=indent or "  ",
        space="" if text[root.parts[0].start - 1] == ":" else " ",
        flat=indent is None,
    )


def added(text: str, node: Node, entries: Sequence[Entry], style: Style) -> Added:
    """What makes these the last entries of an object or list."""
    if not node.parts:
        return _added_to_empty(text, node, entries, style)
    indent = _indent(text[node.start + 1 : node.begins[0]])
    between = "," + (style.space if indent is None else style.newline + indent)
    said = [between + _written(entry, style, indent) for entry in entries]
    return Added(node.parts[-1].end, "".join(said))


def whole(entries: Sequence[Entry], newline: str = "\n") -> str:
    """A document of its own."""
    style = Style(newline=newline, unit="  ", space=" ", flat=False)
    empty = Node(kind="object", start=0, end=2)
    return "{" + _added_to_empty("{}", empty, entries, style).text + "}" + newline


def _added_to_empty(text: str, node: Node, entries: Sequence[Entry], style: Style) -> Added:
    at = node.start + 1
    if style.flat:
        said = [_written(entry, style, None) for entry in entries]
        return Added(at, ("," + style.space).join(said))
    before = text[: node.start]
    line = before[max(before.rfind("\n"), before.rfind("\r")) + 1 :]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    inner = outer + style.unit
    said = [_written(entry, style, inner) for entry in entries]
    between = style.newline + inner
    closes = "" if _indent(text[at : node.end - 1]) is not None else style.newline + outer
    return Added(at, between + ("," + between).join(said) + closes)


def _written(entry: Entry, style: Style, indent: str | None) -> str:
    name, value = entry
    if indent is None:
        said = json.dumps(
            value, ensure_ascii=False, separators=("," + style.space, ":" + style.space)
        )
    else:
        said = json.dumps(value, ensure_ascii=False, indent=style.unit)
        said = said.replace("\n", style.newline + indent)
    if name is None:
        return said
    colon = ": " if indent is not None else ":" + style.space
    return json.dumps(name, ensure_ascii=False) + colon + said


def _indent(gap: str) -> str | None:
    """What stands left of the first entry on its line; None when it does not begin a line."""
    at = max(gap.rfind("\n"), gap.rfind("\r"))
    return None if at < 0 else gap[at + 1 :]


# ---- taking out --------------------------------------------------------------------------------


def without(text: str, root: Node, goes: Callable[[Path, Any], bool]) -> str:
    """The document without what `goes` names, and without what is empty for it."""
    spans = _spans(text, root, (), goes)
    if spans is None:
        return text[: root.start] + "{}" + text[root.end :]
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


def value_of(text: str, node: Node) -> Any:
    """What stands at a node."""
    return json.loads(text[node.start : node.end])


def _spans(
    text: str, node: Node, path: Path, goes: Callable[[Path, Any], bool]
) -> list[Span] | None:
    """The stretches to take out of a node; None when all of it goes."""
    if path and goes(path, value_of(text, node)):
        return None
    steps: Sequence[str | int] = node.names if node.kind == "object" else range(len(node.parts))
    found = [
        _spans(text, part, (*path, step), goes)
        for step, part in zip(steps, node.parts, strict=True)
    ]
    gone = [number for number, spans in enumerate(found) if spans is None]
    if gone and len(gone) == len(found):
        return None
    kept = [number for number in range(len(found)) if number not in gone]
    spans = [span for inner in found for span in inner or ()]
    for number in gone:
        if number < kept[0]:
            spans.append((node.begins[number], node.begins[number + 1]))
        else:
            spans.append((node.parts[number - 1].end, node.parts[number].end))
    return spans
