"""Who said it, and how far it may be believed.

3 principal, 2 agent, 1 tool, 0 foreign. A door names the origin; nothing in a payload can. What is
derived is worth no more than the least of what it came from, so taint follows every summary.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.capture.origin import ORIGINS
from holdfast.errors import Invalid


def trust_of(origin: str, sources: Iterable[int] = ()) -> int:
    """The trust of something from this origin that was made from sources of these trusts."""
    if origin not in ORIGINS:
        raise Invalid(f"origin {origin!r} is not one of {', '.join(ORIGINS)}")
    return min([ORIGINS[origin], *sources])
