"""The one place where the trouble of a file system becomes an error of Holdfast."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.capture.lock import Busy
from holdfast.capture.repair import NoRoom
from holdfast.errors import Denied, Unavailable

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise what the caller can act on; nothing is acknowledged when it does."""
    try:
        yield
    except Busy as exc:
        raise Unavailable(f"{doing}: {exc}; try again, or raise log.lock_timeout") from exc
    except NoRoom as exc:
        raise Unavailable(
            f"{doing}: {exc}. The log is read-only until there is room; nothing was cut"
        ) from exc
    except PermissionError as exc:
        raise Denied(f"{doing}: {exc}; check who owns the home folder") from exc
    except OSError as exc:
        hint = "free some space and try again" if exc.errno in _FULL else "try again"
        raise Unavailable(f"{doing}: {exc}; {hint}") from exc
    except MemoryError as exc:
        raise Unavailable(f"{doing}: out of memory; try again with less at once") from exc
