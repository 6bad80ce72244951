"""What a workflow's prompt file says about sessions of it."""

from __future__ import annotations

from typing import Literal

import msgspec

from .compact import Strategy, Trigger

#: what older front matter calls a trigger
TRIGGERS: dict[str, Trigger] = {
    "validation_gate": "gate",
    "gate": "gate",
    "turn_count": "turns",
    "turns": "turns",
    "token_count": "tokens",
    "tokens": "tokens",
    "idle": "idle",
}
Scope = Literal["user", "project", "session", "system"]
#: scope words of earlier designs, and what they are called here
SCOPES: dict[str, Scope] = {
    "user": "user",
    "app": "project",
    "project": "project",
    "session": "session",
    "system": "system",
}


class Workflow(msgspec.Struct, frozen=True, kw_only=True):
    """The front matter of a prompt file, in the words used here; None where it says nothing."""

    name: str
    title: str = ""
    #: of compaction: the strategy, and what begins one beside the hard limit
    strategy: Strategy | None = None
    triggers: tuple[Trigger, ...] | None = None
    #: when memories are to be made of a session, and about what
    generation: Trigger | None = None
    topics: tuple[str, ...] = ()
    #: whether recall adds to contexts by itself, and from where
    proactive: bool = True
    scopes: tuple[Scope, ...] | None = None
