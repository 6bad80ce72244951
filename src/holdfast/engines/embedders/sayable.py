"""Texts that can be written as UTF-8."""

from __future__ import annotations


def sayable(text: str) -> str:
    """The text without lone surrogates: a pair becomes its character, a lone one U+FFFD."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units.decode("utf-16-le", "replace")
