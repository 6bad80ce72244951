"""The token that clients of a server show: made once, and kept with the keys."""

from __future__ import annotations

import os
import secrets
import stat

from holdfast.capture.disk import Disk
from holdfast.engines.files.trouble import translated
from holdfast.errors import Denied, Invalid
from holdfast.model.settings import Settings

#: a shorter one can be guessed
SHORTEST = 16
_LONGEST = 1_000


def token_file(chosen: Settings) -> str:
    """Where the token lies that was made here."""
    return os.path.join(chosen.keys, "server.token")


def own_token(chosen: Settings) -> str:
    """The token of this person on this machine, made when there is none; nobody else may read it."""
    path, disk = token_file(chosen), Disk()
    with translated("reading the token"):
        kept = disk.get_file(path)
        if kept is None:
            disk.make_folder(os.path.dirname(path))
            made = secrets.token_urlsafe(32).encode()
            disk.make_file(path, made)  # the first of two processes wins, for both
            kept = disk.get_file(path) or made
        open_to_others = stat.S_IMODE(os.stat(path).st_mode) & 0o077
    if open_to_others:
        raise Denied(f"others can read {path}; run chmod 600 on it, or remove it for a new one")
    return checked(kept.decode("ascii", "replace").strip())


def checked(token: str) -> str:
    """A token that can be sent in a header and not be guessed."""
    if not SHORTEST <= len(token) <= _LONGEST or not all("!" <= sign <= "~" for sign in token):
        raise Invalid(
            f"a token is {SHORTEST} to {_LONGEST:,} letters, digits and signs without a space"
        )
    return token
