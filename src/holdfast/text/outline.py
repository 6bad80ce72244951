"""What a piece of source code defines, and where: Python by its syntax tree, the rest by its lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

import msgspec

#: a longer text is read by its lines, which takes a constant time for each
_LONGEST_TREE = 200_000
#: brackets nested deeper than this are read by lines: a parser that meets an error goes back and forth
_DEEPEST = 40
#: a signature has at most so many lines
_SIGNATURE = 24
#: so much of a line is read, and of a statement that makes a table
_LINE, _STATEMENT = 400, 8_000

_ESCAPED = re.compile(r"\\([^\n])")
# A number and a word without a space between them: Python warns of it.
_GLUED = re.compile(r"\b[0-9]\w*(?:and|else|for|if|in|is|or|not)\b")
_BEFORE = (
    r"(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|pub(?:\([a-z]+\))?|"
    r"unsafe|extern|inline|virtual|override|sealed|partial|declare|open|data|suspend)[ \t]+)*"
)
_WORDS = (
    r"(?:def|class|function\*?|func|fn|fun|interface|struct|enum|trait|impl|module|namespace|"
    r"protocol|extension|object|record|sub|proc|macro_rules!|message|service|"
    r"type(?=[ \t]+\w+[ \t]*[=<{]))"
)
_NAME = r"(?:\([^()]{0,60}\)[ \t]*)?([A-Za-z_$~][\w$.:]*)"
_RULES = (
    re.compile(rf"[ \t]*{_BEFORE}{_WORDS}[ \t]+{_NAME}"),
    re.compile(
        rf"[ \t]*{_BEFORE}(?:const|let|var|val)[ \t]+([A-Za-z_$][\w$]*)[ \t]*(?::[^=]{{1,80}})?=[ \t]*"
        r"(?:async\b|function\b|\([^()]{0,200}\)[ \t]*(?::[^=]{1,60})?=>|[A-Za-z_$][\w$]*[ \t]*=>)"
    ),
    re.compile(
        r"[ \t]*CREATE[ \t]+(?:[A-Z]+[ \t]+){0,3}"
        r"(?:TABLE|VIEW|INDEX|FUNCTION|TRIGGER|PROCEDURE|TYPE)[ \t]+"
        r"(?:IF[ \t]+NOT[ \t]+EXISTS[ \t]+)?([\w.\"`\[\]]+)",
        re.IGNORECASE,
    ),
    re.compile(r"([A-Za-z_][\w-]*)[ \t]*\(\)[ \t]*\{"),
)
_TABLE = re.compile(r"[ \t]*CREATE[ \t]+(?:[A-Z]+[ \t]+){0,3}TABLE\b", re.IGNORECASE)
_PARTS = re.compile(r"[(),]")
_COLUMN = re.compile(r"\s*[\"`\[]?(\w+)")
_LIMITS = "PRIMARY FOREIGN UNIQUE CHECK CONSTRAINT KEY INDEX EXCLUDE LIKE"
_CONSTRAINTS = frozenset(_LIMITS.split())
_IMPORT = re.compile(
    r"[ \t]*(?:import\b|from[ \t]+[\w.]+[ \t]+import\b|#[ \t]*include\b|using[ \t]+[\w.:]+[ \t]*;|"
    r"require\b|use[ \t]+[\w:]+|package[ \t]+[\w.]+|(?:const|let|var)\b[^=\n]{1,120}=[ \t]*require\()"
)
# Before an opening bracket: what a language of braces calls its functions.
_CALLED = re.compile(r"([A-Za-z_$~][\w$:~]*)[ \t]*$")
_FLOW = "if for while switch else catch return do try with elif when match new throw await describe it }"
_CONTROL = frozenset(_FLOW.split())
_DOC = re.compile(r"[ \t]*[rRuUbB]{0,2}(?:\"\"\"|''')[ \t]*(.*)")


class Definition(msgspec.Struct, frozen=True):
    """One thing that is defined: lines `first` to `last` say what it is, those before `end` how."""

    first: int
    last: int
    end: int
    #: the line its name stands in, behind what decorates it
    named: int
    name: str
    doc: str = ""


def outline(lines: Sequence[str]) -> list[Definition]:
    """What is defined, in the order of the lines; a definition may lie inside of another."""
    found = _by_tree(lines)
    return _by_lines(lines) if found is None else found


def is_table(line: str) -> bool:
    """Whether a table of a database begins here."""
    return _TABLE.match(line[:_LINE]) is not None


def columns(lines: Sequence[str]) -> list[str]:
    """The names of a table's columns, from the statement that makes it."""
    _, _, body = "\n".join(lines)[:_STATEMENT].partition("(")
    found: list[str] = []
    depth, start = 0, 0
    for mark in _PARTS.finditer(body):
        depth += {"(": 1, ")": -1}.get(mark[0], 0)
        if depth < 0 or (depth == 0 and mark[0] == ","):
            found.append(body[start : mark.start()])
            start = mark.end()
        if depth < 0:
            break
    names = [_COLUMN.match(one) for one in found]
    return [name[1] for name in names if name and name[1].upper() not in _CONSTRAINTS]


def is_import(line: str) -> bool:
    """Whether a line brings in something that is defined elsewhere."""
    return _IMPORT.match(line[:_LINE]) is not None


# ---- by the tree ---------------------------------------------------------------------------------


def _by_tree(lines: Sequence[str]) -> list[Definition] | None:
    """The definitions of Python; None when it is not Python or not to be parsed safely."""
    source = "\n".join(lines)
    if len(source) > _LONGEST_TREE or ("def " not in source and "class " not in source):
        return None
    if _GLUED.search(source) or _depth(source) > _DEEPEST:
        return None
    # What is escaped in a string says nothing here, and some of it would be warned of.
    plain = _ESCAPED.sub(lambda found: "xx" if found[1] in "\"'\\" else f"x{found[1]}", source)
    try:
        tree = ast.parse(plain)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return sorted(_defined(tree, lines), key=lambda one: one.first)


def _depth(source: str) -> int:
    deepest = depth = 0
    for bracket in re.findall(r"[()\[\]{}]", source):
        depth = depth + 1 if bracket in "([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def _defined(tree: ast.AST, lines: Sequence[str]) -> Iterator[Definition]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield _definition(lines, node.lineno - 1, node.end_lineno or node.lineno, node.name)


def _definition(lines: Sequence[str], named: int, end: int, name: str) -> Definition:
    """What is defined at a line, with the single lines that decorate it."""
    first = named
    while first and lines[first - 1].lstrip().startswith("@"):
        first -= 1
    last = _signature(lines, named)
    return Definition(first, last, max(last + 1, end), named, name, _doc(lines, last))


# ---- by lines ------------------------------------------------------------------------------------


def _by_lines(lines: Sequence[str]) -> list[Definition]:
    found: list[Definition] = []
    ends = _ends(lines)
    at = 0
    while at < len(lines):
        name = _name(lines[at][:_LINE])
        if name:
            found.append(_definition(lines, at, ends[at], name))
            at = found[-1].last
        at += 1
    return found


def _name(line: str) -> str:
    for rule in _RULES:
        found = rule.match(line)
        if found:
            return found[1].strip('"`[]:')
    return _braced(line.rstrip())


def _braced(line: str) -> str:
    """The name of a function whose line ends in the brace that opens its body."""
    before, bracket, behind = line.partition("(")
    words = before.split()
    if not (bracket and line.endswith("{") and ")" in behind and words) or words[0] in _CONTROL:
        return ""
    compares = "=" in before + behind.rpartition(")")[2]
    named = None if compares or "." in before else _CALLED.search(before)
    return named[1] if named and named[1] not in _CONTROL else ""


def _signature(lines: Sequence[str], at: int) -> int:
    """The last line of what begins here: its brackets are closed; a table's columns are its body."""
    if is_table(lines[at]):
        return at
    depth = 0
    for last in range(at, min(at + _SIGNATURE, len(lines))):
        line = lines[last][:_LINE]
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            return last
    return at


def _ends(lines: Sequence[str]) -> list[int]:
    """For each line where what is indented below it ends, with the bracket that closes it."""
    found = [0] * len(lines)
    open_: list[tuple[int, int]] = []
    behind = 0
    for number, line in enumerate(lines):
        bare = line.strip()
        if not bare:
            continue
        indent = len(line) - len(line.lstrip())
        closes = bare[0] in ")}]" or bare in ("end", "end;")
        if not (closes and bare[-1] in ":{("):  # else the end of a signature, or another branch
            while open_ and open_[-1][0] >= indent:
                depth, place = open_.pop()
                found[place] = number + 1 if closes and depth == indent else behind
            if not closes:
                open_.append((indent, number))
        behind = number + 1
    for _, place in open_:
        found[place] = behind
    return found


def _doc(lines: Sequence[str], last: int) -> str:
    """The first line of the string that stands behind a signature."""
    for number in range(last + 1, min(last + 3, len(lines))):
        if not lines[number].strip():
            continue
        opened = _DOC.match(lines[number][:_LINE])
        if not opened:
            return ""
        said = opened[1].strip() or (lines[number + 1].strip() if number + 1 < len(lines) else "")
        return said.removesuffix('"""').removesuffix("'''").strip()
    return ""
