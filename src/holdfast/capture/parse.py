"""Reading JSON that somebody else wrote: a hook's stdin, an imported line.

Python's parser accepts what JSON forbids and falls over what JSON allows, so the depth is checked
before parsing, a duplicate key and a huge number are noted, and text that is not JSON at all comes
back as text. Nothing here raises.
"""

from __future__ import annotations

import json
import re

Note = dict[str, object]

_STRINGS_AND_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_LONGEST_NUMBER = 4000
_EXACT_DIGITS = 17
_ROOM = 4
NOTES = "_as_given"
#: said by `parse` to the Shaper, which notes each place: surrogates here were bytes
BAD_BYTES: Note = {"why": "invalid_utf8"}


def parse(data: bytes, depth: int = 64) -> tuple[dict[str, object], list[Note]]:
    """The object in these bytes and what was odd about it; anything else as {"raw": …}.

    What comes back fits the Shaper: room is left for the notes, which nest a value once more.
    """
    notes: list[Note] = []
    if nesting(data, depth - _ROOM) > depth - _ROOM:
        return {"raw": data}, [{"path": "/raw", "why": "too_deep"}]
    try:
        value = json.loads(
            _decode(data, notes),
            object_pairs_hook=lambda pairs: _object(pairs, notes),
            parse_int=lambda digits: _integer(digits, notes),
            parse_float=lambda digits: _float(digits, notes),
        )
    except (ValueError, RecursionError):
        return {"raw": data}, [{"path": "/raw", "why": "not_json"}]
    if not isinstance(value, dict):
        return {"raw": value}, [*notes, {"path": "/raw", "why": "not_an_object"}]
    if NOTES in value:
        notes.append({"why": "reserved_key", "key": NOTES, "given": value.pop(NOTES)})
    return value, notes


def _decode(data: bytes, notes: list[Note]) -> str:
    data = data.removeprefix(b"\xef\xbb\xbf")  # a byte order mark says nothing in UTF-8
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if b"\\ud" in data.lower():  # then a bad byte and an escaped surrogate look the same
            raise
        notes.append(BAD_BYTES)
        return data.decode("utf-8", "surrogateescape")


def nesting(data: bytes, enough: int) -> int:
    """How deep the brackets go, counted outside strings; stops once past `enough`."""
    if data.count(b"[") + data.count(b"{") <= enough:
        return 0
    deepest = level = 0
    for match in _STRINGS_AND_BRACKETS.finditer(data):
        mark = match[0]
        if mark in (b"[", b"{"):
            level += 1
            deepest = max(deepest, level)
            if deepest > enough:
                break
        elif mark in (b"]", b"}"):
            level -= 1
    return deepest


def _object(pairs: list[tuple[str, object]], notes: list[Note]) -> dict[str, object]:
    value: dict[str, object] = {}
    for key, item in pairs:
        if key in value:
            notes.append({"why": "duplicate_key", "key": key, "dropped": value[key]})
        value[key] = item
    return value


def _float(digits: str, notes: list[Note]) -> float | str:
    value = float(digits)
    if value - value != 0:
        notes.append({"why": "not_finite", "given": digits})
        return digits
    if len(digits) > _EXACT_DIGITS and repr(value) != digits:
        notes.append({"why": "rounded", "given": digits})
    return value


def _integer(digits: str, notes: list[Note]) -> int | str:
    if len(digits) <= _LONGEST_NUMBER:
        return int(digits)
    notes.append({"why": "big_integer", "digits": len(digits)})
    return digits
