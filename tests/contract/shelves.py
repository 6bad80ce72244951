"""Shelves for the tests of what is searched: pages of every sort, and every question about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from holdfast.engines.reference.search import MemorySearch
from holdfast.engines.sqlite import Index
from holdfast.engines.sqlite.search import SqliteSearch
from holdfast.model.events import Position
from holdfast.model.search import EVERYBODY, FOREVER, Document, Page, Passage, Wanted
from holdfast.ports.search import SearchIndex
from holdfast.text.stems import stems
from holdfast.text.words import analyse

NOW = Wanted(now=50)


def at(seq: int, generation: int = 1) -> Position:
    return Position(generation=generation, event_seq=seq, crc=f"{seq:08x}")


def search_in(folder: Path | str, **given: Any) -> SqliteSearch:
    given = {"shape": "s", "stems": stems, **given}
    return SqliteSearch(Index(str(folder), project_id="p"), **given)


class Stock:
    """Empty shelves to be had; a file for each would take longer than what is tried on it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._spare: list[SqliteSearch] = []

    @contextmanager
    def take(self, kind: str) -> Iterator[SearchIndex]:
        if kind == "reference":
            yield MemorySearch(stems)
            return
        if not self._spare:
            self._count += 1
            folder = self._folder / str(self._count)
            folder.mkdir()
            self._spare.append(search_in(folder))
        taken = self._spare.pop()
        yield taken
        taken.discard()
        self._spare.append(taken)


def page(
    text: str, *, owner: str = "ana", context: str = "", pieces: int = 1, **given: Any
) -> Page:
    """A document that says a text, so many times over."""
    own, before = " ".join(analyse(text)), " ".join(analyse(context))
    some = [
        Passage(start=n, text=text, speaker="bo", own=own, context=before) for n in range(pieces)
    ]
    given = {"id": text, "event_seq": 1, "at": 1, "kind": "decision", **given}
    return Page(owner=owner, document=Document(**given), passages=tuple(some))


def add(index: SearchIndex, *pages: Page, **given: Any) -> bool:
    """Go on from wherever the shelves are."""
    base = index.position()
    return index.add(base, pages, at(1 if base is None else base.event_seq + 1), **given)


def on(index: SearchIndex, owner: str = "ana") -> int:
    shelf = index.shelf(owner)
    assert shelf is not None
    return shelf


OWNERS = ["ana", "ben", EVERYBODY, "an'a"]
SESSIONS = ["", "one", "two", "t'wo\0"]
LABELS = [
    "scope:session",
    "what:memory",
    "scope:user",
    "tag:a",
    "tag:b",
    "tag",
    "",
    "tag:a\x1ftag:b",
    "\x1e",
    "%",
]
WORDS = [
    *("deploy", "deployed", "deploying", "the", "s", "ss", "東京", "東京タワー", "数据库", "สวัสดี"),
    *("c++", "O'Brien", "naïve", "userId", "v1.2.3", "NEAR", "OR", 'say "hi"', "own:deploy", "a*"),
]
texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=7).map(" ".join)
moments = st.integers(0, 20)
labels = st.lists(st.sampled_from(LABELS), max_size=3).map(tuple)
documents = st.builds(
    Document,
    id=st.sampled_from([f"e{n}" for n in range(8)]),
    revision=st.integers(0, 2),
    event_seq=st.integers(0, 9),
    at=moments,
    kind=st.sampled_from(["decision", "memory"]),
    speaker=st.text(max_size=3),
    agent=st.sampled_from(["", "x", "y"]),
    session=st.sampled_from(SESSIONS),
    labels=labels,
    key=st.text(max_size=3),
    length=st.integers(0, 9),
    begins=st.just(0) | moments,
    ends=st.just(1 << 62) | moments,
)
passages = st.builds(
    lambda start, text, before: Passage(
        start=start, text=text, own=" ".join(analyse(text)), context=" ".join(analyse(before))
    ),
    st.integers(0, 9),
    texts,
    st.just("") | texts,
)
pages = st.builds(
    Page,
    owner=st.sampled_from(OWNERS),
    document=documents,
    passages=st.lists(passages, max_size=3).map(tuple),
)


class Batch(NamedTuple):
    pages: list[Page]
    held: dict[str, dict[int, int]]
    anew: bool


batches = st.lists(
    st.builds(
        Batch,
        st.lists(pages, max_size=12),
        st.dictionaries(
            st.sampled_from(["e0", "e1", "e2", "no"]),
            st.dictionaries(st.integers(0, 2), moments | st.just(FOREVER)),
        ),
        st.sampled_from([False, False, False, True]),
    ),
    max_size=4,
)
wanteds = st.builds(
    Wanted,
    agent=st.none() | st.sampled_from(["", "x", "z"]),
    session=st.none() | st.sampled_from([*SESSIONS, "none"]),
    labels=st.just(()) | labels,
    any_label=st.just(()) | labels,
    since=st.none() | moments,
    until=st.none() | moments,
    now=moments,
    as_of=st.none() | moments,
    seen=st.none() | st.tuples(st.sampled_from([*SESSIONS, "none"]), st.integers(0, 9)),
    partly=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    ended=st.booleans(),
)


class Asked(NamedTuple):
    words: list[str]
    wanted: Wanted
    most: int
    moments: list[int]
    numbers: list[int]
    session: str


asked = st.builds(
    Asked,
    texts.map(analyse) | st.lists(st.sampled_from(WORDS) | st.text(max_size=4), max_size=5),
    wanteds | st.builds(Wanted, now=moments),
    st.integers(0, 5) | st.just(1_000),
    st.lists(moments, max_size=3),
    st.lists(st.integers(-1, 12), max_size=6),
    st.sampled_from([*SESSIONS, "none"]),
)


def fill(index: SearchIndex, found: Sequence[Batch]) -> None:
    for batch in found:
        assert add(index, *batch.pages, anew=batch.anew, held=batch.held)


def answers(index: SearchIndex, owner: str, ask: Asked) -> list[object]:
    """What every way of reading says about one owner."""
    found: list[object] = [index.recent(owner, ask.session, ask.most)]
    shelf = index.shelf(owner)
    if shelf is None:
        return found
    return [
        *found,
        index.size(shelf),
        index.frequency(shelf, ask.words),
        index.matching(shelf, ask.words, ask.wanted, ask.most),
        index.fitting(shelf, ask.numbers, ask.wanted),
        index.few(shelf, ask.wanted, ask.most),
        index.latest(shelf, ask.wanted, ask.most),
        index.near(shelf, ask.wanted, ask.moments, ask.most),
        index.passages(shelf, ask.numbers),
        index.passages_of(shelf, ask.numbers),
        index.owners(shelf, ask.numbers),
        index.made_by(shelf, ask.numbers, ask.wanted),
        index.documents(shelf, ask.numbers),
        index.beside(shelf, ask.numbers),
    ]


def everything(index: SearchIndex) -> list[object]:
    """Whatever can be read."""
    ask = Asked(["word", "text", "new"], NOW, 99, [3], list(range(20)), "one")
    said: list[object] = [index.position(), index.edition(), index.owned()]
    for owner in ("ana", "ben", "new"):
        said += [index.shelf(owner), *answers(index, owner, ask)]
    return said


def advance(index: SearchIndex, name: str, goal: int) -> list[int]:
    """Take every step up to the goal that nobody else took first."""
    taken = []
    while (base := index.position()) is None or base.event_seq < goal:
        step = 1 if base is None else base.event_seq + 1
        if index.add(base, [page(f"{name} {step}", event_seq=step)], at(step)):
            taken.append(step)
    return taken
