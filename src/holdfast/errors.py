"""Every error Holdfast raises: one root, eight kinds.

A kind says what the caller can do about it, and carries the exit code of the CLI and the status of
HTTP, so a door translates nothing. Where no message is given the docstring is the message, so the
two cannot drift apart.
"""

from __future__ import annotations

from typing import ClassVar


class HoldfastError(Exception):
    """Something went wrong inside Holdfast."""

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip().split("\n")[0])


class Invalid(HoldfastError):
    """The input is not something Holdfast can take; change it and call again."""

    exit_code = 2
    http_status = 400


class NotFound(HoldfastError):
    """There is nothing of that name here."""

    exit_code = 3
    http_status = 404


class Conflict(HoldfastError):
    """Somebody else was there first; read the current state and decide again."""

    exit_code = 4
    http_status = 409


class Denied(HoldfastError):
    """This caller may not do that."""

    exit_code = 5
    http_status = 403


class Limit(HoldfastError):
    """The input is larger than a limit that is set."""

    exit_code = 6
    http_status = 413


class Damaged(HoldfastError):
    """Stored bytes are damaged; run `holdfast verify` to see which."""

    exit_code = 7
    http_status = 500


class Unavailable(HoldfastError):
    """The disk, the lock or a service did not answer; nothing was acknowledged, so try again."""

    exit_code = 8
    http_status = 503


class Erased(HoldfastError):
    """That content was erased at its subject's request and cannot come back."""

    exit_code = 9
    http_status = 410
