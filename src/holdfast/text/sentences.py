"""A text in sentences, in any script, without a dictionary."""

from __future__ import annotations

from holdfast.text.passages import SENTENCE_END

_SHORTENED = "mr mrs ms dr prof st vs e.g i.e cf ca approx fig eq z.b d.h bzw sr sra"
_NO_END = frozenset(_SHORTENED.split())


def sentences(text: str) -> list[str]:
    """The sentences in order, each on one line with single spaces; a line ends a sentence too.

    What always holds: joined by spaces they are the text with its white space made single spaces, but
    for a space where a script without spaces ends a sentence; none is blank; time is linear.
    """
    found: list[str] = []
    for each in text.splitlines():
        line = " ".join(each.split())
        start = 0
        for end in SENTENCE_END.finditer(line):
            if end[0][-1] == " " and not _ends(line, end.start(), end.end(), start):
                continue
            found.append(line[start : end.end()].strip())
            start = end.end()
        rest = line[start:].strip()
        if rest:
            found.append(rest)
    return found


def _ends(line: str, mark: int, after: int, start: int) -> bool:
    """Whether a mark followed by a space ends the sentence: not after "Dr." or "e.g.", not before a
    small letter."""
    if line[after : after + 1].islower():
        return line[mark] != "."
    if line[mark] != ".":
        return True
    word = line[max(start, mark - 8) : mark].rpartition(" ")[2].lower().lstrip("(\"'")
    return word not in _NO_END and not (
        len(word) == 1 and word.isalpha() and line[mark - 1].isupper()
    )
