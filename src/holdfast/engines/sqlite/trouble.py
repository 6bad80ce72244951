"""The one place where SQLite's trouble becomes an error of Holdfast."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.capture.lock import Busy
from holdfast.errors import Damaged, Unavailable

#: what may pass: somebody else is at work, or there is no room or no right to write
_PASSING = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_PROTOCOL,
}
#: of the I/O errors, those that say the bytes are not there to be read
_LOST = {sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ}


def passing(exc: sqlite3.Error) -> bool:
    """May this trouble be over the next time?"""
    code = getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF in _PASSING and code not in _LOST


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Unavailable for what may pass, Damaged for what will not."""
    try:
        yield
    except sqlite3.Error as exc:
        if passing(exc):
            raise Unavailable(f"{path}: {exc}") from exc
        raise Damaged(f"{path}: {exc}") from exc
    except UnicodeDecodeError as exc:  # not even the message about it can be read
        raise Damaged(f"{path}: {exc}") from exc
    except (OSError, Busy) as exc:
        raise Unavailable(f"{path}: {exc}") from exc
