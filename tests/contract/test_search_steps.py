"""How much SQLite does for one question: bounded by what is asked about, not by what is kept.

Counted in steps of SQLite's own machine, which are the same on every computer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.engines.sqlite import Index
from holdfast.engines.sqlite.search import SqliteSearch
from holdfast.model.search import Wanted
from holdfast.text.stems import stems
from tests.contract.shelves import add, on, page

KEPT = 3_000
ASKED = list(range(1, KEPT, 30))
#: steps for each passage that is asked about; walking through all that is kept takes thousands
EACH = 100
_GRAIN = 50

wanted = pytest.mark.parametrize(
    "wanted",
    [
        Wanted(now=50),
        Wanted(now=50, agent="x"),
        Wanted(now=50, agent="x", session="one"),
        Wanted(now=50, since=1, until=40),
        Wanted(now=50, as_of=40),
        Wanted(now=50, labels=("tag:a",)),
    ],
    ids=["all", "agent", "session", "time", "as of", "label"],
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Index, SqliteSearch]:
    index = Index(str(tmp_path_factory.mktemp("steps")), project_id="p")
    search = SqliteSearch(index, shape="s", stems=stems)
    given: dict[str, Any] = {"agent": "x", "session": "one", "labels": ("tag:a", "what:decision")}
    add(
        search,
        *(page(f"word{n} alike", id=f"e{n}", event_seq=n, at=n, **given) for n in range(KEPT)),
    )
    return index, search


def steps(index: Index, ask: Callable[[], object]) -> int:
    """How many steps of its machine SQLite takes meanwhile, to within a few."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += _GRAIN
        return 0

    with index.use() as db:
        db.set_progress_handler(count, _GRAIN)
        try:
            ask()
        finally:
            db.set_progress_handler(None, 0)
    return taken


@wanted
def test_choosing_among_passages_looks_at_those_alone(
    kept: tuple[Index, SqliteSearch], wanted: Wanted
) -> None:
    index, search = kept
    shelf = on(search)
    assert steps(index, lambda: search.fitting(shelf, ASKED, wanted)) < EACH * len(ASKED)


@wanted
def test_a_word_of_one_passage_is_found_without_the_others(
    kept: tuple[Index, SqliteSearch], wanted: Wanted
) -> None:
    index, search = kept
    shelf = on(search)
    assert steps(index, lambda: search.matching(shelf, ["word7"], wanted, 10)) < EACH * 10


def test_what_was_said_about_a_time_is_found_without_the_rest(
    kept: tuple[Index, SqliteSearch],
) -> None:
    index, search = kept
    shelf, mine = on(search), Wanted(now=50, agent="x")
    assert steps(index, lambda: search.near(shelf, mine, [700], 10)) < EACH * 20
    assert steps(index, lambda: search.latest(shelf, mine, 10)) < EACH * 20


def test_many_are_told_from_few_without_reading_them_all(kept: tuple[Index, SqliteSearch]) -> None:
    index, search = kept
    shelf, mine = on(search), Wanted(now=50, agent="x")
    assert search.few(shelf, mine, KEPT - 1) is None
    assert steps(index, lambda: search.few(shelf, mine, 10)) < EACH * 10
