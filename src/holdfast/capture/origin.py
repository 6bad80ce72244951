"""Who an event comes from, and how far that may be believed: 3 principal … 0 foreign.

A door names the origin; nothing in a payload can.
"""

from __future__ import annotations

ORIGINS = {
    "user": 3,
    "agent": 2,
    "system": 2,
    "tool": 1,
    "document": 1,
    "web": 0,
    "import": 0,
}
