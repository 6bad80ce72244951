"""Vectors on a disk that fails at any call: it is told, nothing stays open, nothing is lost for good."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from holdfast.engines.vectors.cache import VectorCache, key_of
from holdfast.errors import Unavailable
from tests.faults.disks import Crash, FailingDisk, Fault
from tests.vectors.some import DIMS, answers, opened, some_rows

ROWS = some_rows(20)
TEXTS = [f"text {n}" for n in range(20)]
KINDS = ["EIO", "ENOSPC", "short", "crash"]
MOST = 200


def _vectors(folder: Path, disk: FailingDisk) -> None:
    store = opened(folder, disk=disk)
    store.put(1, 1, ROWS[:12])
    store.nearest(1, ROWS[0], 3, 12)
    store.set(1, [3, 17, 14], ROWS[[2, 16, 13]])
    store.missing(1, 20, 20)
    store.similar(1, ROWS[0], [1, 2])
    store.begin("other")


def _cache(folder: Path, disk: FailingDisk) -> None:
    cache = VectorCache(str(folder), "static", DIMS, disk=disk)
    cache.put(TEXTS[:9], ROWS[:9])
    cache.get(TEXTS)
    cache.put(TEXTS[9:], ROWS[9:])
    cache.keep_only({key_of(text) for text in TEXTS[::2]})


def _every_fault(kind: str, folder: Path, act: Callable[[Path, FailingDisk], None]) -> list[Path]:
    """Let each call fail in its turn, every time in a new folder; those where something happened."""
    hurt: list[Path] = []
    for nth in range(1, MOST):
        disk = FailingDisk()
        disk.arm(Fault(kind, nth))
        at = folder / str(nth)
        at.mkdir()
        try:
            act(at, disk)
        except Unavailable:
            assert kind in ("EIO", "ENOSPC")
        except Crash:
            assert kind == "crash"
            disk.abandon()
        assert not [fd for fd in disk.fds if _is_open(fd)]
        if not disk.reached:
            return hurt
        hurt.append(at)
    raise AssertionError("more calls than anybody would make")


def _is_open(fd: int) -> bool:
    """Also when the disk was told that closing failed."""
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_any_call_may_fail_and_the_rows_can_be_put_again(kind: str, tmp_path: Path) -> None:
    whole = opened(tmp_path / "whole")
    whole.put(1, 1, ROWS)
    expected = answers(whole, 20, ROWS[:3])
    hurt = _every_fault(kind, tmp_path, _vectors)
    assert len(hurt) >= 3
    for folder in hurt:
        store, other = opened(folder), opened(folder)
        numbers, found = store.nearest(1, ROWS[0], 20, 20)
        assert sorted(numbers.tolist() + store.missing(1, 20, 20)) == list(range(1, 21))
        assert np.isfinite(found).all()
        other.nearest(1, ROWS[0], 20, 20)
        store.put(1, 1, ROWS)
        assert answers(store, 20, ROWS[:3]) == answers(other, 20, ROWS[:3]) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_any_call_may_fail_and_what_is_remembered_is_right(kind: str, tmp_path: Path) -> None:
    hurt = _every_fault(kind, tmp_path, _cache)
    assert len(hurt) >= 3
    for folder in hurt:
        cache = VectorCache(str(folder), "static", DIMS)
        for row, known in zip(ROWS, cache.get(TEXTS), strict=True):
            if known is not None:
                np.testing.assert_array_equal(known, row.astype(np.float16))
        cache.put(TEXTS, ROWS)
        assert all(row is not None for row in cache.get(TEXTS))
        cache.keep_only({key_of(TEXTS[4])})
        found = cache.get(TEXTS)
        assert [at for at, row in enumerate(found) if row is not None] == [4]


def test_a_short_write_goes_on_where_it_stopped(tmp_path: Path) -> None:
    disk = FailingDisk()
    store, cache = opened(tmp_path, disk=disk), VectorCache(str(tmp_path), "s", DIMS, disk=disk)
    disk.arm(Fault("short", 1, persistent=True))
    store.put(1, 1, ROWS)
    store.put(1, 5, ROWS[:1])
    cache.put(TEXTS, ROWS)
    assert disk.calls > 6
    assert opened(tmp_path).missing(1, 20, 20) == []
    assert store.nearest(1, ROWS[0], 2, 20)[0].tolist() == [1, 5]
    assert all(row is not None for row in cache.get(TEXTS))


def test_a_full_disk_says_what_to_do(tmp_path: Path) -> None:
    disk = FailingDisk()
    store = opened(tmp_path, disk=disk)
    disk.arm(Fault("ENOSPC", 1, persistent=True))
    with pytest.raises(Unavailable, match="free some space"):
        store.put(1, 1, ROWS)
    disk.arm(None)
    assert store.missing(1, 2, 2) == [2, 1]


def test_what_cannot_be_removed_is_told_and_the_edition_is_the_new_one(tmp_path: Path) -> None:
    disk = FailingDisk()
    store = opened(tmp_path, disk=disk)
    store.put(1, 1, ROWS)
    disk.arm(Fault("EIO", 1, methods=frozenset({"unlink"})))
    with pytest.raises(Unavailable):
        store.begin("other")
    assert store.missing(1, 2, 2) == [2, 1]
    store.begin("other")
    assert list((tmp_path / "vectors" / "static").iterdir()) == []
