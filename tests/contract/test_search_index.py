"""What ports/search.py promises, on every engine: shelves, words, filters and positions."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.engines.reference.search import MemorySearch
from holdfast.model.events import Position
from holdfast.model.search import EVERYBODY, FOREVER, Page, Passage, Size, Wanted
from holdfast.ports.search import SearchIndex
from holdfast.text.stems import stems
from holdfast.text.words import analyse
from tests.contract.shelves import (
    NOW,
    OWNERS,
    Asked,
    Batch,
    Stock,
    add,
    advance,
    answers,
    asked,
    at,
    batches,
    everything,
    fill,
    on,
    page,
    pages,
    search_in,
    texts,
)
from tests.property.effort import examples

KINDS = ["reference", "sqlite"]
#: a smaller example would take minutes to find
PHASES = [Phase.explicit, Phase.generate]


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return Stock(tmp_path_factory.mktemp("shelves"))


@pytest.fixture(params=KINDS)
def index(request: pytest.FixtureRequest, stock: Stock) -> Iterator[SearchIndex]:
    with stock.take(request.param) as shelves:
        yield shelves


# ---- anything at all ----------------------------------------------------------------------------


@settings(max_examples=examples(120), phases=PHASES)
@given(found=batches, questions=st.lists(asked, min_size=1, max_size=4))
def test_engines_answer_alike(stock: Stock, found: list[Batch], questions: list[Asked]) -> None:
    with stock.take("reference") as plain, stock.take("sqlite") as index:
        fill(plain, found)
        fill(index, found)
        assert index.position() == plain.position()
        assert index.owned() == plain.owned()
        for owner in OWNERS:
            assert index.shelf(owner) == plain.shelf(owner)
            for ask in questions:
                assert answers(index, owner, ask) == answers(plain, owner, ask)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(25), phases=PHASES)
@given(found=batches, questions=st.lists(asked, min_size=1, max_size=3))
def test_nobody_else_changes_an_answer(
    stock: Stock, kind: str, found: list[Batch], questions: list[Asked]
) -> None:
    with stock.take(kind) as shared, stock.take(kind) as alone:
        fill(shared, found)
        only = [
            batch._replace(pages=[p for p in batch.pages if p.owner == "ana"]) for batch in found
        ]
        fill(alone, only)
        for ask in questions:
            assert answers(shared, "ana", ask) == answers(alone, "ana", ask)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(25), phases=PHASES)
@given(some=st.lists(pages, max_size=15), cut=st.integers(0, 15), ask=asked)
def test_how_pages_were_put_together_changes_no_answer(
    stock: Stock, kind: str, some: list[Page], cut: int, ask: Asked
) -> None:
    with stock.take(kind) as whole, stock.take(kind) as cut_up:
        fill(whole, [Batch(some, {}, False)])
        fill(cut_up, [Batch(part, {}, False) for part in (some[:cut], some[cut:], some)])
        for owner in OWNERS:
            assert answers(whole, owner, ask) == answers(cut_up, owner, ask)


def scores(found: Sequence[Passage], words: Sequence[str]) -> dict[int, float]:
    """BM25 as books have it, borrowed words counting less."""
    said = {p.number: [Counter(stems(part).split()) for part in (p.own, p.context)] for p in found}
    length = {
        number: sum(own.values()) + sum(before.values()) for number, (own, before) in said.items()
    }
    mean = sum(length.values()) / len(length) if length else 0
    score: Counter[int] = Counter()
    for stem in {stems(word) for word in words} - {""}:
        holding = [number for number, (own, before) in said.items() if stem in own | before]
        rarity = log((len(said) - len(holding) + 0.5) / (len(holding) + 0.5)) if holding else 0
        for number in holding:
            own, before = said[number]
            count = own[stem] + 0.7 * before[stem]
            share = count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length[number] / mean))
            score[number] += (rarity if rarity > 0 else 1e-6) * share  # type: ignore[assignment]
    return dict(score)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(60), phases=PHASES)
@given(some=st.lists(pages, max_size=15), words=texts.map(analyse), most=st.integers(0, 30))
def test_the_passages_that_say_most_of_the_words_come_first(
    stock: Stock, kind: str, some: list[Page], words: list[str], most: int
) -> None:
    with stock.take(kind) as index:
        fill(index, [Batch([replace(page, owner="ana") for page in some], {}, False)])
        shelf = index.shelf("ana")
        if shelf is None:
            return
        everything = index.passages(shelf, range(1, index.size(shelf).passages + 1))
        expected = scores(everything, words)
        found = index.matching(shelf, words, Wanted(now=0, as_of=99), most)
        assert len(found) == min(most, len(expected))
        best = sorted(expected.values(), reverse=True)[:most]
        assert [expected[number] for number in found] == pytest.approx(best, rel=1e-9)


# ---- words --------------------------------------------------------------------------------------

HOSTILE = [
    *("", " ", '"', '""', "'", "\0", "a\0", 'deploy"', '" OR "', "deploy*", "deploy the", "Deploy"),
    *(
        "own:deploy",
        "NEAR(deploy)",
        "-deploy",
        "^deploy",
        "{own}",
        "deploy\x1f",
        "\ud800",
        "%",
        "s",
    ),
]


def test_any_text_may_stand_among_the_words(index: SearchIndex) -> None:
    add(index, page("deploy the server"), page("the deployed release", context="server"))
    shelf = on(index)
    expected = index.matching(shelf, ["deploy", "server"], NOW, 9)
    assert sorted(expected) == [1, 2]
    for hostile in HOSTILE:
        assert index.matching(shelf, [hostile, "deploy", hostile, "server"], NOW, 9) == expected
        assert index.matching(shelf, [hostile], NOW, 9) == []
        assert index.frequency(shelf, [hostile, "deploy"]) == {hostile: 0, "deploy": 2}
    assert index.matching(shelf, [f"w{n}" for n in range(3_000)] + ["server"], NOW, 9) == [1, 2]


def test_a_borrowed_word_counts_less_than_an_own_one_and_not_at_all_if_so_wished(
    tmp_path: Path,
) -> None:
    borrowed, own = page("one two", context="tree"), page("tree one", context="two")
    others = [page(f"nothing {n}") for n in range(9)]
    for weights, first in (((1.0, 0.7), 2), ((0.7, 1.0), 1), ((1.0, 0.0), 2)):
        found: list[list[int]] = []
        for index in (MemorySearch(stems, weights), search_in(tmp_path, weights=weights)):
            index.discard()
            add(index, borrowed, own, *others)
            found.append(index.matching(on(index), ["trees"], NOW, 9))
        assert found == [[first, 3 - first]] * 2


def test_more_passages_than_a_statement_takes(index: SearchIndex) -> None:
    some = [page("word", id=f"e{n}", session="one", at=n) for n in range(1, 1_301)]
    add(index, *some)
    shelf, every = on(index), list(range(1, 1_301))
    assert [p.number for p in index.passages(shelf, every + every)] == every
    assert [p.document for p in index.passages_of(shelf, [*every, 1])] == every
    assert list(index.owners(shelf, every).items()) == list(zip(every, every, strict=True))
    assert sorted(index.documents(shelf, every)) == every
    assert index.beside(shelf, every)[1_300] == (1_299, 0)
    assert index.fitting(shelf, every[::-1], NOW) == every[::-1]
    assert index.matching(shelf, ["word"], NOW, 700) == every[:700]
    assert [p.number for p in index.recent("ana", "one", 64)] == every[-64:]
    assert index.matching(shelf, ["word"], Wanted(now=50, since=1_297), 2) == every[-4:-2]
    assert index.matching(shelf, ["word"], Wanted(now=50, since=1_301), 2) == []


def test_a_word_that_nearly_all_passages_say_counts_next_to_nothing(index: SearchIndex) -> None:
    long = " ".join(f"filler{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(600))
    add(index, page(f"the rare {long}"), page(f"rare {long}"))
    add(index, *[page(f"the other {long}", id=f"e{n}") for n in range(3)])
    assert index.matching(on(index), ["the", "rare"], NOW, 9) == [2, 1, 3, 4, 5]
    assert index.matching(on(index), ["the"], NOW, 2) == [1, 3]


# ---- what is wanted -----------------------------------------------------------------------------


def ids(index: SearchIndex, wanted: Wanted, owner: str = "ana") -> list[str]:
    """What is wanted, and every way of asking for it agrees."""
    shelf = on(index, owner)
    found = sorted(index.latest(shelf, wanted, 1_000))
    passages = [passage.number for passage in index.passages_of(shelf, found)]
    everything = list(range(1, index.size(shelf).passages + 1))
    assert index.few(shelf, wanted, 1_000) == passages
    assert index.fitting(shelf, everything, wanted) == passages
    assert sorted(index.near(shelf, wanted, [7], 1_000)) == found
    return [index.documents(shelf, found)[number].id for number in found]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (NOW, "a b c d"),
        (Wanted(now=50, agent="x"), "a b d"),
        (Wanted(now=50, agent=""), "b d"),
        (Wanted(now=50, session="one"), "a c"),
        (Wanted(now=50, session=""), "b d"),
        (Wanted(now=50, labels=("p",)), "a b"),
        (Wanted(now=50, labels=("p", "q")), "b"),
        (Wanted(now=50, any_label=("q", "r")), "b c"),
        (Wanted(now=50, labels=("p",), any_label=("q", "r")), "b"),
        (Wanted(now=50, since=20), "b c d"),
        (Wanted(now=50, until=20), "a"),
        (Wanted(now=50, since=20, until=40), "b c"),
        (Wanted(now=5), "a b c"),
        (Wanted(now=60), "a c d"),
        (Wanted(now=50, as_of=20), "a b"),
        (Wanted(now=50, as_of=40), "a b c d gone"),
        (Wanted(now=50, as_of=45), "a b c d"),
        (Wanted(now=50, ended=True), "a b c d gone"),
        (Wanted(now=5, as_of=20, ended=True), "a b c d gone"),
        (Wanted(now=60, labels=("p",), ended=True), "a b"),
        (Wanted(now=50, seen=("one", 1)), "b d"),
        (Wanted(now=50, seen=("one", 1), partly=(1,)), "a b c d"),
        (Wanted(now=50, seen=("one", 1), partly=(9,)), "b d"),
        (Wanted(now=50, seen=("one", 99)), "a b c d"),
        (Wanted(now=50, agent="x", session="one", labels=("p",), since=1, until=11), "a"),
    ],
)
def test_every_condition_narrows(index: SearchIndex, wanted: Wanted, expected: str) -> None:
    add(
        index,
        page("word", id="a", at=10, agent="x", session="one", labels=("p", "pp")),
        page("word", id="b", at=20, labels=("q", "p"), ends=60),
        page("word", id="c", at=30, agent="y", session="one", labels=("r",)),
        page("word", id="d", at=40, begins=6),
        page("word", id="gone", at=40),
        page("word", id="other", owner="ben"),
        held={"gone": {0: 45}},
    )
    assert ids(index, wanted) == expected.split()
    found = index.matching(on(index), ["word"], wanted, 9)
    assert list(index.owners(on(index), found).values()) == found
    assert len(found) == len(expected.split())
    assert index.few(on(index), wanted, len(found) - 1) is None


def test_only_the_revision_that_holds_is_found(index: SearchIndex) -> None:
    for revision in (1, 2):
        add(
            index,
            page(f"the {revision}", id="m", revision=revision, event_seq=revision, at=revision),
            page("the event", id="e"),
            page(f"shared {revision}", id="m", revision=revision, owner=EVERYBODY),
            held={"m": {revision - 1: 1, revision: FOREVER}},
        )
        assert index.made_by(on(index), [1, 2, 7], NOW) == ([1, 2] if revision == 1 else [2, 3])
    for holds, number in ((2, [3]), (1, [1]), (None, []), (7, []), (2, [3])):
        until = {1: 8, 2: 8} | ({holds: FOREVER} if holds else {})
        assert add(index, held={"m": until, "unknown": {1: FOREVER}})
        assert index.fitting(on(index), [1, 2, 3], NOW) == sorted([*number, 2])
        assert len(ids(index, NOW, EVERYBODY)) == len(number)
        assert ids(index, Wanted(now=50, as_of=7)) == ["m", "e", "m"]
        assert index.fitting(on(index), [1, 2, 3], Wanted(now=50, as_of=8)) == sorted([*number, 2])


def test_documents_come_by_time_and_by_their_place_in_a_session(index: SearchIndex) -> None:
    times = [5, 9, 5, 1, 30]
    sessions = ["one", "two", "", "one", ""]
    for n, (moment, session) in enumerate(zip(times, sessions, strict=True)):
        add(index, page(f"text {n}", at=moment, session=session, pieces=2))
    shelf = on(index)
    assert index.latest(shelf, NOW, 9) == [5, 2, 3, 1, 4]
    assert index.latest(shelf, NOW, 2) == [5, 2]
    assert index.near(shelf, NOW, [6], 9) == [1, 3, 2, 4, 5]
    assert index.near(shelf, NOW, [31, 7], 4) == [5, 1, 2, 3]
    assert index.near(shelf, NOW, [], 4) == []
    assert index.beside(shelf, [1, 2, 3, 4, 9]) == {1: (0, 4), 2: (0, 0), 3: (0, 0), 4: (1, 0)}
    assert [p.number for p in index.recent("ana", "one", 3)] == [2, 7, 8]
    assert index.recent("ana", "none", 3) == index.recent("nobody", "one", 3) == []


# ---- positions ----------------------------------------------------------------------------------


def test_empty_shelves_hold_nothing(index: SearchIndex) -> None:
    assert everything(index)[::2] == [None, [], [], [], []]
    assert add(index)
    assert (index.position(), index.owned()) == (at(1), [])
    assert add(index, page("", pieces=0))
    assert index.size(on(index)) == Size(documents=1)
    assert index.matching(on(index), ["word"], NOW, 9) == []


def test_what_is_there_already_is_left_out(index: SearchIndex) -> None:
    first = page("word", id="m", revision=1, labels=("a",))
    add(index, first, page("other text", id="m", revision=1), page("word", id="m", owner="ben"))
    add(index, first, page("text", id="m", revision=2), page("new", id="m", revision=1))
    assert index.size(on(index)) == Size(documents=2, passages=2, words=2)
    assert [p.text for p in index.passages(on(index), [1, 2, 3])] == ["word", "text"]
    assert index.documents(on(index), [1, 2, 3])[1] == first.document
    assert index.frequency(on(index), ["other", "new", "word"]) == {"other": 0, "new": 0, "word": 1}


@pytest.mark.parametrize("base", [None, at(1), at(3), at(2, 2), replace(at(2), crc="ffffffff")])
@pytest.mark.parametrize("anew", [False, True])
def test_pages_for_another_position_change_nothing(
    index: SearchIndex, base: Position | None, anew: bool
) -> None:
    add(index, page("word", id="m"))
    add(index, page("text", session="one"))
    before = everything(index)
    numbered: list[int] = []
    assert not index.add(
        base,
        [page("new", owner="new")],
        at(9),
        anew=anew,
        held={"m": {}},
        numbered=lambda shelf, _: numbered.append(shelf),
    )
    assert everything(index) == before
    assert numbered == []


@pytest.mark.parametrize("again", ["anew", "discarded"])
def test_everything_begins_anew_under_another_edition(index: SearchIndex, again: str) -> None:
    add(index, page("word", owner="ben"), page("word"))
    before = index.edition()
    add(index, page("text"))
    assert index.edition() == before
    if again == "anew":
        assert index.add(at(2), [page("new")], at(7), anew=True)
    else:
        index.discard()
        assert index.edition() != before
        assert (index.position(), index.owned(), index.shelf("ana")) == (None, [], None)
        assert index.add(None, [page("new")], at(7))
    assert index.edition() not in ("", before)
    assert (index.position(), index.owned(), index.shelf("ben")) == (at(7), [1], None)
    assert index.frequency(1, ["word", "text", "new"]) == {"word": 0, "text": 0, "new": 1}
    assert index.size(1) == Size(documents=1, passages=1, words=1)


@pytest.mark.parametrize("anew", [False, True])
def test_new_passages_are_told_with_their_numbers_before_they_count(
    index: SearchIndex, anew: bool
) -> None:
    add(index, page("word", pieces=2), page("word", owner="ben"))
    told: list[tuple[int, str, str, int, int]] = []

    def numbered(shelf: int, some: Sequence[Passage]) -> None:
        told.extend((shelf, index.edition(), p.speaker, p.number, p.document) for p in some)

    new = [page("new", owner="new"), page("word"), page("text", pieces=2), page("", pieces=0)]
    assert add(index, *new, anew=anew, numbered=numbered)
    edition = index.edition()
    afresh, behind = [(1, 1, 1), (2, 1, 1), (2, 2, 2), (2, 3, 2)], [(3, 1, 1), (1, 3, 2), (1, 4, 2)]
    places = afresh if anew else behind
    assert told == [(shelf, edition, "bo", number, of) for shelf, number, of in places]


@pytest.mark.parametrize("anew", [False, True])
def test_pages_that_are_not_taken_in_whole_leave_nothing_behind(
    index: SearchIndex, anew: bool
) -> None:
    add(index, page("word", id="m"), page("word", owner="ben"))
    before = everything(index)

    def numbered(shelf: int, some: Sequence[Passage]) -> None:
        if shelf == index.shelf("new") or len(some) == 2:
            raise KeyError("no room")

    new = [page("new", owner="ben"), page("text"), page("new", owner="new", pieces=2)]
    with pytest.raises(KeyError):
        add(index, *new, anew=anew, held={"m": {}}, numbered=numbered)
    assert everything(index) == before
    assert add(index, *new, anew=anew)
    assert index.frequency(on(index), ["text"]) == {"text": 1}


def test_of_threads_that_race_each_advance_happens_once(index: SearchIndex) -> None:
    taken: dict[str, list[int]] = {}
    names = ["red", "green", "blue"]
    threads = [
        threading.Thread(target=lambda name=name: taken.update({name: advance(index, name, 40)}))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(step for steps in taken.values() for step in steps) == list(range(1, 41))
    assert index.size(on(index)).documents == 40
    for name in names:
        assert index.frequency(on(index), [name])[name] == len(taken[name])


def test_what_is_read_inside_one_block_belongs_to_one_position(index: SearchIndex) -> None:
    add(index, page("word", session="one"))
    with index.reading():
        before = everything(index)
        other = threading.Thread(target=add, args=(index, page("text", session="one")))
        other.start()
        assert everything(index) == before
    other.join()
    assert index.position() == at(2)
    assert index.frequency(on(index), ["text"]) == {"text": 1}
