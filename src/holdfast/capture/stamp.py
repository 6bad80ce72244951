"""Fresh ids and the time, as they are written.

An id is `<kind>_` and a ULID: 48 bits of milliseconds and 80 random ones in Crockford's base 32, so
ids sort by time. Within a process they also sort by order of making.
"""

from __future__ import annotations

import os
import time

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_EARLIEST, _LATEST = -62_135_596_800_000, 253_402_300_799_999
_last = [0, 0]


def fresh_id(kind: str, milliseconds: int | None = None) -> str:
    """A new id of a kind; unique without asking anybody."""
    now = time.time_ns() // 1_000_000 if milliseconds is None else milliseconds
    noise = int.from_bytes(os.urandom(10), "big")
    if milliseconds is None:
        if now <= _last[0]:
            # a step of 64 random bits: neither threads nor a forked child take the same one
            now, noise = _last[0], _last[1] + 1 + (noise >> 16)
        _last[0], _last[1] = now, noise
    value = (now << 80) + noise
    return kind + "_" + "".join([_DIGITS[(value >> shift) & 31] for shift in range(125, -1, -5)])


def timestamp(milliseconds: int | None = None) -> str:
    """UTC, to the millisecond."""
    if milliseconds is None:
        milliseconds = time.time_ns() // 1_000_000
    # a clock beyond the years 1 to 9999 is broken; the time only informs, so it is no reason to fail
    seconds, rest = divmod(min(max(milliseconds, _EARLIEST), _LATEST), 1000)
    return "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ" % (*time.gmtime(seconds)[:6], rest)
