"""Who asks for what: checked, and put into words the shelves understand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import msgspec

from holdfast.errors import Damaged, Invalid, Limit
from holdfast.model.memories import CATEGORIES, KINDS
from holdfast.model.search import DOCUMENT, ITEM, Document, Wanted
from holdfast.recall.pages import milliseconds
from holdfast.record import limits

from . import memories
from .reserved import own_scope

if TYPE_CHECKING:
    from .holdfast import Holdfast

T = TypeVar("T")
#: scope words of earlier designs, and what they are called here
_SCOPES = {
    "user-private": "user",
    "project-shared": "project",
    "app": "project",
    "all": None,
    "session": "session",
    "user": "user",
    "project": "project",
    "system": "system",
}
#: tags that can be asked for at once
_MOST_TAGS = 50
#: the most that is answered at once
MOST = 1_000


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks for what; every field narrows."""

    user: str
    agent: str | None = None
    session_id: str | None = None
    scope: str | None = None
    kind: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    since: str | datetime | None = None
    until: str | datetime | None = None
    as_of: str | datetime | None = None
    #: the turns of this session from this event on are before the asker's eyes
    seen: tuple[str, int] | None = None
    #: of these turns, the events that are shown in short
    partly: tuple[int, ...] = ()


def wanted_by(hf: Holdfast, asked: Asked) -> Wanted:
    """What may be answered, from what was asked; Invalid for words that mean nothing."""
    scope = _scope(asked.scope)
    labels = [f"scope:{scope}"] if scope else []
    for name, value, known in (
        ("kind", asked.kind, (*KINDS, DOCUMENT, ITEM)),
        ("category", asked.category, CATEGORIES),
    ):
        if value is not None:
            if value not in known:
                raise Invalid(f"{name} is one of {', '.join(known)}, not {value!r}")
            labels.append(f"what:{value}" if value in (DOCUMENT, ITEM) else f"{name}:{value}")
    labels += [f"tag:{tag}" for tag in asked.tags]
    return Wanted(
        agent=asked.agent,
        session=asked.session_id,
        labels=tuple(labels),
        since=_moment(asked.since),
        until=_moment(asked.until),
        now=milliseconds(memories.now(hf)),
        as_of=_moment(asked.as_of),
        seen=asked.seen,
        partly=asked.partly,
    )


def _scope(said: str | None) -> str | None:
    if said is None:
        return None
    if not isinstance(said, str) or said not in _SCOPES:
        raise Invalid(f"scope is one of session, user, project, system or all, not {said!r}")
    return _SCOPES[said]


def tags_of(tags: Sequence[str]) -> tuple[str, ...]:
    """Tags, each a word."""
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise Invalid(f"tags is a list of words, not {tags!r}")
    named = tuple(_tag(tag) for tag in tags)
    if len(named) > _MOST_TAGS:
        raise Limit(
            f"{len(named)} tags are more than the {_MOST_TAGS} that can be asked for at once"
        )
    return named


def _tag(tag: str) -> str:
    try:
        sound = isinstance(tag, str) and bool(tag.strip()) and bool(tag.encode())
    except UnicodeEncodeError:
        sound = False
    if not sound:
        raise Invalid(f"a tag is a word, not {tag!a}")
    return tag


def _moment(said: str | datetime | None) -> int | None:
    return None if said is None else milliseconds(limits.moment(said))


def check(query: str, k: int, min_relevance: float | None) -> None:
    check_k(k)
    if not isinstance(query, str):
        raise Invalid(f"a question is a text, not {type(query).__name__}")
    number = isinstance(min_relevance, int | float) and not isinstance(min_relevance, bool)
    if min_relevance is not None and not (number and 0 <= min_relevance <= 1):
        raise Invalid(f"min_relevance is a number from 0 to 1, not {min_relevance!r}")


def check_k(k: int) -> None:
    """Invalid for what is not a number of hits."""
    if type(k) is not int or not 1 <= k <= MOST:
        raise Invalid(f"k, the limit, must be a whole number from 1 to {MOST}, not {k!r}")


def mended(hf: Holdfast, asked: Asked, ask: Callable[[], T]) -> T:
    """The answer of the shelves; those that turn out to be damaged are made anew, once."""
    try:
        return ask()
    except Damaged as exc:
        for log in hf.logs(asked.user):
            log.library.discard(str(exc))
        return ask()


def logs(hf: Holdfast, asked: Asked) -> list[Holdfast]:
    """The logs a scope lies in: a project's own, the user's, everybody's."""
    scope = _scope(asked.scope)
    reserved = scope if scope in ("user", "system") else None
    return [
        log
        for log in hf.logs(asked.user)
        if scope is None or own_scope(log) == reserved or (log is hf and reserved is None)
    ]


def latest(
    log: Holdfast, owners: Sequence[str], wanted: Wanted, most: int, *, by_words: bool = False
) -> list[Document]:
    """The latest documents of each of these owners' shelves in a log, at most so many each."""
    with log.library.shelves(owners, wanted, by_words=by_words) as shelves:
        return [
            document
            for shelf in shelves
            for document in shelf.index.documents(
                shelf.number, shelf.index.latest(shelf.number, wanted, most)
            ).values()
        ]
