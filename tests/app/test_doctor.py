"""The doctor where hooks left something: anywhere in the home, for repositories that are gone, too."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
from pathlib import Path

import pytest

import holdfast
from holdfast.app import doctor, residents, unclaimed
from holdfast.app.open import init
from holdfast.capture.disk import Disk
from holdfast.capture.layout import RESIDENT_LOCK, RESIDENT_SOCKET, RESIDENT_STARTED
from holdfast.capture.place import CACHE, find
from holdfast.doors.hooks import caught
from holdfast.doors.hooks.caught import Caught
from holdfast.errors import Conflict, NotFound
from holdfast.model.events import Event


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def project(folder: Path) -> Path:
    """A project; where its data lies."""
    folder.mkdir()
    with init(folder) as hf:
        return Path(hf.folder)


def repository(folder: Path, *, commit: bool = True) -> Path:
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    folder.mkdir()
    subprocess.run([*git, "init", "-q"], check=True)
    if commit:
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    return folder


def heard(home: Path, root: Path, *texts: str) -> None:
    """What hooks caught there."""
    place = find(str(home / CACHE), str(root), Disk())
    assert place is not None
    told = [Caught("user_message", "user", "s1", "coder", {"text": text}) for text in texts]
    caught.record(place, told, [], Disk())


def remedies(home: Path, path: Path) -> list[str]:
    findings = doctor.examine(str(home), path=str(path))
    return [one.remedy for one in findings if one.check == "waiting"]


def texts(path: Path) -> list[str]:
    with holdfast.open(path=path) as hf:
        hf.record([])  # takes what waits
        return [one.text for one in hf.events() if isinstance(one, Event)]


# ---- residents -------------------------------------------------------------------------------


def test_what_dead_ones_left_is_removed_everywhere_from_anywhere(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [project(tmp_path / name) for name in ("one", "two")]
    for folder in folders:
        with socket.socket(socket.AF_UNIX) as door:
            monkeypatch.chdir(folder)  # a longer path is more than a socket takes
            door.bind(RESIDENT_SOCKET)
    (folders[0] / RESIDENT_LOCK).touch()
    (tmp_path / "nowhere").mkdir()
    assert doctor.clean(str(home), path=str(tmp_path / "nowhere")) == [
        f"removed {folder / RESIDENT_SOCKET}" for folder in sorted(folders)
    ]
    assert doctor.clean(str(home), path=str(tmp_path / "nowhere")) == []


@pytest.mark.parametrize(("age", "starts"), [(0, True), (30, True), (600, False)])
def test_one_that_is_still_starting_is_left_to_it(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, age: int, starts: bool
) -> None:
    folder = project(tmp_path / "shop")
    ended: list[str] = []

    def stop(folder: str) -> bool:
        ended.append(folder)
        return False

    monkeypatch.setattr(residents, "stop", stop)
    with (folder / RESIDENT_LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / RESIDENT_STARTED).touch()
        seen = (folder / RESIDENT_LOCK).stat().st_mtime - age
        os.utime(folder / RESIDENT_LOCK, (seen, seen))
        found = [
            one for one in doctor.examine(str(home), path=str(tmp_path)) if one.check == "resident"
        ]
        doctor.clean(str(home), path=str(tmp_path))
    assert [one.good for one in found] == [starts]
    assert ended == ([] if starts else [str(folder)])
    assert (folder / RESIDENT_STARTED).exists()


# ---- what waits ------------------------------------------------------------------------------


def test_each_repository_that_has_something_waiting_is_named_with_its_own_way_out(
    tmp_path: Path, home: Path
) -> None:
    project(tmp_path / "shop")
    for name in ("whole", "empty", "gone", "plain"):
        heard(home, repository(tmp_path / name, commit=name != "empty"), "hi")
    (tmp_path / "gone").rename(tmp_path / "moved")
    (tmp_path / "plain" / ".git").rename(tmp_path / "aside")
    told = {one.split(str(tmp_path) + "/")[1].split()[0]: one for one in remedies(home, tmp_path)}
    assert told["whole"].startswith("open it once: holdfast status in ")
    assert told["empty"].startswith("holdfast init in ")
    for name in ("gone", "plain"):
        assert f"holdfast doctor --take {tmp_path / name} " in told[name]
        assert f"holdfast doctor --drop {tmp_path / name}" in told[name]


def test_what_the_doctor_says_helps_a_repository_without_a_commit(
    tmp_path: Path, home: Path
) -> None:
    root = repository(tmp_path / "shop", commit=False)
    heard(home, root, "hi")
    init(root).close()
    assert texts(root) == ["hi"]
    assert remedies(home, root) == []


def test_what_waits_for_a_repository_that_is_gone_is_taken_where_it_is_now(
    tmp_path: Path, home: Path
) -> None:
    root, now = repository(tmp_path / "shop"), tmp_path / "moved"
    heard(home, root, "one", "two " * 40_000)
    with pytest.raises(Conflict):
        unclaimed.take(str(root), str(home), path=str(root))
    root.rename(now)
    said = unclaimed.take(str(root), str(home), path=str(now))
    assert said.startswith(f"took 2 events of {root} into git-")
    assert [text[:4] for text in texts(now)] == ["one", "two "]
    assert remedies(home, now) == []
    with pytest.raises(NotFound):
        unclaimed.take(str(root), str(home), path=str(now))


def test_what_nobody_wants_is_dropped_and_nothing_else(tmp_path: Path, home: Path) -> None:
    for name in ("one", "two"):
        heard(home, repository(tmp_path / name), name)
    assert unclaimed.drop(str(tmp_path / "one"), str(home)).startswith("dropped 1 events")
    with pytest.raises(NotFound):
        unclaimed.drop(str(tmp_path / "one"), str(home))
    assert texts(tmp_path / "one") == []
    assert texts(tmp_path / "two") == ["two"]
