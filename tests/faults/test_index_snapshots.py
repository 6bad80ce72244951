"""snapshot.json in every state it can be found in, with the index there, gone or damaged too."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from holdfast.views.snapshot import Snapshot
from tests.faults.index_children import (
    INDEX_FILES,
    SNAPSHOTS,
    check,
    configure,
    fill,
    ongoing,
    opened,
    right,
    sound,
    talk,
    wrong,
)

NEWEST, BEFORE = SNAPSHOTS


@pytest.fixture
def home(place: Path) -> Path:
    """Two snapshots, and events that are in neither."""
    home = place / "home"
    with opened(home) as hf:
        fill(hf)
        talk(hf, "s4")
        hf.sessions()
    return home


def folder_of(home: Path) -> Path:
    """Where the project lies."""
    return home / "contexts-v2" / "p"


def without_index(folder: Path) -> None:
    """It is gone."""
    for name in INDEX_FILES:
        (folder / name).unlink(missing_ok=True)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _text(path: Path) -> None:
    path.write_bytes(b"my notes\n" * 1000)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def _huge(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(64 << 20)


def _nested(path: Path) -> None:
    path.write_bytes(b"[" * 200_000)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _loop(path: Path) -> None:
    path.unlink()
    os.symlink(path.name, path)


def _of_another(path: Path) -> None:
    with opened(path.parents[2], "other") as other:
        fill(other, sessions=5)
    shutil.copy(Path(other.folder) / path.name, path)


SPOILT: dict[str, Callable[[Path], None]] = {
    "missing": lambda path: path.unlink(),
    "empty": _empty,
    "text": _text,
    "cut": _cut,
    "one bit": _bit,
    "huge": _huge,
    "nested": _nested,
    "a folder": _folder,
    "a link to itself": _loop,
    "of another project": _of_another,
}


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.parametrize("names", [(NEWEST,), (BEFORE,), SNAPSHOTS], ids=["newest", "old", "both"])
@pytest.mark.parametrize("index", ["there", "gone", "damaged"])
def test_a_spoilt_snapshot_costs_no_answer(
    home: Path, how: str, names: tuple[str, ...], index: str
) -> None:
    folder = folder_of(home)
    for name in names:
        SPOILT[how](folder / name)
    if index == "gone":
        without_index(folder)
    elif index == "damaged":
        data = (folder / "index.db").read_bytes()
        (folder / "index.db").write_bytes(data[:8192] + bytes(4096) + data[12288:])
    with opened(home) as hf:
        check(hf, f"{how}, index {index}")
        ongoing(hf, "s4").gate(2, passed=True)
        sound(hf)
    with opened(home) as hf:
        check(hf, f"{how}, index {index}, opened again")


@pytest.mark.parametrize("how", [h for h in SPOILT if h not in ("missing", "empty")])
def test_that_a_spoilt_snapshot_is_not_used_is_said(home: Path, how: str) -> None:
    folder = folder_of(home)
    SPOILT[how](folder / NEWEST)
    without_index(folder)
    with opened(home) as hf:
        hf.sessions()
        assert any("snapshot" in notice for notice in hf.notices), hf.notices


def test_no_flipped_bit_of_a_snapshot_becomes_an_answer(home: Path) -> None:
    folder, rng = folder_of(home), random.Random(3)
    pristine = (folder / NEWEST).read_bytes()
    said = []
    for _ in range(150):
        at = rng.randrange(len(pristine))
        data = bytearray(pristine)
        data[at] ^= 1 << rng.randrange(8)
        (folder / NEWEST).write_bytes(bytes(data))
        without_index(folder)
        with opened(home) as hf:
            said += wrong(hf, f"bit of byte {at}")
    assert not said, "\n".join(said)


def test_a_snapshot_alone_is_begun_from_and_the_rest_is_read(home: Path) -> None:
    folder = folder_of(home)
    without_index(folder)
    with opened(home) as hf:
        check(hf)
        assert not hf.notices


@pytest.mark.parametrize("index", ["there", "gone"])
@pytest.mark.parametrize("back", [1, 5, 20, 60])
@pytest.mark.parametrize("then", ["as it is", "written on"])
def test_a_log_restored_from_a_backup_is_believed_before_what_is_newer(
    home: Path, index: str, back: int, then: str
) -> None:
    with opened(home) as hf:
        ongoing(hf, "s4").gate(1, passed=True)
        hf.sessions()
    folder = folder_of(home)
    lines = (folder / "events.ndjson").read_bytes().splitlines(keepends=True)
    (folder / "events.ndjson").write_bytes(b"".join(lines[:-back]))
    if index == "gone":
        without_index(folder)
    with opened(home) as hf:
        if then == "written on":
            for n in range(back + 3):
                ongoing(hf, "s3").decision(f"otherwise {n}")
        check(hf, f"{back} back, index {index}")
        assert hf.notices, "what was believed before is not, and nobody says so"
        sound(hf)
    with opened(home) as hf:
        check(hf, "opened again")


def test_a_snapshot_that_left_sessions_out_hides_none_of_them(place: Path) -> None:
    home, folder = _with_small_snapshots(place)
    assert _left_out(folder), "everything fitted"
    without_index(folder)
    with opened(home) as hf:
        assert hf.sessions() == right(str(folder)).sessions
        check(hf)
    without_index(folder)
    with opened(home) as hf:
        assert hf.state_hash() == right(str(folder)).hash
        check(hf)


def test_whoever_knew_all_rows_notices_that_the_index_came_from_a_small_snapshot(
    place: Path,
) -> None:
    """Another process made the index from a snapshot that had to leave sessions out."""
    home, folder = _with_small_snapshots(place)
    with opened(home) as one:
        assert not wrong(one)
        without_index(folder)
        with opened(home) as other:
            other.sessions()
            assert not wrong(one, "one")
            assert not wrong(other, "other")


def test_a_small_snapshot_that_is_gone_on_from_does_not_forget_what_it_left_out(
    place: Path,
) -> None:
    home, folder = _with_small_snapshots(place)
    without_index(folder)
    for n in range(3):
        with opened(home) as hf:
            hf.sessions()
            talk(hf, "s4")
            ongoing(hf, "s4").gate(n, passed=True)  # exports one more, from rows that are not all
        without_index(folder)
    with opened(home) as hf:
        check(hf)


def _with_small_snapshots(place: Path) -> tuple[Path, Path]:
    configure(snapshot_most_bytes=7_000)
    home = place / "home"
    with opened(home) as hf:
        fill(hf, sessions=6)
        ongoing(hf, "s5").gate(9, passed=True)
    return home, folder_of(home)


def _left_out(folder: Path) -> frozenset[str]:
    data = (folder / NEWEST).read_bytes()
    return msgspec.json.decode(data, type=Snapshot).lacking.details
