"""What can be found: a document on somebody's shelf, cut into passages.

A document is one turn of a conversation, one revision of a memory or of an item, or one part of a file
that was read in. A shelf holds what belongs to one owner; nothing on it, not even how often a word
occurs, is ever known to somebody else.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

#: labels that most documents carry; looking for the others is worth an index
COMMON = frozenset(
    {
        "scope:session",
        "scope:project",
        "what:user_message",
        "what:model_message",
        "what:tool_call",
        "what:tool_result",
        "what:memory",
        "what:item",
        "kind:fact",
        "category:facts",
    }
)
#: the kind of a document that is a memory
MEMORY = "memory"
#: of one that is a part of a file
DOCUMENT = "document"
#: of one that an agent saved; every other is a turn of a conversation
ITEM = "item"
#: the end of what has none
FOREVER = 1 << 62
#: the owner of what everybody in a project may see
EVERYBODY = ""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be found, without its words."""

    #: of the event, of the memory, of the item or of the part of a file
    id: str
    #: of a memory or an item, the event that made it say this; 0 for a turn
    revision: int = 0
    event_seq: int
    #: milliseconds since 1970
    at: int
    #: the event's type, or "memory", "item" or "document"
    kind: str
    #: who said it, as the record says; a tool's name for what it answered, a file's path for its parts
    speaker: str = ""
    agent: str = ""
    #: the conversation it is a turn of; the parts of one version of a file belong together like turns
    session: str = ""
    #: what it can be filtered by: scope, kind, category, tags
    labels: tuple[str, ...] = ()
    #: the words of the key of a fact
    key: str = ""
    #: how many words
    length: int = 0
    #: from when and until when it holds; 0 and the far future where nothing was said
    begins: int = 0
    ends: int = FOREVER


#: of a memory, until when each of its revisions held
Held = Mapping[int, int]


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a document: what is embedded, matched and shown."""

    #: its place on the shelf, from 1 on; 0 before it has one
    number: int = 0
    #: its document's place on the shelf
    document: int = 0
    start: int
    text: str
    #: who said it; known on the way to a shelf, afterwards its document knows
    speaker: str = ""
    #: its words, joined by spaces
    own: str
    #: the words that came before it in its session, as many as it needs to be understood
    context: str = ""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A document with its passages, on its way to a shelf."""

    owner: str
    document: Document
    passages: tuple[Passage, ...]


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """How much a shelf holds."""

    documents: int = 0
    passages: int = 0
    words: int = 0


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which documents are asked for; every condition narrows."""

    #: None for every agent of the owner
    agent: str | None = None
    session: str | None = None
    #: every one of these
    labels: tuple[str, ...] = ()
    #: any one of these; empty for any label at all
    any_label: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    #: the moment that counts for what begins and ends
    now: int
    #: as things stood then: what came later does not count, what was replaced since does
    as_of: int | None = None
    #: but not the turns of this session from this event on: the asker sees them already
    seen: tuple[str, int] | None = None
    #: of these turns, the events that are seen only in part
    partly: tuple[int, ...] = ()
    #: also what is found no more, whatever the moment: what was replaced, taken back or ran out
    ended: bool = False
