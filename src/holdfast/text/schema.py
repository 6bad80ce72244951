"""Does a value fit a JSON schema? As much of JSON Schema as language models are asked to keep.

`type enum const properties required additionalProperties items minItems maxItems minLength maxLength
minimum maximum pattern anyOf`; other words allow everything, `$ref` among them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, float) and math.isfinite(value) and value.is_integer())
    ),
}


def misfit(value: Any, schema: dict[str, Any], place: str = "") -> str | None:
    """Where a value does not fit, and why; None when it fits. What it says is not repeated."""
    return next(_misfits(value, schema, place), None)


def _misfits(value: Any, schema: dict[str, Any], place: str) -> Iterator[str]:
    here = place or "the answer"
    named = schema.get("type")
    kinds = [named] if isinstance(named, str) else named or []
    if kinds and not any(_TYPES.get(kind, lambda _: True)(value) for kind in kinds):
        yield f"{here} is not of type {' or '.join(kinds)}"
        return
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        yield f"{here} is none of those that are allowed"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{here} is not what it must be"
    if "anyOf" in schema and all(misfit(value, one, place) for one in schema["anyOf"]):
        yield f"{here} fits none of its forms"
    if isinstance(value, dict):
        yield from _in_object(value, schema, place)
    elif isinstance(value, list):
        yield from _sized(len(value), schema, ("minItems", "maxItems"), here)
        if isinstance(schema.get("items"), dict):
            for n, item in enumerate(value):
                yield from _misfits(item, schema["items"], f"{place}/{n}")
    elif isinstance(value, str):
        yield from _sized(len(value), schema, ("minLength", "maxLength"), here)
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{here} does not follow its pattern"
    elif _TYPES["number"](value):
        yield from _sized(value, schema, ("minimum", "maximum"), here)


def _in_object(value: dict[str, Any], schema: dict[str, Any], place: str) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{place or 'the answer'} lacks {name}"
    more = schema.get("additionalProperties", True)
    for name, inner in value.items():
        if name in known:
            yield from _misfits(inner, known[name], f"{place}/{name}")
        elif more is False:
            yield f"{place or 'the answer'} has a property that is not asked for"
        elif isinstance(more, dict):
            yield from _misfits(inner, more, f"{place}/…")


def _sized(size: float, schema: dict[str, Any], names: tuple[str, str], here: str) -> Iterator[str]:
    least, most = (schema.get(name) for name in names)
    if least is not None and size < least:
        yield f"{here} is below {names[0]}"
    if most is not None and size > most:
        yield f"{here} is above {names[1]}"


def _same(value: Any, other: Any) -> bool:
    """Equal as JSON is: true is not 1."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)
