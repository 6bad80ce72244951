"""An epoch: as long as the beginning of a session's context stays as it is."""

from __future__ import annotations

import msgspec

from .packs import Shown

#: of what is shown its id, and where in all of it the shown passage lies; nothing for the whole
Passage = tuple[str, tuple[int, ...]]


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
    #: of the logs when it began; an erase makes another one
    generation: int = 0
    #: what the system text and the tools are known by
    fixed: str = ""
    #: where the conversation begins in it
    history_from: int
    #: the compaction that says what stands before that; empty for none
    past: str = ""
    #: what the person had said last before that, where it is shown too
    pinned: int = 0
    #: the last event a context of it has taken in, and what was asked then
    position: int = 0
    asked: str | None = None
    #: tokens of its conversation when a compaction that was due came to nothing last; 0 when none was
    came_to_nothing: int = 0
    #: the context it began with
    first: str = ""
    #: tokens of the window it is for; 0 where nobody said
    window: int = 0
    #: background and index
    shown: tuple[Shown, ...] = ()
    added: tuple[Injected, ...] = ()

    def everything(self) -> tuple[Shown, ...]:
        """Every entry that is shown, by number."""
        return (*self.shown, *(one for added in self.added for one in added.shown))

    def levels(self) -> dict[Passage, int]:
        """The best level at which each passage is shown.

        Names show nothing, and what was taken back is not there any more.
        """
        shown: dict[Passage, int] = {}
        every = [one for one in self.everything() if one.kind != "topic"]
        taken_back = {int(one.beside[0]) for one in every if one.kind == "correction"}
        for one in every:
            empty = one.kind == "correction" and len(one.beside) == 1
            if one.number not in taken_back and not empty:
                of = (one.id, one.span)
                shown[of] = min(one.level, shown.get(of, one.level))
        return shown


class Epochs(msgspec.Struct, frozen=True, kw_only=True):
    """The epochs of a session, one for each key, the latest last."""

    epochs: tuple[Epoch, ...] = ()
    #: the number of the next entry; none is given twice in a session
    number: int = 1
    #: of the context that was handed out last
    last_pack: str = ""
    #: the event that says that the host shortened its conversation last: nothing before it is shown
    compacted: int = 0
    #: our own compaction that holds, and up to which event it says what is shown
    past: str = ""
    through: int = 0
    #: the names of its latest compactions, whether they count or not
    seen: tuple[str, ...] = ()
