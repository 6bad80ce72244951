"""The one place where the trouble of a disk becomes an error of Holdfast, for vectors."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.errors import Unavailable

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise what the caller can act on."""
    try:
        yield
    except OSError as exc:
        hint = "free some space and try again" if exc.errno in _FULL else "try again"
        raise Unavailable(f"{doing}: {exc}; {hint}") from exc
    except MemoryError as exc:
        raise Unavailable(f"{doing}: out of memory; try again") from exc
