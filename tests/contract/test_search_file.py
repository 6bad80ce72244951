"""Shelves in index.db: who shares them, and what is damaged or of another make is no answer."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from holdfast.capture.layout import INDEX
from holdfast.engines.sqlite import Index, SqliteViews
from holdfast.engines.sqlite.search import SqliteSearch
from holdfast.errors import Damaged, HoldfastError, Unavailable
from holdfast.model.search import FOREVER, Page, Wanted
from holdfast.ports.search import SearchIndex
from holdfast.text.stems import stems
from tests.contract.shelves import NOW, add, advance, at, everything, on, page, search_in
from tests.property.effort import examples

ROOT = str(Path(__file__).parents[2])


def raw(folder: Path, *statements: str) -> None:
    """Change the file behind everybody's back; afterwards it is all of it."""
    with closing(sqlite3.connect(folder / INDEX, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


# ---- shared -------------------------------------------------------------------------------------


def test_a_further_index_of_the_same_folder_sees_what_was_added(tmp_path: Path) -> None:
    first, second = search_in(tmp_path), search_in(tmp_path)
    for n in range(3):
        assert add(
            first if n % 2 else second, page(f"word {n}", session="one"), held={"x": {n: FOREVER}}
        )
        assert everything(first) == everything(second)
    assert not second.add(at(2), [page("late")], at(3))
    second.discard()
    assert (first.position(), first.shelf("ana")) == (None, None)
    assert everything(first) == everything(second)


def test_nothing_changes_for_a_reader_while_another_adds(tmp_path: Path) -> None:
    reader, writer = search_in(tmp_path), search_in(tmp_path)
    add(writer, page("word"), page("word", owner="ben"))
    with reader.reading():
        before = everything(reader)
        add(writer, page("text"))
        assert everything(reader) == before
        writer.add(at(2), [page("new", owner="new")], at(3), anew=True)
        assert everything(reader) == before
    assert everything(reader) == everything(writer) != before


RACE = """
from tests.contract.shelves import advance, search_in
print(*advance(search_in(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
"""


def test_of_processes_that_race_each_advance_happens_once(tmp_path: Path) -> None:
    start = f"import sys; sys.path.insert(0, {ROOT!r})\n"
    racing = {
        name: subprocess.Popen(
            [sys.executable, "-c", start + RACE, str(tmp_path), name, "30"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("red", "green")
    }
    taken = {"blue": advance(search_in(tmp_path), "blue", 30)}
    for name, process in racing.items():
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        taken[name] = [int(step) for step in said.split()]
    assert sorted(step for steps in taken.values() for step in steps) == list(range(1, 31))
    index = search_in(tmp_path)
    found = index.frequency(on(index), taken)
    assert found == {name: len(steps) for name, steps in taken.items()}


def test_shelves_of_another_shape_are_not_read_and_go_with_the_next_pages(tmp_path: Path) -> None:
    add(search_in(tmp_path), page("word"))
    other = search_in(tmp_path, shape="other")
    assert other.position() is None
    assert not other.add(at(1), [], at(2))
    assert other.add(None, [page("text")], at(1))
    assert other.frequency(on(other), ["word", "text"]) == {"word": 0, "text": 1}
    assert search_in(tmp_path).position() is None


@pytest.mark.parametrize("generation", [2, None])
def test_pages_of_a_log_that_was_erased_from_are_refused(
    tmp_path: Path, generation: int | None
) -> None:
    index = search_in(tmp_path)
    add(index, page("word"))
    before = everything(index)
    erased = search_in(tmp_path, generation=lambda: generation)
    for anew in (False, True):
        with pytest.raises(Unavailable):
            erased.add(at(1), [page("secret")], at(2), anew=anew)
        assert everything(index) == before


def test_views_and_shelves_do_not_touch_each_other(tmp_path: Path) -> None:
    index = Index(str(tmp_path), project_id="p")
    views, search = SqliteViews(index, shape="v"), SqliteSearch(index, shape="s", stems=stems)
    rows = [("view", "key", b"row")]
    views.commit(None, rows, at(5))
    add(search, page("word"))
    search.discard()
    add(search, page("text"), anew=True)
    assert (views.position(), views.rows_of(["view"])) == (at(5), rows)
    before = everything(search)
    views.commit(at(5), [], at(6), anew=True)
    assert everything(search) == before


# ---- damage -------------------------------------------------------------------------------------


def whole(folder: Path) -> Path:
    """A folder with shelves of two owners in it, long passages and short ones."""
    folder.mkdir()
    index, dice = search_in(folder), Random(7)
    SqliteViews(index._index, shape="v").commit(None, [("view", "key", b"row")], at(5))
    said = ["deploy", "tokyo", "shard", "cache", "東京", "kernel", "audit", "graph", "route"]
    some: list[Page] = []
    for n in range(60):
        text = " ".join(dice.choices(said, k=dice.choice([3, 30, 900])))
        owner, session = dice.choice(["ana", "ben"]), dice.choice(["", "one"])
        given: dict[str, Any] = {"id": f"e{n}", "at": n, "event_seq": n, "session": session}
        given["labels"] = (dice.choice("pq"),)
        some.append(page(text, owner=owner, context="graph " * 9, **given))
    for half in (some[:30], some[30:]):
        assert add(index, *half)
    index._index.let_go()
    raw(folder)
    return folder


def content(index: SearchIndex) -> list[Callable[[], object]]:
    """Questions about what passages and documents say."""
    numbers = list(range(1, 50))
    return [
        lambda: [index.passages(on(index, owner), numbers) for owner in ("ana", "ben")],
        lambda: [index.documents(on(index, owner), numbers) for owner in ("ana", "ben")],
    ]


def choice(index: SearchIndex) -> list[Callable[[], object]]:
    """Questions about which of them are meant."""
    words, numbers, wanted = (
        ["kernel", "東京", "graph"],
        list(range(50)),
        Wanted(now=50, labels=("p",)),
    )
    return [
        lambda: everything(index),
        lambda: index.frequency(on(index), words),
        lambda: index.matching(on(index), words, NOW, 40),
        lambda: index.matching(on(index, "ben"), words, wanted, 40),
        lambda: index.few(on(index), wanted, 100),
        lambda: index.near(on(index), NOW, [30], 20),
        lambda: index.latest(on(index), wanted, 20),
        lambda: index.passages_of(on(index, "ben"), numbers),
        lambda: index.beside(on(index), numbers),
    ]


def wrong(index: SearchIndex, asked: list[Callable[[], object]], expected: list[object]) -> str:
    """What is answered that is neither right nor an error of ours."""
    for ask, right in zip(asked, expected, strict=True):
        try:
            if index.position() is not None and (found := ask()) != right:
                return str(found)[:200]
        except (Damaged, Unavailable):
            continue
    return ""


def broken(folder: Path, data: bytes) -> Iterator[SqliteSearch]:
    """Shelves over these bytes; afterwards they can be thrown away and made anew."""
    folder.mkdir()
    (folder / INDEX).write_bytes(data)
    index = search_in(folder)
    yield index
    index.discard()
    assert index.position() is None
    assert add(index, page("word"), page("text", owner="ben"))
    assert index.matching(on(index), ["word"], NOW, 9) == [1]
    index._index.let_go()
    shutil.rmtree(folder)


@pytest.mark.parametrize("garbage", [b"garbage" * 5_000, b"\0" * 9_000])
def test_a_file_that_is_none_is_damaged(tmp_path: Path, garbage: bytes) -> None:
    for index in broken(tmp_path / "broken", garbage):
        for ask in (index.position, index.edition, index.owned):
            with pytest.raises(Damaged):
                ask()
        with pytest.raises(Damaged):
            index.shelf("ana")
        with pytest.raises(Damaged):
            index.add(None, [page("word")], at(1))


@pytest.mark.parametrize("filling", ["garbage", "nothing", "cut"])
def test_a_page_that_is_lost_gives_no_other_answer(tmp_path: Path, filling: str) -> None:
    data, dice = (whole(tmp_path / "whole") / INDEX).read_bytes(), Random(filling)
    index = search_in(tmp_path / "whole")
    expected = [ask() for ask in content(index) + choice(index)]
    found = []
    for _ in range(examples(50)):
        start = dice.randrange(len(data) // 4_096) * 4_096
        lost = {"garbage": dice.randbytes(4_096), "nothing": bytes(4_096), "cut": b""}[filling]
        rest = b"" if filling == "cut" else data[start + 4_096 :]
        for index in broken(tmp_path / "broken", data[:start] + lost + rest):
            found += [wrong(index, content(index) + choice(index), expected)]
    assert set(found) == {""}


def test_a_flipped_bit_never_changes_what_a_passage_or_document_says(tmp_path: Path) -> None:
    """It may change which of them are found: the words have no checksum, what is shown has."""
    data, dice = (whole(tmp_path / "whole") / INDEX).read_bytes(), Random(7)
    index = search_in(tmp_path / "whole")
    expected = [ask() for ask in content(index)]
    used = [n for n, byte in enumerate(data) if byte]
    found = []
    for _ in range(examples(100)):
        changed = bytearray(data)
        changed[dice.choice(used)] ^= 1 << dice.randrange(8)
        for index in broken(tmp_path / "broken", bytes(changed)):
            found.append(wrong(index, content(index), expected))
            for ask in choice(index):
                try:
                    ask()
                except HoldfastError:
                    break
    assert set(found) == {""}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE passages_1 SET text = 'something else' WHERE number = 2",
        "UPDATE passages_1 SET text = x'ff' WHERE number = 2",
        "UPDATE passages_1 SET document = document + 1",
        "UPDATE passages_1 SET context = own",
        "UPDATE passages_1 SET sum = 'x'",
        "DELETE FROM passages_1 WHERE number = 3",
        "DROP TABLE passages_1",
        "UPDATE documents_1 SET id = 'other' WHERE document = 1",
        "UPDATE documents_1 SET at = 'x' WHERE document = 2",
        "UPDATE documents_1 SET labels = labels || 'more'",
        "DELETE FROM documents_1 WHERE document = 2",
        "REPLACE INTO passages_1 SELECT * FROM passages_2 WHERE number = 1",
        "REPLACE INTO documents_1 SELECT * FROM documents_2 WHERE document = 1",
        "UPDATE facts SET value = 'x' WHERE name = 'search'",
        "UPDATE facts SET value = 7 WHERE name = 'search'",
    ],
)
def test_what_was_changed_is_damaged_and_never_an_answer(tmp_path: Path, change: str) -> None:
    folder = whole(tmp_path / "whole")
    raw(folder, change)
    index = search_in(folder)
    with pytest.raises(Damaged):
        [ask() for ask in (index.position, *content(index))]
    index.discard()
    assert index.position() is None
    assert SqliteViews(index._index, shape="v").rows_of(["view"]) == [("view", "key", b"row")]
    assert add(index, page("word"))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE shelves SET documents = documents - 1",
        "UPDATE documents_1 SET document = (SELECT max(document) + 1 FROM documents_1) "
        "WHERE document = 1",
        "UPDATE shelves SET passages = 0",
        "DELETE FROM shelves",
        "UPDATE shelves SET owner = owner || 'x'",
        "DROP TABLE words_1",
        "DROP TABLE shelves",
    ],
)
def test_pages_are_not_added_to_shelves_that_do_not_add_up(tmp_path: Path, change: str) -> None:
    folder = whole(tmp_path / "whole")
    raw(folder, change)
    index = search_in(folder)
    with pytest.raises(Damaged):
        add(index, page("word"))
    assert index.position() == at(2)
    index.discard()
    assert add(index, page("word"))
    assert index.frequency(on(index), ["word", "kernel"]) == {"word": 1, "kernel": 0}


def test_a_shelf_that_goes_by_another_name_is_nobodys(tmp_path: Path) -> None:
    folder = whole(tmp_path / "whole")
    raw(folder, "UPDATE shelves SET owner = 'bob' WHERE owner = 'ana'")
    for owner in ("ana", "bob", "anybody"):
        with pytest.raises(Damaged):
            search_in(folder).shelf(owner)
    assert search_in(folder).shelf("ben") is not None


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE sqlite_master SET tbl_name = 'vocabularY_1' WHERE name = 'vocabulary_1'",
        "UPDATE sqlite_master SET name = 'Xocuments_1' WHERE name = 'documents_1'",
        "UPDATE sqlite_master SET sql = replace(sql, 'passages_2', 'passages_X')",
    ],
)
def test_shelves_go_whatever_the_file_says_they_are_called(tmp_path: Path, change: str) -> None:
    folder = whole(tmp_path / "whole")
    raw(folder, "PRAGMA writable_schema=ON", change)
    for _ in range(2):
        index = search_in(folder)
        index.discard()
        assert add(index, page("word"), page("text", owner="ben"))
        assert index.frequency(on(index), ["word", "kernel"]) == {"word": 1, "kernel": 0}
        index._index.let_go()
