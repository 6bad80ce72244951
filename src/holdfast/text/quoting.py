"""Text of any origin, fit to stand in a prompt: nothing hidden in it, nothing that passes for a mark.

What stands in the log stays as it was said; this is done where text is shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

#: how every mark of ours begins
MARK = "hf:"
#: signs that are seen though they only format what follows
_SEEN = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
#: letters and marks that nobody sees
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
#: further selectors of variants, which can carry a hidden text
_SELECTORS = range(0xE0100, 0xE01F0)
_NEW_LINE = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
#: a bracket that could open one of our marks, or a mark of a model's own template
_OPENS = re.compile(r"[<\uff1c\ufe64](?=\s*/?\s*(?:hf\s*:|\|))", re.IGNORECASE)
_PLAIN = re.compile(r"[\n\t -~]*")


def clean(text: str) -> str:
    """Without controls and without what is not seen; lines end in one way."""
    if _PLAIN.fullmatch(text):
        return text
    lines = _NEW_LINE.sub("\n", text)
    hidden = {ord(sign): None for sign in set(lines) if _hidden(sign)}
    return lines.translate(hidden) if hidden else lines


def _hidden(sign: str) -> bool:
    if sign in "\n\t" or sign in _SEEN:
        return False
    if sign in _UNSEEN or ord(sign) in _SELECTORS:
        return True
    return unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Co", "Cn")


def quoted(text: str) -> str:
    """The same, and no mark in it is one of ours."""
    return _OPENS.sub("\u2039", clean(text))


def quoted_json(value: Any) -> Any:
    """JSON with every text in it quoted."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list | tuple):
        return [quoted_json(one) for one in value]
    if isinstance(value, Mapping):
        return {quoted(str(name)): quoted_json(one) for name, one in value.items()}
    return value


def indented(text: str, by: str = "  ") -> str:
    """Every line but the first further in, so that none can pass for the beginning of an entry."""
    return text.replace("\n", f"\n{by}")
