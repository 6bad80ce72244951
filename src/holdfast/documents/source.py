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
_CALLED = re.compile(r"([A-Za-z_$][\w$]{0,80})\s{0,3}\(")
#: lines of a definition in which its name is looked for
_NEAR = 12
_LONGEST_LINE = 400


def units(text: str) -> list[Unit]:
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
            found.append(Unit(start, _title([said for _, said in table[number : number + _NEAR]])))
        open_before = not (_CLOSES.match(line) and not indentation(line))
    return found


def _title(some: list[str]) -> str:
    """The name of what is defined in the first line that is not a comment."""
    for line in some:
        if not line.strip() or _COMMENT.match(line):
            continue
        short = line[:_LONGEST_LINE]
        named = _NAMED.search(short) or _CALLED.search(short)
        return named[1] if named else ""
    return ""
