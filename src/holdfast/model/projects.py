"""A project: the unit of isolation, and how its id becomes a folder."""

from __future__ import annotations

import re
from urllib.parse import quote

import msgspec

from holdfast.errors import Invalid

SYSTEM = "~system"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """Which project this is, and how that was found out."""

    id: str
    #: the folder it is about; empty for the reserved ones
    root: str
    #: "marker", "git", "argument" or "reserved"
    found_by: str


def user_project(user: str) -> str:
    """The reserved project that follows a user."""
    return f"~user/{user}"


def folder_parts(project_id: str) -> tuple[str, ...]:
    """The path of a project below `contexts-v2`; safe for any id that is allowed at all."""
    if project_id == SYSTEM:
        return (SYSTEM,)
    kind, slash, user = project_id.partition("/")
    if kind == "~user" and slash and 0 < len(user.encode("utf-8", "replace")) <= 80:
        name = quote(user, safe="@+-_ ", errors="surrogatepass").replace("%2F", "%2f")
        return ("~user", name.replace(".", "%2E", 1) if name.startswith(".") else name)
    if _PLAIN.fullmatch(project_id):
        return (project_id,)
    raise Invalid(
        f"{project_id!r} is not a project id; use letters, digits and . _ - "
        f"(or the reserved ~user/<id> and {SYSTEM})"
    )
