"""A command that names a file nobody should remember, without what it writes into that file.

    cat > .env <<'EOF' …            the body is withheld
    echo "LOGIN=ana" >> .env        so are the words that go into the file, also through `tee`
    X=1; sed -i 's/a/b/' .env       and what is assigned or quoted, unless the program only reads

Names of programs, options and paths stay, so that one still sees what was done. This is no shell: where
it cannot tell, it withholds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .redact import Redactor

_TOKEN = re.compile(
    r"""\s*\n\s*|[^\S\n]+|&&|\|\||\|&?|&>>?|;+|<<<|<<-?|[0-9]*(?:>>|>\||>&|>|<>|<&|<)|[&()]"""
    r"""|(?:'[^']*+(?:'|$)|"(?:[^"\\]|\\.)*+(?:"|$)|\\.|\\$|[^\s'"\\|&;<>()])++""",
    re.DOTALL,
)
_HEREDOC = re.compile(r"""(?<!<)<<-?[ \t]*(?:'([^'\n]*)'|"([^"\n]*)"|\\?([^\s'"|&;<>()]+))""")
_SIGN = re.compile("\0([0-9]+)\0")
_PATH = re.compile(r"""["']?[^\s"'=]+["']?""")
_ASSIGNED = re.compile(r"(-{0,2}[A-Za-z_][\w.-]*=)(.*)", re.DOTALL)
_OPTION = re.compile(r"-[A-Za-z]{1,4}|--[a-z][a-z-]*")
#: nobody reads a longer one for what was done
_LONGEST = 20_000
#: a program's name comes after these, too
_BEFORE = frozenset(
    ["sudo", "env", "command", "exec", "time", "nohup", "!", "{", "do", "then", "else", "if"]
)
_GROUPS = frozenset(["(", "{", "do", "then"])
#: what a program writes into the files it is given
_WRITERS = frozenset(["tee", "sponge", "dd", "set-content", "add-content", "out-file"])
#: programs whose words say where to look or what to move, not what to write
_READERS = frozenset([
    "cat", "bat", "head", "tail", "less", "more", "grep", "egrep", "fgrep", "rg", "ls", "stat", "wc",
    "file", "test", "[", "[[", "sort", "uniq", "cut", "diff", "cmp", "cd", "source", ".", "find", "rm",
    "cp", "mv", "ln", "chmod", "chown", "mkdir", "touch", "git", "md5sum", "sha256sum", "}", "done",
    "fi", "true",
])  # fmt: skip


def without_content(command: str, path: str, redactor: Redactor) -> str:
    """The command with marks in place of what may be content of the file."""
    bodies: list[str] = []
    told = _without_bodies(command.replace("\0", ""), bodies)
    if len(told) > _LONGEST:
        return redactor.withheld(command, path)
    tokens = _TOKEN.findall(told)
    statements = [_Statement(words, redactor) for words in _statements(tokens)]
    writing = [number for number, one in enumerate(statements) if one.writes]
    grouped = not _GROUPS.isdisjoint(tokens)
    for one in statements[: writing[-1] if writing and grouped else 0]:
        one.writes = True
    parts = [part for one in statements for part in one.parts()]
    text = _marked(parts, path, redactor)
    return _SIGN.sub(lambda sign: redactor.withheld(bodies[int(sign[1])], path), text)


def _without_bodies(text: str, bodies: list[str]) -> str:
    """The lines with a sign in place of each body that follows a `<<`."""
    lines, kept = text.split("\n"), list[str]()
    at = 0
    while at < len(lines):
        kept.append(lines[at])
        at += 1
        for found in _HEREDOC.finditer(kept[-1]):
            ends = (found[1] or found[2] or found[3] or "").strip()
            start = at
            while at < len(lines) and lines[at].strip() != ends:
                at += 1
            if at > start:
                kept.append(f"\0{len(bodies)}\0")
                bodies.append("\n".join(lines[start:at]))
            kept += lines[at : at + 1]
            at += 1
    return "\n".join(kept)


def _statements(tokens: list[str]) -> Iterator[list[str]]:
    """What stands between line ends, `;`, `&&` and the like; each with what ends it."""
    words: list[str] = []
    for token in tokens:
        words.append(token)
        if token in ("&&", "||", "&") or token[0] == ";" or ("\n" in token and token.isspace()):
            yield words
            words = []
    if words:
        yield words


def _marked(parts: list[tuple[str, bool]], path: str, redactor: Redactor) -> str:
    """All parts, one mark in place of those that are withheld one after the other."""
    text, hidden, blank = "", "", ""
    for part, keep in parts:
        if hidden and part.isspace() and "\n" not in part:
            blank = part
        elif keep:
            text += redactor.withheld(hidden, path) if hidden else ""
            text, hidden, blank = text + blank + part, "", ""
        else:
            hidden, blank = hidden + blank + part, ""
    return text + (redactor.withheld(hidden, path) if hidden else "") + blank


class _Statement:
    """One pipeline: which of its words may stay."""

    def __init__(self, tokens: list[str], redactor: Redactor) -> None:
        self._tokens = tokens
        self._redactor = redactor
        self._programs = self._found_programs()
        names = {tokens[at].rpartition("/")[2].lower() for at in self._programs}
        denied = [redactor.mentions_denied(token) is not None for token in tokens]
        into = [at for at, before in self._words() if ">" in before and denied[at]]
        #: something goes into such a file
        self.writes = bool(into) or (any(denied) and not names.isdisjoint(_WRITERS))
        self._reads = names <= _READERS

    def _words(self) -> Iterator[tuple[int, str]]:
        """Each word's place, and the redirection before it."""
        before = ""
        for at, token in enumerate(self._tokens):
            if token.isspace():
                continue
            if token[0] in "|&;()" or token.lstrip("0123456789")[:1] in ("<", ">"):
                before = token
            else:
                yield at, before
                before = ""

    def _found_programs(self) -> set[int]:
        found, expected = set(), True
        for at, before in self._words():
            if before[:1] in ("|", "("):
                expected = True
            if expected and not any(mark in before for mark in "<>"):
                if _ASSIGNED.fullmatch(self._tokens[at]):
                    continue
                found.add(at)
                expected = self._tokens[at] in _BEFORE
        return found

    def parts(self) -> Iterator[tuple[str, bool]]:
        """Pieces of the text, and whether they may stay."""
        words = dict(self._words())
        for at, token in enumerate(self._tokens):
            if at in words:
                yield from self._word(at, token, words[at])
            else:
                yield token, True

    def _word(self, at: int, token: str, before: str) -> Iterator[tuple[str, bool]]:
        given = _ASSIGNED.fullmatch(token)
        if before.startswith("<<<"):
            yield token, False
        elif self._stays(at, token, before):
            yield token, True
        elif given is None:
            yield token, False
        else:
            yield given[1], True
            if given[2]:
                yield given[2], self._names_it(given[2])

    def _stays(self, at: int, token: str, before: str) -> bool:
        if self._names_it(token) or before.startswith("<<"):
            return True
        plain = "'" not in token and '"' not in token
        if at in self._programs or any(mark in before for mark in "<>"):
            return plain
        if self.writes:
            return _OPTION.fullmatch(token) is not None
        return _ASSIGNED.fullmatch(token) is None if self._reads else plain and "=" not in token

    def _names_it(self, token: str) -> bool:
        """Is this the file itself, and nothing else?"""
        return _PATH.fullmatch(token) is not None and self._redactor.denied(token)
