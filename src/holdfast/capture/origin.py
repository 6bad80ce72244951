"""Who an event comes from, and how far that may be believed: 3 principal … 0 foreign.

A door names the origin; nothing in a payload can.
"""

from __future__ import annotations

import os

ORIGINS = {
    "user": 3,
    "agent": 2,
    "system": 2,
    "tool": 1,
    "document": 1,
    "web": 0,
    "import": 0,
}


def person() -> str:
    """Who sits at this machine, as the system and its environment say."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        if os.environ.get(name):
            return os.environ[name]
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (KeyError, ImportError):  # a container's user without a name
        return f"uid-{os.getuid()}"
