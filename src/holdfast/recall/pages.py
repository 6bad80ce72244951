"""From events and memories to pages: what is searched, by whom, in which words.

A turn is cut into passages. A short passage borrows the words said before it in its session, so that an
answer is found by its question. A memory stands for itself and borrows nothing, and so does an item; so
does each part of a document, which counts the words of its path and of its headings as its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime
from hashlib import sha256

from holdfast.model.documents import Part, part_id
from holdfast.model.events import Event
from holdfast.model.items import ContextItem
from holdfast.model.memories import Memory, said_by
from holdfast.model.recall import RecallSettings
from holdfast.model.search import (
    DOCUMENT,
    EVERYBODY,
    FOREVER,
    ITEM,
    MEMORY,
    Document,
    Page,
    Passage,
)
from holdfast.text.instructions import standing
from holdfast.text.passages import split
from holdfast.text.preferences import preference
from holdfast.text.spoken import bodies_of, said
from holdfast.text.words import analyse

#: raised when pages, or the parts of documents, are made differently; what was indexed before is then
#: indexed anew
SHAPE = 7
#: memories of this importance are found by a label of their own
IMPORTANT = 0.8
#: events that say something somebody may want to find
SEARCHED = frozenset(
    {
        "user_message",
        "model_message",
        "tool_call",
        "tool_result",
        "validation_gate",
        "decision",
        "error",
        "task_completed",
    }
)
#: what a role is called where no name is given
_ROLES = {"user_message": "user", "model_message": "assistant"}
#: sessions whose last words are kept at hand
_MOST_SESSIONS = 512
#: passages of a session that can still be context for the next one
_KEPT = 64

#: signs of the hash that a turn is found by
_DIGEST = 32

Recent = Callable[[str, str], list[Passage]]
Body = Callable[[Event], str | None]


class Binder:
    """Makes pages; knows the last words of the sessions it has seen."""

    def __init__(self, recent: Recent, settings: RecallSettings) -> None:
        self._recent = recent
        self._settings = settings
        #: the words of the latest passages of a session, each with the number of its turn
        self._said: dict[tuple[str, str], deque[tuple[int, list[str]]]] = {}

    def turn(self, event: Event, body: Body) -> Page | None:
        """The page of an event; None for one that is nobody's or says nothing.

        Of a long text all is asked for, from its body, to know it by its exact words.
        """
        text = event.text if event.kind in _ROLES else event.words
        if event.erased or event.kind not in SEARCHED or not event.user or not text.strip():
            return None
        said = event.payload if isinstance(event.payload, dict) else {}
        speaker = said.get("speaker") or said.get("tool") or _ROLES.get(event.kind) or event.agent
        owner, session = event.user, event.session_id or ""
        passages, words = self._passages(owner, session, str(speaker or ""), text)
        return Page(
            owner=owner,
            document=Document(
                id=event.event_id,
                event_seq=event.event_seq,
                at=milliseconds(event.timestamp),
                kind=event.kind,
                speaker=str(speaker or "")[:200],
                agent=event.agent or "",
                session=session,
                labels=(
                    "scope:session",
                    f"what:{event.kind}",
                    *_says(event.kind, text),
                    worded(event, body(event)),
                ),
                length=words,
            ),
            passages=passages,
        )

    def _passages(
        self, owner: str, session: str, speaker: str, text: str
    ) -> tuple[tuple[Passage, ...], int]:
        before = self._before(owner, session)
        turn = before[-1][0] + 1 if before else 0
        found, words = [], 0
        for start, piece in split(text, self._settings.passage_chars):
            own = analyse(f"{speaker} {piece}")
            words += len(own)
            context = self._context(before, turn, self._settings.context_words - len(own))
            found.append(
                Passage(
                    start=start,
                    text=piece,
                    speaker=speaker,
                    own=" ".join(own),
                    context=" ".join(context),
                )
            )
            before.append((turn, own))
        return tuple(found), words

    def _context(self, before: deque[tuple[int, list[str]]], turn: int, lacking: int) -> list[str]:
        """The words said last, as many as are lacking, from a few turns back at most."""
        context: list[str] = []
        for of, words in reversed(before):
            if lacking <= 0 or turn - of > self._settings.context_turns:
                break
            context = words[-lacking:] + context
            lacking -= len(words)
        return context

    def _before(self, owner: str, session: str) -> deque[tuple[int, list[str]]]:
        known = self._said.pop((owner, session), None)
        if known is None:
            known = deque(maxlen=_KEPT)
            turns: dict[int, int] = {}
            for passage in self._recent(owner, session) if session else ():
                turn = turns.setdefault(passage.document, len(turns))
                known.append((turn, passage.own.split()))
        if session:
            self._said[owner, session] = known
        return known

    def rest(self) -> None:
        """What was bound is on its shelf now, so most of it need not be kept at hand."""
        while len(self._said) > _MOST_SESSIONS:
            self._said.pop(next(iter(self._said)))

    def memory(self, memory: Memory) -> Page | None:
        """The page of one revision of a memory."""
        if not memory.text.strip():
            return None
        named = " ".join(
            filter(None, (memory.subject, memory.key, memory.applies_to, memory.title))
        )
        headed = f"{named} {' '.join(memory.tags)}".strip()
        owner = memory.user if memory.scope in ("session", "user") else EVERYBODY
        passages = tuple(
            Passage(start=start, text=piece, own=" ".join(analyse(f"{headed} {piece}")))
            for start, piece in split(memory.text, self._settings.passage_chars)
        )
        private = memory.scope == "session"
        return Page(
            owner=owner or EVERYBODY,
            document=Document(
                id=memory.id,
                revision=said_by(memory),
                event_seq=memory.event_seq,
                at=milliseconds(memory.updated_at),
                kind=MEMORY,
                agent=(memory.agent or "") if private else "",
                session=(memory.session_id or "") if private else "",
                labels=labels(memory),
                key=" ".join(analyse(memory.key or "")),
                length=sum(passage.own.count(" ") + 1 for passage in passages),
                begins=milliseconds(memory.valid_from) if memory.valid_from else 0,
                ends=min(
                    (milliseconds(end) for end in (memory.valid_to, memory.expires_at) if end),
                    default=FOREVER,
                ),
            ),
            passages=passages,
        )

    def item(self, event: Event, item: ContextItem) -> Page | None:
        """The page of the revision of an item that an event made; its owner's, as a turn is."""
        if event.erased or not event.user:
            return None
        headed = f"{item.type} {' '.join(item.tags)}".strip()
        passages = tuple(
            Passage(start=start, text=piece, own=" ".join(analyse(f"{headed} {piece}")))
            for start, piece in split(event.text, self._settings.passage_chars)
        )
        of = Document(
            id=item.id,
            revision=event.event_seq,
            event_seq=event.event_seq,
            at=milliseconds(event.timestamp),
            kind=ITEM,
            agent=event.agent or "",
            labels=("scope:session", "what:item", *(f"tag:{tag}" for tag in item.tags)),
            length=sum(passage.own.count(" ") + 1 for passage in passages),
        )
        return Page(owner=event.user, document=of, passages=passages) if passages else None

    def document(self, event: Event, path: str, parts: Iterable[Part]) -> list[Page]:
        """A page for each part of the version of a document that an event brought."""
        pages = []
        for part in parts:
            headed = analyse(f"{path} {part.title}")
            passages = tuple(
                Passage(
                    start=start, text=piece, speaker=path, own=" ".join([*headed, *analyse(piece)])
                )
                for start, piece in split(part.text, self._settings.passage_chars)
            )
            of = Document(
                id=part_id(event.event_id, part),
                event_seq=event.event_seq,
                at=milliseconds(event.timestamp),
                kind=DOCUMENT,
                speaker=path,
                session=event.event_id,
                labels=("scope:project", "what:document", f"title:{part.title}", f"path:{path}"),
                length=sum(passage.own.count(" ") + 1 for passage in passages),
            )
            if passages:
                pages.append(Page(owner=EVERYBODY, document=of, passages=passages))
        return pages


def title_of(document: Document) -> str:
    """The headings or the definition a part of a document stands under."""
    found = (label for label in document.labels if label.startswith("title:"))
    return next(found, "").removeprefix("title:")


def worded(event: Event, body: str | None) -> str:
    """The label of what says exactly the same: an event is found by all of its words, too.

    A long text whose body cannot be read is known by the hash that body is kept under.
    """
    digest = bodies_of(event).get("/text")
    if digest and body is None:
        return f"words:{digest[:_DIGEST]}"
    return wording(said(event) if body is None else body)


def wording(text: str) -> str:
    """The label of the turns that say exactly this; space around it says nothing."""
    exact = text.strip().encode("utf-8", "surrogatepass")
    return f"words:{sha256(exact).hexdigest()[:_DIGEST]}"


def _says(kind: str, text: str) -> tuple[str, ...]:
    """Instructions and preferences hold for questions that do not name them."""
    if kind != "user_message":
        return ()
    found = ("instruction", standing(text)), ("preference", preference(text))
    return tuple(f"says:{what}" for what, said in found if said)


def labels(memory: Memory) -> tuple[str, ...]:
    """What a memory can be filtered by."""
    says = {"rules": ("says:instruction",), "preferences": ("says:preference",)}
    return (
        *says.get(memory.category, ()),
        f"scope:{memory.scope}",
        "what:memory",
        f"kind:{memory.kind}",
        f"category:{memory.category}",
        *(f"tag:{tag}" for tag in memory.tags),
        *([f"applies_to:{memory.applies_to}"] if memory.applies_to else ()),
        *(["important"] if memory.importance >= IMPORTANT else ()),
    )


def milliseconds(moment: str) -> int:
    """A time as a number; 0 for what is none."""
    try:
        return round(datetime.fromisoformat(moment).timestamp() * 1000)
    except (ValueError, TypeError, OverflowError):
        return 0
