"""What lies ready: each is given what is theirs, some of it once, and garbage is nothing."""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.capture import prepared
from holdfast.capture.disk import Disk

NAMES = st.text(max_size=12)
WHOM = st.lists(NAMES, min_size=2, max_size=3).map(tuple)
TEXTS = st.text(min_size=1)


@settings(max_examples=25)
@given(st.dictionaries(WHOM, TEXTS, max_size=6), WHOM)
def test_everybody_finds_what_was_last_prepared_for_them_and_nothing_else(
    all_of_it: dict[tuple[str, ...], str], other: tuple[str, ...]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for whom, text in all_of_it.items():
            prepared.prepare(folder, whom, "what lay there before", Disk())
            prepared.prepare(folder, whom, text, Disk())
        for whom in (*all_of_it, other):
            assert prepared.prepared(folder, whom, Disk()) == all_of_it.get(whom, "")


@settings(max_examples=40)
@given(WHOM, TEXTS)
def test_what_is_taken_is_gone(whom: tuple[str, ...], text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        prepared.prepare(folder, whom, text, Disk())
        assert prepared.take(folder, whom, Disk()) == text
        assert prepared.take(folder, whom, Disk()) == ""
        assert prepared.prepared(folder, whom, Disk()) == ""


@given(st.lists(NAMES, min_size=3, max_size=3))
def test_no_name_reaches_the_file_system(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        prepared.prepare(folder, tuple(names), "x", Disk())
        (file,) = (Path(folder) / "prepared").iterdir()
        assert file.stem == f"{int(file.stem, 16):08x}"
        assert Path(prepared.path(folder, tuple(names))) == file


@given(st.binary(max_size=200) | st.sampled_from([b"[" * 10_000, b'{"for":["a","b"],"text":7}']))
def test_garbage_is_nothing(data: bytes) -> None:
    whom = ("a", "b")
    with tempfile.TemporaryDirectory() as folder:
        prepared.prepare(folder, whom, "x", Disk())
        Path(prepared.path(folder, whom)).write_bytes(data)
        assert prepared.prepared(folder, whom, Disk()) == ""
        assert prepared.take(folder, whom, Disk()) == ""


def test_a_checksum_two_share_gives_nobody_what_is_anothers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "crc32", lambda _: 7)
    prepared.prepare(str(tmp_path), ("ana", "coder"), "for Ana", Disk())
    assert prepared.take(str(tmp_path), ("bob", "coder"), Disk()) == ""
    assert prepared.take(str(tmp_path), ("ana", "coder"), Disk()) == "for Ana"


def test_of_many_who_take_at_the_same_time_one_gets_it(tmp_path: Path) -> None:
    whom, got = ("ana", "coder", "s1"), list[str]()
    for _ in range(20):
        prepared.prepare(str(tmp_path), whom, "once", Disk())
        ready = threading.Barrier(4)

        def take(ready: threading.Barrier = ready) -> None:
            ready.wait()
            got.append(prepared.take(str(tmp_path), whom, Disk()))

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(got) == [""] * 60 + ["once"] * 20


@pytest.mark.parametrize("kind", ["folder", "missing", "loop"])
def test_what_cannot_be_read_is_nothing(tmp_path: Path, kind: str) -> None:
    whom = ("ana", "coder")
    place = Path(prepared.path(str(tmp_path), whom))
    place.parent.mkdir()
    if kind == "folder":
        place.mkdir()
    elif kind == "loop":
        place.symlink_to(place.name)
    assert prepared.take(str(tmp_path), whom, Disk()) == ""


class Kept(Disk):
    """Nothing can be moved or removed, as on a volume that is read-only."""

    unlink = staticmethod(lambda _: (_ for _ in ()).throw(PermissionError()))  # type: ignore[assignment]
    replace = staticmethod(lambda *_: (_ for _ in ()).throw(PermissionError()))  # type: ignore[assignment]


def test_what_cannot_be_taken_away_is_not_said_again_and_again(tmp_path: Path) -> None:
    prepared.prepare(str(tmp_path), ("a", "b", "s"), "once", Disk())
    assert prepared.take(str(tmp_path), ("a", "b", "s"), Kept()) == ""
    assert prepared.prepared(str(tmp_path), ("a", "b", "s"), Kept()) == "once"


class Meanwhile(Disk):
    """Right before something is moved or removed, somebody lays something there."""

    def __init__(self, folder: str, whom: tuple[str, ...]) -> None:
        self._coming = [(folder, whom)]

    def _first(self) -> None:
        for folder, whom in self._coming:
            prepared.prepare(folder, whom, "newer", Disk())
        self._coming = []

    def replace(self, source: str, target: str) -> None:  # type: ignore[override]
        self._first()
        os.replace(source, target)

    def unlink(self, path: str) -> None:  # type: ignore[override]
        self._first()
        os.unlink(path)


def test_what_is_laid_there_while_something_is_taken_is_not_lost(tmp_path: Path) -> None:
    folder, whom = str(tmp_path), ("a", "b", "s")
    prepared.prepare(folder, whom, "older", Disk())
    said = [prepared.take(folder, whom, Meanwhile(folder, whom))]
    said.append(prepared.take(folder, whom, Disk()))
    assert "newer" in said
    assert list((tmp_path / "prepared").iterdir()) == []


def test_what_is_laid_there_for_another_meanwhile_stays_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "crc32", lambda _: 7)
    folder, ana, bob = str(tmp_path), ("ana", "b", "s"), ("bob", "b", "s")
    prepared.prepare(folder, ana, "for Ana", Disk())
    assert prepared.take(folder, ana, Meanwhile(folder, bob)) == ""
    assert prepared.take(folder, bob, Disk()) == "newer"
