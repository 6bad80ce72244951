"""What the header of an event may hold: short names, a time, a type."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from holdfast.capture.header import CONTROL, LONGEST_NAME, kind_of
from holdfast.errors import Invalid, Limit

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
_MOST_SOURCES = 10_000


def event_type(name: str) -> str:
    """`name@version`; older names become today's, a missing version is 1."""
    kind = kind_of(name)
    if kind is None:
        raise Invalid(f"{name!r} is not an event type; use a name like user_message")
    return kind


def event_id(name: str) -> str:
    """An id a caller brings."""
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise Invalid(f"{str(name)[:80]!r} is not an id; use up to 128 letters, digits and _ . : -")
    return name


def name(what: str, value: str) -> str:
    """A session, an agent, a user: any short text on one line."""
    if not isinstance(value, str) or not value or CONTROL.search(value):
        raise Invalid(f"{what} must be a text without control characters, not {value!r}")
    if len(value) > LONGEST_NAME:
        raise Limit(f"{what} is {len(value)} characters long; {LONGEST_NAME} is the most")
    return value


def sources(ids: tuple[str, ...]) -> tuple[str, ...]:
    """The ids an event was derived from."""
    if not isinstance(ids, tuple | list):
        raise Invalid(f"sources are a tuple of event ids, not {type(ids).__name__}")
    if len(ids) > _MOST_SOURCES:
        raise Limit(f"{len(ids)} sources; {_MOST_SOURCES} is the most for one event")
    return tuple(map(event_id, ids))


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def moment(at: str | datetime) -> str:
    """A given time as it is written: UTC, milliseconds. A day is its beginning in UTC."""
    if isinstance(at, str):
        try:
            at = datetime.fromisoformat(f"{at}T00:00:00Z" if _DAY.fullmatch(at) else at)
        except ValueError:
            raise Invalid(f"{at!r} is not a time; use 2026-01-31T09:30:00Z") from None
    if not isinstance(at, datetime):
        raise Invalid(f"{at!r} is not a time; use a datetime with a zone, or its ISO text")
    if at.tzinfo is None:
        raise Invalid(f"{at.isoformat()} has no time zone; say which, for example with a Z")
    try:
        at = at.astimezone(UTC)
    except OverflowError:
        raise Invalid(f"{at.isoformat()} is beyond the years 1 to 9999") from None
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z".rjust(24, "0")
