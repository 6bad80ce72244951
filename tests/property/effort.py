"""How many examples a property is tried on: a few in CI, HOLDFAST_EXAMPLES of them in torture."""

from __future__ import annotations

import os


def examples(few: int) -> int:
    """As many as asked for, at least `few`."""
    return max(few, int(os.environ.get("HOLDFAST_EXAMPLES", "0")))
