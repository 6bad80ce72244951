"""What the header of an event may hold, for whoever writes one.

The engine refuses what does not fit and says why (`record/limits.py`); a hook, which nobody listens to,
mends it and notes what it was.
"""

from __future__ import annotations

import re

#: Names of an earlier format, accepted on input.
TYPE_ALIASES = {
    "user_turn": "user_message",
    "assistant_turn": "model_message",
    "tool_event": "tool_result",
    "status_event": "system_event",
    "decision_event": "decision",
    "error_event": "error",
}
LONGEST_NAME = 256
CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")

_TYPE = re.compile(r"([a-z][a-z0-9_.]{0,99})(?:@([1-9][0-9]{0,5}))?")


def kind_of(name: object) -> str | None:
    """`name@version`; older names become today's, a missing version is 1; None if it is no type."""
    match = _TYPE.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        return None
    return f"{TYPE_ALIASES.get(match[1], match[1])}@{match[2] or 1}"


def mended_name(name: object) -> str | None:
    """A session, an agent, a user in a form the header takes; None for nothing."""
    if name is None or name == "":
        return None
    return CONTROL.sub("\ufffd", str(name))[:LONGEST_NAME]
