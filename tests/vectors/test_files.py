"""Vectors in files: where they lie, what survives damage, and who sees what others wrote."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.engines.vectors import files
from holdfast.engines.vectors.files import FileVectors
from holdfast.engines.vectors.names import folder_of, safe
from holdfast.errors import Unavailable
from tests.property.effort import examples
from tests.vectors.some import DIMS, EDITION, answers, file_of, opened, some_rows

ROWS = some_rows(40)
WIDTH = 2 * DIMS


def test_a_passage_lies_in_its_place_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put(1, 3, ROWS[:2])
    path = file_of(tmp_path)
    kept = np.frombuffer(path.read_bytes(), "<f2").reshape(-1, DIMS)
    assert not kept[:2].any()
    np.testing.assert_array_equal(kept[2:], ROWS[:2].astype(np.float16))
    made = [path, file_of(tmp_path, "changes")]
    assert {entry.stat().st_mode & 0o777 for entry in made} == {0o600}
    assert {folder.stat().st_mode & 0o777 for folder in (path.parent, path.parents[1])} == {0o700}


@given(st.text(), st.text())
@example("A", "a")
@example("openai/host/model", "openai_host_model")
def test_every_name_makes_a_file_name_of_its_own(one: str, other: str) -> None:
    for name in (one, other):
        made = safe(name)
        assert os.path.basename(made) == made
        assert made.isascii()
        assert "\0" not in made
        assert made[0] not in ".-"
        assert len(made) <= 100
    assert (safe(one) == safe(other)) == (one == other)


def test_a_plain_name_is_kept_as_it_is() -> None:
    assert safe("minilm-int8-384") == "minilm-int8-384"


@pytest.mark.parametrize(
    "name", ["..", "a/b", "openai/host:80/model-3", "", "ä", "x" * 300, "\ud800"]
)
def test_a_name_never_leaves_its_folder(name: str, tmp_path: Path) -> None:
    store = FileVectors(str(tmp_path), name, DIMS)
    store.begin(name)
    store.put(1, 1, ROWS[:1])
    assert os.path.dirname(folder_of(str(tmp_path), name)) == str(tmp_path / "vectors")
    assert len(list((tmp_path / "vectors").iterdir())) == 1
    again = FileVectors(str(tmp_path), name, DIMS)
    again.begin(name)
    assert again.missing(1, 1, 1) == []


def test_beginning_an_edition_removes_the_files_of_others_and_nothing_else(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put(1, 1, ROWS)
    store.put(12, 1, ROWS)
    beside = file_of(tmp_path).with_name("texts.cache")
    beside.write_bytes(b"kept")
    store.begin("e-1")  # begins as the other does
    assert [path.name for path in beside.parent.iterdir()] == ["texts.cache"]
    store.put(1, 1, ROWS)
    opened(tmp_path)
    assert [path.name for path in beside.parent.iterdir()] == ["texts.cache"]


def test_beginning_the_edition_in_use_costs_nothing(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put(1, 1, ROWS)
    store.nearest(1, ROWS[0], 1, 40)
    store.begin(EDITION)
    assert store.memory == ROWS.nbytes
    store.close()
    assert store.memory == 0
    assert store.nearest(1, ROWS[0], 1, 40)[0].tolist() == [1]


@given(
    at=st.integers(0, 40 * WIDTH),
    junk=st.binary(max_size=4 * WIDTH) | st.sampled_from([b"\0" * WIDTH * 3, b"\xff" * WIDTH * 3]),
    end=st.integers(0, 40 * WIDTH + 5),
)
@settings(max_examples=examples(80))
def test_damage_makes_vectors_missing_and_harms_no_other(
    at: int, junk: bytes, end: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    lived = opened(folder)
    lived.put(1, 1, ROWS)
    lived.nearest(1, ROWS[0], 5, 40)
    path = file_of(folder)
    whole = path.read_bytes()
    hurt = (whole[:at] + junk + whole[at + len(junk) :])[:end]
    path.write_bytes(hurt)
    fresh = opened(folder)
    missing = fresh.missing(1, 40, 40)
    for number in range(1, 41):
        row = slice((number - 1) * WIDTH, number * WIDTH)
        if hurt[row] == whole[row]:
            assert number not in missing
        elif len(hurt[row]) < WIDTH or hurt[row] in (b"\0" * WIDTH, b"\xff" * WIDTH):
            assert number in missing
    numbers, found = fresh.nearest(1, ROWS[0], 40, 40)
    assert sorted(numbers.tolist() + missing) == list(range(1, 41))
    assert np.isfinite(found).all()
    lived.nearest(1, ROWS[0], 5, 40)
    fresh.put(1, 1, ROWS)
    assert answers(fresh, 40, ROWS[:2]) == answers(opened(folder), 40, ROWS[:2])
    assert fresh.missing(1, 40, 40) == lived.missing(1, 40, 40) == []


@pytest.mark.parametrize("exact_most", [200_000, 0])
def test_a_file_cut_or_removed_under_a_reader_is_read_again(
    exact_most: int, tmp_path: Path
) -> None:
    store = opened(tmp_path, exact_most=exact_most)
    store.put(1, 1, ROWS)
    store.nearest(1, ROWS[0], 5, 40)
    os.truncate(file_of(tmp_path), 10 * WIDTH + 3)
    assert store.missing(1, 40, 99) == list(range(40, 10, -1))
    assert sorted(store.nearest(1, ROWS[0], 99, 40)[0].tolist()) == list(range(1, 11))
    file_of(tmp_path).unlink()
    assert len(store.nearest(1, ROWS[0], 99, 40)[0]) == 0
    store.put(1, 5, ROWS[:1])
    assert store.nearest(1, ROWS[0], 99, 40)[0].tolist() == [5]


def test_a_file_put_in_the_place_of_another_is_read_whole(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put(1, 1, ROWS)
    assert store.nearest(1, ROWS[0], 1, 40)[0].tolist() == [1]
    opened(tmp_path / "other").put(1, 1, ROWS[::-1])
    os.replace(file_of(tmp_path / "other"), file_of(tmp_path))
    assert store.nearest(1, ROWS[0], 1, 40)[0].tolist() == [40]


@given(junk=st.binary(min_size=1, max_size=70))
@settings(max_examples=examples(40))
def test_a_damaged_list_of_changes_hides_no_later_change(
    junk: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("changes")
    reader, writer = opened(folder), opened(folder)
    writer.put(1, 1, ROWS)
    assert reader.nearest(1, ROWS[0], 1, 40)[0].tolist() == [1]
    with file_of(folder, "changes").open("ab") as changes:
        changes.write(junk)
    reader.nearest(1, ROWS[0], 1, 40)
    writer.set(1, [1, 9], ROWS[[8, 0]])
    assert reader.nearest(1, ROWS[0], 1, 40)[0].tolist() == [9]
    file_of(folder, "changes").unlink()
    writer.set(1, [1, 9], ROWS[[0, 8]])
    assert reader.nearest(1, ROWS[0], 1, 40)[0].tolist() == [1]


@given(
    writes=st.lists(
        st.tuples(st.lists(st.integers(1, 70), min_size=1, max_size=30), st.integers(0, 99)),
        min_size=1,
        max_size=8,
    ),
    exact_most=st.sampled_from([200_000, 16, 0]),
)
@settings(max_examples=examples(60))
def test_whoever_has_been_there_long_says_what_a_newcomer_says(
    writes: list[tuple[list[int], int]], exact_most: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("two")
    writer = opened(folder, exact_most=exact_most)
    reader = opened(folder, exact_most=exact_most)
    for numbers, seed in writes:
        rows = some_rows(len(numbers), seed)
        rows[: seed % 3] = 0
        writer.set(1, numbers, rows)
        for through in (max(numbers), 40, 70):
            said = answers(reader, through, ROWS[:2])
            assert said == answers(opened(folder, exact_most=exact_most), through, ROWS[:2])
    assert said == answers(writer, 70, ROWS[:2])


def test_a_change_to_the_mean_is_not_forgotten_for_one_that_changed_nothing(tmp_path: Path) -> None:
    reader, writer = opened(tmp_path), opened(tmp_path)
    writer.put(1, 1, ROWS[:8])
    reader.nearest(1, ROWS[0], 8, 8)
    writer.set(1, [1, 5], ROWS[[20, 4]])
    assert answers(reader, 8, ROWS[:3]) == answers(opened(tmp_path), 8, ROWS[:3])


def test_of_a_passage_named_many_times_the_last_row_counts(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.set(1, [3, 2] * 20, ROWS)
    np.testing.assert_allclose(store.similar(1, ROWS[38], [3]), [1], atol=1e-3)
    np.testing.assert_allclose(store.similar(1, ROWS[39], [2]), [1], atol=1e-3)


def test_what_lies_beyond_the_last_passage_takes_no_memory(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put(1, 1, ROWS)
    store.put(1, 10_000_000, ROWS[:1])
    assert store.nearest(1, ROWS[3], 1, 40)[0].tolist() == [4]
    assert store.memory == 40 * DIMS * 4


def test_the_shelf_used_longest_ago_leaves_memory_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_MEMORY", 2 * ROWS.nbytes)
    store = opened(tmp_path)
    for shelf in range(1, 6):
        store.put(shelf, 1, ROWS)
        assert store.nearest(shelf, ROWS[shelf], 1, 40)[0].tolist() == [shelf + 1]
        assert store.nearest(1, ROWS[7], 1, 40)[0].tolist() == [8]
    assert store.memory <= 3 * ROWS.nbytes
    assert 1 in store._shelves
    assert 2 not in store._shelves


def test_a_forked_process_searches_whatever_its_parent_was_doing(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put(1, 1, ROWS)
    expected = answers(store, 40, ROWS[:3])
    holds, done = threading.Event(), threading.Event()

    def hold() -> None:
        with store._lock:
            holds.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait()
    child = os.fork()
    if not child:
        signal.alarm(30)  # a lock that another thread held at the fork is held for ever
        os._exit(0 if answers(store, 40, ROWS[:3]) == expected else 1)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert answers(store, 40, ROWS[:3]) == expected


def test_threads_share_a_store(tmp_path: Path) -> None:
    store = opened(tmp_path)
    wrong: list[int] = []

    def work(first: int) -> None:
        for number in range(first, 41, 4):
            store.put(1, number, ROWS[number - 1 : number])
            if store.nearest(1, ROWS[number - 1], 1, 40)[0].tolist() != [number]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert store.missing(1, 40, 40) == []


def test_a_folder_that_cannot_be_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_bytes(b"in the way")
    store = FileVectors(str(tmp_path), "static", DIMS)
    with pytest.raises(Unavailable):
        store.begin("e")
    with pytest.raises(Unavailable):
        store.put(1, 1, ROWS)
    with pytest.raises(Unavailable):
        store.nearest(1, ROWS[0], 1, 1)


def test_whoever_needs_no_vectors_does_not_load_numpy() -> None:
    names = "holdfast, holdfast.ports.vectors, holdfast.engines.vectors, sys"
    code = f"import {names}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
