"""What is written down of a context: the decision, never the text."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from holdfast.model.packs import Shown, Weighed

from . import items, render

#: scores are written as whole numbers of millionths: the same on every machine
_UNIT = 1_000_000


def versions(counted_with: str) -> dict[str, Any]:
    """What made the text."""
    return {"render": render.VERSION, "rules": items.RULES, "counted_with": counted_with}


def changed(settings: msgspec.Struct) -> dict[str, Any]:
    """The settings that are not as they come."""
    plain = type(settings)()
    return {
        name: msgspec.to_builtins(getattr(settings, name))
        for name in settings.__struct_fields__
        if getattr(settings, name) != getattr(plain, name)
    }


def digest(text: str) -> str:
    """The hash by which a text is known."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def entries(shown: Sequence[Shown]) -> list[Any]:
    """Entries as they are written."""
    return [msgspec.to_builtins(one) for one in shown]


def candidates(weighed: Sequence[Weighed]) -> str:
    """All candidates as one text: the names of their parts once, then a row for each."""
    names = sorted({name for one in weighed for name in one.parts})
    rows = [
        [
            msgspec.to_builtins(one.shown),
            one.verdict,
            _whole(one.score),
            _whole(one.relevance),
            [_whole(one.parts.get(name, 0.0)) for name in names] if one.parts else [],
            one.sizes,
            one.why,
        ]
        for one in weighed
    ]
    return msgspec.json.encode([names, rows]).decode()


def read_candidates(given: str) -> list[Weighed]:
    """The candidates as they were written."""
    names, rows = msgspec.json.decode(given) if given else ([], [])
    return [
        Weighed(
            shown=msgspec.convert(shown, Shown),
            verdict=verdict,
            score=score / _UNIT,
            relevance=relevance / _UNIT,
            parts={name: part / _UNIT for name, part in zip(names, parts, strict=False) if part},
            sizes=tuple(sizes),
            why=why,
        )
        for shown, verdict, score, relevance, parts, sizes, why in rows
    ]


def _whole(value: float) -> int:
    return round(value * _UNIT)
