"""Addresses and keys as people write them into settings; no error repeats one."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from holdfast.errors import Invalid


def address(base: str, setting: str, example: str) -> SplitResult:
    """A checked http address; the errors do not repeat it, because somebody may have put a key in it."""
    if not base.isascii() or not base.isprintable() or " " in base:
        raise Invalid(f"{setting} holds characters that no address has")
    try:
        parts = urlsplit(base)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise Invalid(f"{setting} is no address such as {example}")
    if parts.username is not None or parts.password is not None:
        raise Invalid(f"{setting} holds a user or a password; the key has a setting of its own")
    if parts.fragment:
        raise Invalid(f"{setting} ends in a fragment (#…), which is never sent")
    return parts


def bare_key(key: str, whose: str) -> str:
    """A key that can be sent, without the blanks around it."""
    bare = key.strip()
    if not bare.isascii() or not bare.isprintable():
        raise Invalid(f"{whose} key holds characters that no key has")
    return bare
