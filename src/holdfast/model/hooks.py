"""How hosts' hooks behave: how long they may take, and how much they say."""

from __future__ import annotations

from typing import Annotated

import msgspec

from .compose import Shares, Tokens
from .recall import Share

Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


class HookSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What hooks add to a host's conversation, and what the process behind them may use."""

    #: a hook leaves after this, whatever it waits for; nobody should notice that it is there
    deadline_ms: Annotated[int, msgspec.Meta(ge=50, le=60_000)] = 500
    #: tokens of the page a session begins or goes on with: what is open, decided, failed
    start_tokens: Tokens = 800
    #: tokens one prompt may add; a host pays for them again only when its cache is lost
    turn_tokens: Tokens = 500
    #: tokens the reading of one file may add
    file_tokens: Tokens = 200
    #: tokens all of these may add between two compactions of the host
    budget: Tokens = 40_000
    #: how that is divided: what a session begins with stays small, the rest comes when it is needed
    shares: Shares = Shares(critical=0.1, relevant=0.88, background=0.0125, index=0.0075)
    #: what is less likely than this to be of use is not put into somebody else's conversation
    floor: Share = 0.05
    #: the process that answers ends when nobody asked for so long
    idle_minutes: Annotated[float, msgspec.Meta(gt=0, le=10_080)] = 15.0
    #: and when it has grown beyond this
    memory_mb: Count = 1_500
    #: so many may ask at the same time; others do without an answer
    clients: Count = 16
