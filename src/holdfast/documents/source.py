"""Other source code, by how it is laid out: what begins at the left margin begins something."""

from __future__ import annotations

import re

from .units import Unit, indentation, lines

#: a line that ends what came before it, or goes on with it
_GOES_ON = re.compile(
    r"[}\])]|(?:end|else|elif|elsif|fi|done|esac|then|do|begin|catch|finally|rescue)\b"
)
_CLOSES = re.compile(r"[}\])]|(?:end|fi|done|esac)\b")
_COMMENT = re.compile(r"\s*(?://|/?\*|#(?!include|define|\[)|--|;|@|\[\w|#\[)")
_NAMED = re.compile(
    r"\b(?:class|interface|struct|enum|union|trait|impl|fn|func|function|def|defmodule|defp?|module|"
    r"namespace|package|type|record|object|protocol|extension|sub|proc|const|let|var|val|macro)"
    r"\s+([A-Za-z_$][\w$.:]{0,80})"
)
#: what schemas define, at the left margin
_DEFINED = re.compile(
    r"(?:extend\s+)?(?:message|service|enum|struct|union|exception|type|input|interface|scalar|model|"
    r"directive|query|mutation|subscription|fragment|contract|library|namespace|datasource|generator)"
    r"\s+(@?[A-Za-z_][\w.]{0,80})"
)
_CALLED = re.compile(r"([A-Za-z_$][\w$]{0,80})\s{0,3}\(")
#: lines of a definition in which its name is looked for
_NEAR = 12
_LONGEST_LINE = 400


def schema(text: str) -> list[Unit]:
    """Schemas and interfaces: what is defined at the left margin, each for itself."""
    return units(text, _DEFINED)


def units(text: str, defined: re.Pattern[str] | None = None) -> list[Unit]:
    """Each stretch that begins at the left margin behind a blank line, or behind the end of another."""
    table = list(lines(text))
    found: list[Unit] = []
    open_before = False
    for number, (start, line) in enumerate(table):
        if not line.strip():
            open_before = False
            continue
        begins = not open_before and not indentation(line) and not _GOES_ON.match(line)
        if begins:
            near = [said for _, said in table[number : number + _NEAR]]
            found.append(Unit(start, _title(near, defined)))
        open_before = not (_CLOSES.match(line) and not indentation(line))
    return found


def _title(some: list[str], defined: re.Pattern[str] | None) -> str:
    """The name of what is defined in the first line that is not a comment, or, in a schema, nearby."""
    near = (defined.match(line[:_LONGEST_LINE]) for line in some) if defined is not None else ()
    if (first := next(filter(None, near), None)) is not None:
        return first[1]
    for line in some:
        if not line.strip() or _COMMENT.match(line):
            continue
        short = line[:_LONGEST_LINE]
        named = _NAMED.search(short) or _CALLED.search(short)
        return named[1] if named else ""
    return ""
