"""Source code in fewer lines: what it defines, and how much of each body is left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from holdfast.text.choose import MARK, Part, chosen, ends, marked, marks
from holdfast.text.extract import cut
from holdfast.text.markdown import without_fences
from holdfast.text.outline import Definition, columns, is_import, is_table, outline
from holdfast.text.telegram import telegram

#: a longer line is cut, and a longer first line of documentation
_LONGEST, _DOC = 300, 80
#: a definition is worth as much as this many names; one that lies deeper less
_DEFINES, _INDENT = 8.0, 16
#: what a line tells at least, so that a text without any names is shown too; a comment still less
_LEAST, _COMMENTS = 0.05, 0.01
#: so many lines are looked at for what a text may be called
_BEGINNING = 20
#: a block inside a text that has no more lines is shown whole
_SMALL = 3
_SAYS = re.compile(r"\w")
_COMMENT = re.compile(r"\s*(?:#(?!include|define|!)|//|/?\*|--|<!--|;|\"\"\"|''')")
# Words of the languages themselves say nothing about a text.
_WORDS = (
    "import from as def class return self this const let var val function func fn export default async "
    "await new if else elif for in while try except catch finally raise throw with pass public private "
    "protected static void int str float bool None True False null true false undefined and or"
)
_KEYWORD = re.compile(rf"(?<![\w.$/?&%#-])(?:{'|'.join(_WORDS.split())})(?![\w.$/?&%#-])")
_PATH = re.compile(r"(?<![\w/.])(?:~?/?(?:[\w.@-]+/)+[\w.@-]*\w|[\w-]+\.[A-Za-z]{1,5})(?![\w/(])")


def summary(text: str, room: int) -> str:
    """Signatures with their first line of documentation, then what tells most of the bodies."""
    return shown(text.splitlines(), room)


def compressed(text: str, room: int) -> str:
    """The names of what is defined, then what else is named."""
    names = dict.fromkeys(one.name for one in outline(text.splitlines()))
    return telegram(_KEYWORD.sub(" ", text), room, ", ".join(names))


def title(text: str) -> str:
    """The path a text begins with, else what it defines first, else its first line."""
    lines = text.splitlines()
    says = [*islice((line for line in lines if _SAYS.search(line)), _BEGINNING)]
    for line in says[:2]:
        if _COMMENT.match(line) and path_in(line):
            return path_in(line)
    found = outline(lines)
    if found:
        line = lines[found[0].named].strip().rstrip(" ({:")
        return line if len(line) <= _DOC else found[0].name
    first = next((line for line in says if not is_import(line)), says[0] if says else "")
    return cut(first, _LONGEST)


def path_in(line: str) -> str:
    """The first path in a line, or nothing."""
    found = _PATH.search(line[: 2 * _LONGEST])
    return found[0] if found and (found.end() < 2 * _LONGEST or found.end() == len(line)) else ""


def signatures(lines: Sequence[str], room: int) -> str:
    """What is defined alone; of lines that define nothing those that tell most."""
    return shown(lines, room, bodies=False)


def fenced(
    lines: Sequence[str],
    language: str,
    room: int,
    shorter: Callable[[Sequence[str], int], str] = signatures,
) -> str:
    """A block inside a text, fenced, and made shorter if it is long; blank if it is blank."""
    room -= len(language) + 8
    said = sum(bool(_SAYS.search(line)) for line in lines)
    if not said:
        return ""
    inside = without_fences("\n".join(lines).strip("\n"))
    if said > _SMALL or len(inside) > room:
        inside = shorter(lines, room)
    return f"```{language}\n{inside}\n```"


def shown(
    lines: Sequence[str],
    room: int,
    *,
    bodies: bool = True,
    labels: Sequence[str] = (),
    worths: Mapping[int, float] | None = None,
) -> str:
    """Lines that fit into the room, a mark wherever others are left out.

    Without `bodies` a text that defines anything is shown by its definitions alone. `labels` stand
    before the lines, and `worths` has lines that are worth something for other reasons.
    """
    worths = worths or {}
    heads = {one.first: one for one in outline(lines)}
    inside = {number for one in heads.values() for number in _within(one, lines)}
    said = [n for n, each in enumerate(lines) if n not in inside and _SAYS.search(each)]
    says = ends(said, telling=heads.__contains__)
    longest = max(1, min(_LONGEST, room - _body(lines) - 2))
    read = {number: heads[number] for number in says if number in heads}
    defined = _defined(lines, read, labels, longest)
    if sum(len(part.text) + part.beside for part in defined.values()) > room:
        bare = {number: replace(one, doc="") for number, one in read.items()}
        defined = _defined(lines, bare, labels, longest)
    parts: list[Part] = []
    for number in says:
        if number in heads:
            parts.append(defined[number])
        elif number in worths or (not is_import(lines[number]) and (bodies or not heads)):
            part = _line(lines[number], number, labels[number] if labels else "", longest)
            parts.append(replace(part, worth=worths.get(number, 0.0)))
    return _joined(lines, [parts[place] for place in chosen(parts, room - 2)], heads)


def _body(lines: Sequence[str]) -> int:
    """What the mark of a body takes at most: a space, the mark, how many lines, and a line end."""
    return len(f" {MARK} {len(lines)} lines\n")


def _within(head: Definition, lines: Sequence[str]) -> range:
    """The lines that are shown with the first one of a definition: its signature, a table's columns."""
    return range(head.first + 1, head.end if is_table(lines[head.first]) else head.last + 1)


def _defined(
    lines: Sequence[str], heads: Mapping[int, Definition], labels: Sequence[str], longest: int
) -> dict[int, Part]:
    """Each definition by the line it begins in: its signature, and what is said of it if it fits."""
    found = {}
    for number, head in heads.items():
        numbers = range(number, head.last + 1)
        text = "\n".join((labels[n] if labels else "") + lines[n].rstrip() for n in numbers)
        if is_table(lines[number]):
            names = ", ".join(columns(lines[number : head.end]))
            text = f"{text.partition('(')[0].rstrip()} ({names} {MARK})"
        if head.doc and len(text) + len(head.doc) <= longest:
            text += f'  """{cut(head.doc, _DOC)}"""'
        text = without_fences(text if len(text) <= longest else cut(text, longest))
        indent = len(lines[number]) - len(lines[number].lstrip())
        worth = _DEFINES / (1 + indent / _INDENT)
        found[number] = Part(text, marks(text), worth, number, _body(lines))
    return found


def _line(line: str, number: int, label: str, longest: int) -> Part:
    text = without_fences(label + line.rstrip())
    text = text if len(text) <= longest else cut(text, longest)
    bare = line.strip()
    if _COMMENT.match(line):
        return Part(text, {bare: _COMMENTS}, line=number)
    return Part(text, marks(line) | {bare: _LEAST}, line=number)


def _joined(lines: Sequence[str], parts: Sequence[Part], heads: dict[int, Definition]) -> str:
    """The parts, each on lines of its own, a mark behind those that something is left out after."""
    says = [0]
    for line in lines:
        says.append(says[-1] + bool(_SAYS.search(line)))
    starts = [part.line for part in parts]
    pieces = [MARK] if not parts or says[starts[0]] else []
    for part, after in zip(parts, [*starts[1:], len(lines)][: len(parts)], strict=True):
        head = heads.get(part.line)
        start = _within(head, lines).stop if head else part.line + 1
        left = says[after] - says[start]
        body = head is not None and head.end > start and left > 1
        pieces.append(f"{part.text} {MARK} {left} lines" if body else marked(part.text, left > 0))
    return "\n".join(pieces).strip("\n")
