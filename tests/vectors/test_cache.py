"""Remembered vectors: what was put is found, whatever happened to the file around it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.engines.vectors import cache as module
from holdfast.engines.vectors.cache import VectorCache, key_of
from holdfast.errors import Invalid
from tests.property.effort import examples
from tests.vectors.some import DIMS, Rows, some_rows

TEXTS = [f"text {n}" for n in range(12)]
ROWS = some_rows(12).astype(np.float16).astype(np.float32)
SIZE = 24 + 2 * DIMS


def _cache(folder: Path) -> VectorCache:
    return VectorCache(str(folder), "slow/model", DIMS)


def _file(folder: Path) -> Path:
    (found,) = folder.glob("vectors/*/texts.cache")
    return found


def _known(cache: VectorCache) -> list[int]:
    """Which of the texts are known; every row that is must be the right one."""
    found = cache.get(TEXTS)
    for row, expected in zip(found, ROWS, strict=True):
        assert row is None or (row == expected).all()
    return [at for at, row in enumerate(found) if row is not None]


@given(
    batches=st.lists(
        st.lists(st.tuples(st.text(), st.integers(0, 11)), max_size=5), min_size=1, max_size=5
    )
)
@settings(max_examples=examples(60))
def test_the_last_row_of_each_text_is_found_by_everybody(
    batches: list[list[tuple[str, int]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    writer, reader = _cache(folder), _cache(folder)
    expected: dict[str, Rows] = {}
    for batch in batches:
        texts = [text for text, _ in batch]
        writer.put(texts, ROWS[[at for _, at in batch]])
        expected |= {text: ROWS[at] for text, at in batch}
        for cache in (reader, writer, _cache(folder)):
            found = cache.get([*expected, "never put \ud800"])
            assert found.pop() is None
            np.testing.assert_array_equal(np.array(found), np.array(list(expected.values())))


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    _cache(tmp_path).put(TEXTS, ROWS)
    path = _file(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_size == 12 * SIZE


def test_rows_without_a_direction_are_not_remembered(tmp_path: Path) -> None:
    cache = _cache(tmp_path)
    assert cache.get(["a"]) == [None]
    rows = ROWS[:4].copy()
    rows[0], rows[1, 2], rows[2, 3] = 0, np.nan, 1e30
    cache.put(list("abcd"), rows)
    assert [row is None for row in cache.get(list("abcd"))] == [True, True, True, False]
    cache.put([], ROWS[:0])
    with pytest.raises(Invalid):
        cache.put(["a"], ROWS[:2])
    with pytest.raises(Invalid):
        cache.put(["a"], ROWS[:1, :3])


@pytest.mark.parametrize("cut", range(3 * SIZE, 5 * SIZE, 3))
def test_a_torn_tail_costs_the_torn_record(cut: int, tmp_path: Path) -> None:
    lived = _cache(tmp_path)
    lived.put(TEXTS[:5], ROWS[:5])
    assert len(_known(lived)) == 5
    os.truncate(_file(tmp_path), cut)
    whole = list(range(cut // SIZE))
    assert _known(lived) == _known(_cache(tmp_path)) == whole
    _cache(tmp_path).put(TEXTS[6:], ROWS[6:])
    assert _known(lived) == _known(_cache(tmp_path)) == [*whole, *range(6, 12)]
    lived.put(TEXTS, ROWS)
    assert len(_known(_cache(tmp_path))) == 12


@given(at=st.integers(0, 12 * SIZE), junk=st.binary(min_size=1, max_size=80), insert=st.booleans())
@settings(max_examples=examples(100))
def test_damage_costs_the_records_it_touches(
    at: int, junk: bytes, insert: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("hurt")
    _cache(folder).put(TEXTS, ROWS)
    path = _file(folder)
    whole = path.read_bytes()
    path.write_bytes(whole[:at] + junk + whole[at if insert else at + len(junk) :])
    end = at if insert else at + len(junk)
    untouched = {n for n in range(12) if (n + 1) * SIZE <= at or n * SIZE >= end}
    assert untouched <= set(_known(_cache(folder)))


def test_a_mark_within_a_row_is_no_beginning(tmp_path: Path) -> None:
    cache = _cache(tmp_path)
    row = np.frombuffer(module._MARK * (DIMS // 2), "<f2").astype(np.float32)
    cache.put(["full of marks", "other"], np.array([row, ROWS[1]]))
    path = _file(tmp_path)
    path.write_bytes(path.read_bytes()[3:])
    found = _cache(tmp_path).get(["full of marks", "other"])
    assert found[0] is None
    assert found[1] is not None
    assert (found[1] == ROWS[1]).all()


def test_records_are_found_across_the_blocks_they_are_read_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for block in range(SIZE, 2 * SIZE):
        folder = tmp_path / str(block)
        monkeypatch.setattr(module, "_BLOCK", block)
        _cache(folder).put(TEXTS[:6], ROWS[:6])
        with _file(folder).open("ab") as file:
            file.write(b"junk" * SIZE)
        _cache(folder).put(TEXTS[6:], ROWS[6:])
        assert len(_known(_cache(folder))) == 12


def test_many_processes_add_at_once(tmp_path: Path) -> None:
    _cache(tmp_path).put(["first"], ROWS[:1])
    children = []
    for child in range(4):
        pid = os.fork()
        if not pid:
            mine = _cache(tmp_path)
            for n in range(40):
                mine.put([f"{child} {n} {part}" for part in range(12)], ROWS)
            os._exit(0)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
    cache = _cache(tmp_path)
    for child in range(4):
        for n in range(40):
            found = cache.get([f"{child} {n} {part}" for part in range(12)])
            np.testing.assert_array_equal(np.array(found), ROWS)


def test_what_is_let_go_of_leaves_no_byte(tmp_path: Path) -> None:
    cache, other = _cache(tmp_path), _cache(tmp_path)
    cache.put(TEXTS[:6], ROWS[:6])
    cache.put(TEXTS[:2], ROWS[[0, 1]])
    assert len(_known(other)) == 6
    path = _file(tmp_path)
    left = path.with_name(f".{path.name}.1.999999999.tmp")
    left.write_bytes(b"of a process that was killed")
    cache.keep_only([key_of(TEXTS[1]), key_of(TEXTS[4]), key_of("never put")])
    assert _known(cache) == _known(other) == _known(_cache(tmp_path)) == [1, 4]
    assert [entry.name for entry in path.parent.iterdir()] == ["texts.cache"]
    data = path.read_bytes()
    assert len(data) == 2 * SIZE
    assert path.stat().st_mode & 0o777 == 0o600
    for gone in (0, 2, 3, 5):
        assert key_of(TEXTS[gone]) not in data
        assert ROWS[gone].astype("<f2").tobytes() not in data
    other.put(TEXTS[7:8], ROWS[7:8])
    assert _known(other) == [1, 4, 7]
    cache.keep_only([key_of(TEXTS[7])])
    cache.put(TEXTS[8:], ROWS[8:])  # now it is longer than the other knew it
    assert _known(other) == [7, 8, 9, 10, 11]
    cache.keep_only([])
    assert _known(other) == []
    _cache(tmp_path / "nothing there").keep_only([])
