"""How much each part of a context may take."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.errors import Limit
from holdfast.model.compose import SHARED, ComposeSettings, shares_for

#: tokens a window keeps free for the seams between parts
_SEAMS = 16
#: so long may an event of the conversation be at most, of the room for all of it, and a person's words
_OF_HISTORY, _OF_A_PERSON = 4, 2


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of tokens; no part of a context passes its own."""

    #: all that memory adds
    total: int
    #: of each section, with what others leave
    caps: Mapping[str, int]
    #: of background and index together: what they are given, whatever turns need later
    stable: int
    scratchpad: int
    history: int
    #: of one event of it, and of one that a person said
    event: int
    words: int


class Space(msgspec.Struct, frozen=True, kw_only=True):
    """How large a window is, and how far it may be filled."""

    window: int
    limit: int


def budget_for(
    settings: ComposeSettings, activity: str, budget: int, space: Space | None, fixed: int
) -> Budget:
    """What there is for memory and history beside system and tools; Limit where there is nothing."""
    if space is not None and fixed >= space.limit:
        raise Limit(
            f"system and tools take {fixed} tokens and leave no room in a window of {space.window}, of "
            f"which {space.limit} are filled at most"
        )
    total = budget if space is None else min(budget, (space.window - fixed) // 2)
    shares = shares_for(activity, settings)
    share = {name: getattr(shares, name) for name in SHARED}
    room = settings.history_tokens
    whole = room
    if space is not None:
        room = max(0, space.limit - fixed - total - _SEAMS)
        whole = max(0, space.window - fixed - total - _SEAMS)
    notes = int(settings.scratchpad * total)
    return Budget(
        total=total,
        caps={name: min(total, int(settings.stretch * share[name] * total)) for name in SHARED},
        stable=min(total - notes, int((share["background"] + share["index"]) * total)),
        scratchpad=notes,
        history=room,
        event=min(settings.event_tokens, whole // _OF_HISTORY),
        words=whole // _OF_A_PERSON,
    )
