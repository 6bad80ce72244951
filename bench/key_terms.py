"""What a reader would miss: the key terms of a text, and which of them a shorter text still holds.

A term is a file path, the name of an error, a command with the two words behind it, a number, an
identifier, a quoted string or a name. How these are recognised is written here and nowhere else; it
shares no rule with the code that is measured. The number of a line in a listing is no term, nor is
that of an item in a list.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

Sort = Literal["path", "error", "command", "quoted", "identifier", "number", "name"]
SORTS: tuple[Sort, ...] = get_args(Sort)

_PROGRAMS = (
    "pip|pip3|python|python3|pytest|tox|poetry|uv|conda|git|npm|npx|node|yarn|pnpm|make|cmake|cargo|go|"
    "docker|kubectl|curl|wget|ssh|ls|cd|cat|cp|mv|rm|mkdir|grep|find|sed|awk|chmod|export|source|apt|"
    "apt-get|brew|flask|gunicorn|psql|sqlite3|alembic|open|edit|create|search_dir|search_file|find_file|"
    "goto|submit"
)
_NUMBERED = re.compile(r"^[ \t]*\d+(?:[:|\t]|[.)](?=[ \t]))", re.MULTILINE)
_RULES: dict[Sort, re.Pattern[str]] = {
    "command": re.compile(
        rf"^[ \t]*(?:[$>] )?((?:{_PROGRAMS})(?:[ \t]+[^\s;|&]+){{1,2}})", re.MULTILINE
    ),
    "quoted": re.compile(
        r"`([^`\n]{2,60})`|\"([^\"\n]{2,60})\"|“([^”\n]{2,60})”|(?<!\w)'([^'\n]{2,60})'(?!\w)"
    ),
    "path": re.compile(
        r"(?<![\w/:.])((?:~|\.{1,2})?/?(?:[\w.@-]+/)+[\w.@-]*\w|[\w-]+\.[a-z]{1,4})(?![\w/(])(?!\.\w)"
    ),
    "error": re.compile(r"(?<!\w)([A-Z]\w*(?:Error|Exception|Warning|Failure|Fault))(?!\w)"),
    "identifier": re.compile(
        r"(?<![\w./])([A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+|_*[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+|[a-z]+[A-Z]\w*"
        r"|(?:[A-Z][a-z0-9]+){2,}|[A-Z]{2,}[0-9]*|[A-Z]+[0-9]+)(?!\w)"
    ),
    "number": re.compile(r"(?<![\w.])(\d+(?:[.,:/-]\d+)*(?:[A-Za-z]{1,2}|%)?)(?!\w)"),
    "name": re.compile(r"(?<=[a-z,] )([A-Z][a-z]+(?: [A-Z][a-z]+)*)(?!\w)"),
}
_TITLED = re.compile(r"^[ \t]*#.*$|\*\*[^*\n]*\*\*", re.MULTILINE)
#: "e.g" and "E.g", "1/2", "and/or", "12.5it/s"
_PROSE_PATH = re.compile(r"[A-Za-z]?[a-z]*\.[a-z]{1,3}|\d+/\d+(?:/\d+)?|\w+/\w+|\d[\d.]*\w*/\w+")
#: a word of prose, as no shell is told one
_PROSE = re.compile(r"\w['’]\w")


def key_terms(text: str) -> dict[str, Sort]:
    """Each key term of a text once, with its sort: of several that fit, the first in `SORTS`."""
    text = _NUMBERED.sub(lambda found: " " * len(found[0]), text)
    found: dict[str, Sort] = {}
    for sort in SORTS:
        read = _TITLED.sub("", text) if sort == "name" else text
        for match in _RULES[sort].finditer(read):
            term = " ".join(match[match.lastindex or 0].split())
            if _says_something(sort, term):
                found.setdefault(term, sort)
    return found


def held(terms: dict[str, Sort], shorter: str) -> set[str]:
    """Those of the terms that stand whole in the shorter text, not inside of a longer word."""
    line = " ".join(shorter.split())
    return {term for term in terms if _stands(term, line)}


def _says_something(sort: Sort, term: str) -> bool:
    if sort == "path":
        return not (_PROSE_PATH.fullmatch(term) and term.count("/") < 2 and not _has_ending(term))
    return any(map(str.isalnum, term)) and not (sort == "command" and _PROSE.search(term))


def _has_ending(term: str) -> bool:
    """Whether it ends as files do: "and/or" and "e.g" do not."""
    return re.search(r"\w{2,}\.[a-z]{2,4}$|\w{2,}\.[chr]$", term) is not None


def _stands(term: str, line: str) -> bool:
    place = line.find(term)
    while place >= 0:
        end = place + len(term)
        before, behind = line[place - 1 : place] if place else "", line[end : end + 1]
        if not (_joins(before, term[0]) or _joins(behind, term[-1])):
            return True
        place = line.find(term, place + 1)
    return False


def _joins(beside: str, edge: str) -> bool:
    """Whether a character beside a term makes it part of a longer word."""
    return beside != "" and _is_word(beside) and _is_word(edge)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
