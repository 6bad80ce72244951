"""Somebody who holds a context, in the ways people do that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.manager import ContextManager


def notes(count: int, words: int = 40, about: str = "the crossing is striped. ") -> list[str]:
    return [f"Note {n}: " + about * words for n in range(count)]


class Host:
    """Holds a context in a list that is changed in place, or in a variable that is set anew."""

    def __init__(self, context: Any, *, in_place: bool = True) -> None:
        self.context = context
        self.in_place = in_place
        #: called with what is put, before it is taken and behind that
        self.before: Callable[[Any], None] = lambda _: None
        self.behind: Callable[[Any], None] = lambda _: None
        self.counted: Callable[[], None] = lambda: None

    def put(self, context: Any) -> None:
        self.before(context)
        if self.in_place:
            self.context[:] = context
        else:
            self.context = context
        self.behind(context)

    def tokens(self) -> int:
        self.counted()
        held = self.context if isinstance(self.context, list) else [self.context]
        return sum(len(str(one)) // 4 for one in held)

    def manager(self, place: Path | str, asked: str = "", **more: Any) -> ContextManager:
        """One that asks about this, where anything is asked."""
        given = {
            "get_context": lambda: self.context,
            "set_context": self.put,
            "get_token_count": self.tokens,
            "get_messages": lambda n: [{"role": "user", "content": asked}][-n:],
        }
        return ContextManager(**{"memory_path": Path(place) / "memfas.json", **given, **more})
