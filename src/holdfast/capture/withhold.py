"""Content that came out of a file nobody should remember: `.env`, private keys, key stores.

When a payload names such a path where paths stand, or runs a command on one, every other text in it is
replaced by a mark: not only what looks like a secret, because a secret of an unknown format looks
like nothing. Of a command stays what was done, not what it wrote there (see `shell`).
"""

from __future__ import annotations

import os

from .redact import Redactor

_PATH_ENDINGS = ("path", "paths", "file", "files", "filename", "uri", "url", "cwd")
_COMMANDS = frozenset(["command", "cmd", "script", "args", "argv"])
_NAMES = frozenset([
    "tool", "tool_name", "name", "call_id", "tool_use_id", "id", "type", "status", "description",
    "signal", "event",
])  # fmt: skip


def _names_a_path(key: str) -> bool:
    """file_path, filePath, absolute-path, Path, …"""
    return key.lower().endswith(_PATH_ENDINGS)


def denied_path(value: object, redactor: Redactor, key: str = "", depth: int = 64) -> str | None:
    """The first path in this payload that is on the deny-list."""
    if isinstance(value, bytes) or hasattr(value, "__fspath__"):
        if not (_names_a_path(key) or key in _COMMANDS):
            return None  # content, and maybe much of it
        value = os.fsdecode(value)
    if isinstance(value, str):
        if _names_a_path(key) and redactor.denied(value):
            return value
        return redactor.mentions_denied(value) if key in _COMMANDS else None
    if isinstance(value, dict):
        pairs = [(str(name), item) for name, item in value.items()]
    elif isinstance(value, list | tuple):
        pairs = [(key, item) for item in value]
    else:
        return None
    if depth == 0:  # the shaper refuses what is deeper still
        return None
    for name, item in pairs:
        found = denied_path(item, redactor, name, depth - 1)
        if found is not None:
            return found
    return None


def without_content(
    value: object, path: str, redactor: Redactor, key: str = "", depth: int = 64
) -> object:
    """The same payload with every text replaced but names, paths and what commands did."""
    if depth == 0:
        return redactor.withheld("…", path)
    if isinstance(value, str):
        return _text(value, path, redactor, key)
    if isinstance(value, bytes | bytearray | memoryview):
        return redactor.withheld(bytes(value).decode("utf-8", "replace"), path)
    if isinstance(value, dict):
        return {
            name: without_content(item, path, redactor, str(name), depth - 1)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_content(item, path, redactor, key, depth - 1) for item in value]
    if hasattr(value, "read"):
        return redactor.withheld(f"{value!r}", path)
    return value


def _text(value: str, path: str, redactor: Redactor, key: str) -> str:
    if key in _COMMANDS:
        from . import shell  # seldom needed, and a hook pays for every import

        return shell.without_content(value, path, redactor)
    return value if _names_a_path(key) or key in _NAMES else redactor.withheld(value, path)
