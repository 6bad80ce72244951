"""An epoch: as long as the beginning of a session's context stays as it is."""

from __future__ import annotations

import msgspec

from .packs import Shown


class Injected(msgspec.Struct, frozen=True, kw_only=True):
    """What one context added to the conversation, and behind which event."""

    pack: str
    position: int
    shown: tuple[Shown, ...] = ()


class Epoch(msgspec.Struct, frozen=True, kw_only=True):
    """The stable beginning of a context, and everything that was added behind it."""

    #: of the event that began it
    id: str
    event_seq: int
    #: what it is for: model, format, budget, window, settings, system and tools
    key: str
    #: of the log when it began; an erase makes another one
    generation: int = 0
    #: where the conversation begins in it
    history_from: int
    #: the last event a context of it has taken in, and what was asked then
    position: int = 0
    asked: str | None = None
    #: the context it began with
    first: str = ""
    #: background and index
    shown: tuple[Shown, ...] = ()
    added: tuple[Injected, ...] = ()

    def everything(self) -> tuple[Shown, ...]:
        """Every entry that is shown, by number."""
        return (*self.shown, *(one for added in self.added for one in added.shown))


class Epochs(msgspec.Struct, frozen=True, kw_only=True):
    """The epochs of a session, one for each key, the latest last."""

    epochs: tuple[Epoch, ...] = ()
    #: the number of the next entry; none is given twice in a session
    number: int = 1
    #: of the context that was handed out last
    last_pack: str = ""
