"""The words that full-text search indexes and asks for.

A word of prose gives one token; a name out of code gives its parts and the whole; scripts without
spaces give characters and pairs of them. A token is made of ASCII letters in lower case, ASCII digits
and characters beyond ASCII, so that a tokenizer which only knows ASCII takes it as one word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from itertools import islice, pairwise

from holdfast.text.folding import fold

#: a longer token is cut
LONGEST = 64
#: a question has at most so many words
MOST_ASKED = 64

# Han, kana, bopomofo, Hangul, Thai, Lao, Myanmar, Khmer: written without spaces, or with words that
# change at their end in too many ways.
SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u19e0-\u19ff\u2e80-\u2fdf\u3005-\u3007"
    "\u3021-\u3035\u3040-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\ua9e0-\ua9ff\uaa60-\uaa7f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
_BETWEEN = r"_+|[-.]|'(?=[A-Za-z])|(?<=[0-9]),(?=[0-9]{3}(?![0-9]))"
_ASCII_CHUNK = re.compile(rf"[A-Za-z0-9]+(?:(?:{_BETWEEN})[A-Za-z0-9]+)*(?:\+\+|#)?")
_LETTER = rf"[^\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f{SPACELESS}]"
_ANY_CHUNK = re.compile(
    rf"{_LETTER}+(?:(?:{_BETWEEN}){_LETTER}+)*(?:\+\+|#)?|[{SPACELESS}]+",
)
_SPACELESS_START = re.compile(f"[{SPACELESS}]")

_SPLIT = re.compile(r"[-_,]+")
_DIGITS = re.compile(r"[0-9]+")
_ATOM = re.compile(r"[A-Z]{2,}(?=s(?![a-z]))|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^A-Z0-9]+|[A-Z]+|[0-9]+")
_ATOM_WITH_DIGITS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^A-Z]+|[A-Z]+")
_ORDINAL = frozenset(("st", "nd", "rd", "th"))
_LANGUAGES = {"c++": ["c", "cpp"], "c#": ["c", "csharp"], "f#": ["f", "fsharp"]}
# What French, Italian and Catalan put before a word with an apostrophe, and Python before a string.
_BEFORE_APOSTROPHE = (
    "l d j n c m t s qu jusqu lorsqu puisqu quoiqu un dell all nell sull dall quell b f r u"
)
_ELIDED = frozenset(_BEFORE_APOSTROPHE.split())


def analyse(text: str) -> list[str]:
    """Every word to index, in the order of the text.

    What always holds: a token is 1 to 64 characters of a-z, 0-9 and beyond ASCII; the tokens of two
    texts with a space between them are those of the one and those of the other; the tokens of a token
    include it; time is linear in the text.
    """
    return _tokens(text, _singles_and_pairs)


def asked(text: str) -> list[str]:
    """The words of a question: each once, in order, at most 64, all of which `analyse` gives too."""
    return list(islice(dict.fromkeys(_tokens(text, _pairs)), MOST_ASKED))


def _tokens(text: str, spaceless: Callable[[str], Iterable[str]]) -> list[str]:
    plain = text.isascii()
    chunks = _ASCII_CHUNK.findall(text) if plain else _ANY_CHUNK.findall(fold(text))
    tokens: list[str] = []
    append, extend = tokens.append, tokens.extend
    known: dict[str, list[str]] = {}
    for chunk in chunks:
        if chunk.isascii() and chunk.isalpha():
            lower = chunk.lower()
            if chunk == lower or chunk[1:] == lower[1:] or chunk.isupper():
                append(lower[:LONGEST])
                continue
        elif not plain and _SPACELESS_START.match(chunk):
            extend(spaceless(chunk))
            continue
        found = known.get(chunk)
        if found is None:
            found = known[chunk] = _parts(chunk)
        extend(found)
    return tokens


def _singles_and_pairs(run: str) -> list[str]:
    return [*run, *map("".join, pairwise(run))]


def _pairs(run: str) -> list[str]:
    return [*map("".join, pairwise(run))] if len(run) > 1 else [run]


def _parts(chunk: str) -> list[str]:
    """A name by its parts, the parts of these, and each of them whole."""
    if chunk[-1] in "+#":
        if chunk.lower() in _LANGUAGES:
            return _LANGUAGES[chunk.lower()]
        chunk = chunk.rstrip("+#")
    if "'" in chunk:
        chunk = _without_apostrophes(chunk)
    tokens: list[str] = []
    fields = chunk.split(".")
    for field in fields:
        words = _SPLIT.split(field)
        for word in words:
            tokens += _atoms(word)
        if len(words) > 1:
            tokens.append(_token("".join(words)))
    if len(fields) > 1:
        whole = _token(_SPLIT.sub("", "".join(fields)))
        tokens.append(whole)
        if whole[0] == "v" and whole[1:].isdigit():
            tokens.append(whole[1:])
    return tokens


def _without_apostrophes(chunk: str) -> str:
    """The word a reader would look up: without possessive, without elision, else in one."""
    if chunk[-2:] in ("'s", "'S"):
        chunk = chunk[:-2]
    before, _, rest = chunk.partition("'")
    if rest and before.lower() in _ELIDED:
        return rest.replace("'", "")
    joined = chunk.replace("'", "")
    # "O'Brien" is one word, not one with a hump
    return joined if "." in joined or "_" in joined else joined.lower()


def _atoms(word: str) -> list[str]:
    """The humps and numbers of a word without separators, and the word; random letters stay in one."""
    whole = _token(word)
    if len(word) > LONGEST:
        return [whole]
    if not word.isascii():  # folding leaves case to ASCII alone, so a hump there means nothing
        word = word.lower()
    numbers = len(_DIGITS.findall(word))
    atoms = (_ATOM if numbers <= 2 else _ATOM_WITH_DIGITS).findall(word)
    if len(atoms) == 1 or (len(atoms) > 4 and len(word) < 3 * len(atoms)):
        return [whole]
    tokens = []
    for atom in atoms:
        part = _token(atom)
        if len(part) == 1 and (numbers or part == "s") and not part.isdigit():
            continue
        if part in _ORDINAL and numbers:
            continue
        tokens.append(part)
    tokens.append(whole)
    return tokens


def _token(word: str) -> str:
    word = word[:LONGEST].lower()
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", word)[:LONGEST]
