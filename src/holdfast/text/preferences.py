"""Does a person say what they like better?"""

from __future__ import annotations

import re

_PREFERS = re.compile(
    r"\bI(?:'d| would)?\s+(?:really\s+|always\s+|strongly\s+)?(?:prefer|rather|favou?r)\b"
    r"|\bI\s+(?:don't|do not|never)\s+(?:like|want|use)\b"
    r"|\bmy preference\b"
    r"|\bI(?:'m| am)\s+(?:more\s+)?comfortable with\b",
    re.IGNORECASE,
)


def preference(text: str) -> bool:
    """Somewhere in a text, in the first person."""
    return _PREFERS.search(text) is not None
