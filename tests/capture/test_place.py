"""Where a hook's events go: the nearest project, with what it denies, and nobody's log by mistake."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app import hooking
from holdfast.app import project as projects
from holdfast.capture import place
from holdfast.capture.disk import Disk
from holdfast.capture.place import CACHE, MARKER, Place, claim, find, stamp, unclaimed
from holdfast.doors.hooks import caught
from holdfast.doors.hooks.caught import Caught
from holdfast.errors import HoldfastError
from holdfast.model.events import Event

LONG = "a long body " * 12_000
#: for each folder on the way down: nothing, a marker, a repository, or both
WAYS = st.lists(st.sampled_from(["", "marker", "git", "both", "folder"]), min_size=1, max_size=5)


def cache_of(home: Path) -> str:
    return str(home / CACHE)


def caught_in(place: Place | None, *texts: str, **more: object) -> None:
    """What a hook does with what it heard there."""
    if place is not None:
        said: list[dict[str, object]] = [{"text": text, **more} for text in texts]
        heard = [Caught("tool_result", "tool", "s1", "coder", payload) for payload in said]
        caught.record(place, heard, [], Disk())


def repository(folder: Path) -> Path:
    """A git repository with one commit, which nobody has opened."""
    folder.mkdir(parents=True)
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    return folder


def marked(folder: Path, more: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).write_text(f'project_id = "shop"\n{more}')
    return folder


def texts(hf: holdfast.Holdfast) -> list[str]:
    return [event.text for event in hf.events() if isinstance(event, Event)]


@settings(max_examples=60)
@given(WAYS)
def test_the_nearest_marker_or_repository_decides_as_it_does_everywhere(ways: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder, nearest = Path(scratch), None
        for number, what in enumerate(ways):
            folder = folder / str(number)
            folder.mkdir()
            if what in ("git", "both"):
                (folder / ".git").mkdir()
            if what in ("marker", "both"):
                (folder / MARKER).write_text(f'project_id = "p{number}"\n')
            if what == "folder":
                (folder / MARKER).mkdir()  # no marker, whatever it is
            nearest = (folder, what, number) if what not in ("", "folder") else nearest
        found = find(str(Path(scratch) / "home" / CACHE), str(folder), Disk())
        if nearest is None:
            assert found is None or not found.root.startswith(scratch)
            return
        assert found is not None
        assert found.root == str(nearest[0])
        assert found.claimed == (nearest[1] != "git")
        if found.claimed:
            assert projects.find(folder).root == found.root
            assert Path(found.folder).name == f"p{nearest[2]}" == projects.find(folder).id


@settings(max_examples=25)
@given(st.binary(max_size=100) | st.sampled_from([b"[" * 10_000, b'{"projects": 7}', b"null"]))
def test_a_marked_project_is_recorded_whatever_the_cache_says(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        home, root = Path(scratch) / "home", marked(Path(scratch) / "shop")
        home.mkdir()
        with holdfast.open(str(home), path=root) as hf:
            Path(cache_of(home)).write_bytes(data)
            caught_in(find(cache_of(home), str(root), Disk()), "heard")
            assert texts(hf) == ["heard"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = ("v", "python", "keys", "config", "deadline_ms", "record")


@settings(max_examples=50)
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, JSON)), JSON, JSON)
def test_no_value_in_the_cache_stops_a_hook(
    said: dict[str, Any], entry: object, denied: object
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root, home = marked(Path(scratch) / "shop"), Path(scratch) / "home"
        home.mkdir()
        keys = said.pop("keys", None)
        said["keys"] = None if isinstance(keys, str) else keys  # else it is a path of this machine
        said["record"] = {"deny_paths": denied, "text_chars": denied}
        Path(cache_of(home)).write_text(json.dumps({**said, "projects": {str(root): entry}}))
        place = find(cache_of(home), str(root), Disk())
        assert place is not None
        assert place.limits().depth > 1
        assert all(isinstance(path, str) for path in place.deny_paths)


def test_a_folder_in_no_project_has_no_place(tmp_path: Path) -> None:
    if find(cache_of(tmp_path), str(tmp_path.parent), Disk()) is None:
        assert find(cache_of(tmp_path), str(tmp_path), Disk()) is None
    assert find(cache_of(tmp_path), "/", Disk()) is None
    assert not (tmp_path / "unclaimed").exists()


@pytest.mark.parametrize(
    "text", ["", "name = 3", 'project_id = "~user/ana"', 'project_id = "../x"']
)
def test_a_marker_that_names_nobody_has_no_place(tmp_path: Path, text: str) -> None:
    (tmp_path / MARKER).write_text(text)
    assert find(cache_of(tmp_path / "home"), str(tmp_path), Disk()) is None
    with pytest.raises(HoldfastError):
        projects.find(tmp_path)


# ---- what is denied ----------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["marker", "config"])
def test_what_a_settings_file_denies_since_the_cache_was_written_is_denied_at_once(
    tmp_path: Path, which: str
) -> None:
    root, home = marked(tmp_path / "shop"), tmp_path / "home"
    config = tmp_path / "config" / "holdfast" / "config.toml"
    with holdfast.open(str(home), path=root) as hf:
        hooking.note(hf.settings, hf.project)
        before = find(cache_of(home), str(root), Disk())
        caught_in(before, "prices before", file_path="prices.txt")
        if which == "marker":
            marked(root, '[record]\ndeny_paths = ["prices.txt"]\n')
        else:
            config.parent.mkdir(parents=True, exist_ok=True)
            config.write_text('[record]\ndeny_paths = ["prices.txt"]\n')
        after = find(cache_of(home), str(root), Disk())
        caught_in(after, "prices after", file_path="prices.txt")
        first, second = texts(hf)
    assert first == "prices before"
    assert "prices" not in second.replace("prices.txt", "")
    assert b"prices after" not in b"".join(
        file.read_bytes() for file in home.rglob("*") if file.is_file()
    )


def test_what_the_cache_denies_stays_denied_when_a_file_no_longer_says_so(tmp_path: Path) -> None:
    root = marked(tmp_path / "shop", '[record]\ndeny_paths = ["prices.txt"]\n')
    with holdfast.open(str(tmp_path / "home"), path=root) as hf:
        hooking.note(hf.settings, hf.project)
    (root / MARKER).write_text('project_id = "shop"\nbroken = [')
    place = find(cache_of(tmp_path / "home"), str(root), Disk())
    assert place is not None
    assert "prices.txt" in place.deny_paths


def test_a_marker_with_another_id_is_honoured_at_once(tmp_path: Path) -> None:
    root = marked(tmp_path / "shop")
    with holdfast.open(str(tmp_path / "home"), path=root) as hf:
        hooking.note(hf.settings, hf.project)
    (root / MARKER).write_text('project_id = "another"\n')
    place = find(cache_of(tmp_path / "home"), str(root), Disk())
    assert place is not None
    assert Path(place.folder).name == "another"


def test_only_a_file_has_a_state(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert stamp(str(tmp_path / "pipe")) is None
    assert stamp(str(tmp_path)) is None
    assert stamp(str(tmp_path / "nothing")) is None
    assert stamp("\0") is None
    (tmp_path / "file").write_text("x")
    assert (stamp(str(tmp_path / "file")) or [0, 0])[1] == 1


# ---- projects nobody has opened ----------------------------------------------------------------


def test_what_waits_for_a_repository_is_there_once_it_is_opened_bodies_too(tmp_path: Path) -> None:
    root, home = repository(tmp_path / "shop"), tmp_path / "home"
    caught_in(find(cache_of(home), str(root / "lib"), Disk()), "one", LONG, "three")
    assert not (home / "contexts-v2").exists()
    for _ in range(2):
        with holdfast.open(str(home), path=root) as hf:
            hf.record([])
            found = [event for event in hf.events() if isinstance(event, Event)]
            assert [event.text[:20] for event in found] == ["one", LONG[:20], "three"]
            blobs = [b"".join(path.read_bytes() for path in Path(hf.folder).rglob("blobs/*/*"))]
    assert blobs == [LONG.encode()]
    assert list((home / "unclaimed").glob("*/spool/*")) == []


def test_what_waits_is_handed_over_once_however_many_open(tmp_path: Path) -> None:
    root, home = repository(tmp_path / "shop"), tmp_path / "home"
    said = [f"said {number} {LONG if number % 4 == 0 else number}" for number in range(20)]
    place = find(cache_of(home), str(root), Disk())
    caught_in(place, *said)
    ready, troubles = threading.Barrier(4), list[BaseException]()

    def opened() -> None:
        try:
            ready.wait()
            with holdfast.open(str(home), path=root) as hf:
                hf.record([])
        except BaseException as exc:  # noqa: BLE001  (whatever it is, the test should say so)
            troubles.append(exc)

    threads = [threading.Thread(target=opened) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert troubles == []
    with holdfast.open(str(home), path=root) as hf:
        found = [event for event in hf.events() if isinstance(event, Event)]
    assert [event.text[:8].strip() for event in found] == [text[:8].strip() for text in said]
    assert len({event.event_id for event in found}) == len(said)


class Between(Disk):
    """Somebody else does something right after the events that wait were counted."""

    def __init__(self, meanwhile: Any) -> None:
        self._meanwhile = meanwhile

    def listdir(self, path: str) -> list[str]:  # type: ignore[override]
        names = os.listdir(path)
        if path.endswith("spool") and self._meanwhile:
            meanwhile, self._meanwhile = self._meanwhile, None
            meanwhile()
        return names


def test_an_event_that_comes_while_others_are_handed_over_keeps_its_body(tmp_path: Path) -> None:
    root, home, folder = repository(tmp_path / "shop"), tmp_path / "home", tmp_path / "project"
    place = find(cache_of(home), str(root), Disk())
    caught_in(place, "first")
    later = Between(lambda: caught_in(place, LONG))
    assert claim(str(home), str(root), str(folder), later) == 1
    waits = Path(unclaimed(str(home), str(root)))
    bodies = [*folder.glob("blobs/*/*"), *waits.glob("blobs/*/*")]
    assert (len(list(waits.glob("spool/*"))), len(bodies)) == (1, 1)
    assert claim(str(home), str(root), str(folder), Disk()) == 1
    assert (len(list(folder.glob("spool/*"))), len(list(folder.glob("blobs/*/*")))) == (2, 1)


def test_nobody_is_given_what_waits_for_another_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.capture.place.crc32", lambda _: 7)
    root, home = repository(tmp_path / "shop"), tmp_path / "home"
    caught_in(find(cache_of(home), str(root), Disk()), "private")
    assert claim(str(home), str(tmp_path / "other"), str(tmp_path / "log"), Disk()) == 0
    assert claim(str(home), str(root), str(tmp_path / "log"), Disk()) == 1


def test_another_repository_in_the_place_of_one_is_another_project(tmp_path: Path) -> None:
    root = tmp_path / "work"
    for name in ("first", "second"):
        (root / ".git").mkdir(parents=True)
        (root / ".git" / "config").write_text(f"[core]\n# {name}\n")
        before = place.identity(str(root))
        assert before == place.identity(str(root))
        cache = tmp_path / "home" / "hooks.json"
        cache.parent.mkdir(exist_ok=True)
        cache.write_text(json.dumps({"projects": {str(root): {"id": name, "stamp": before}}}))
        found = place.find(str(cache), str(root), Disk())
        assert found is not None
        assert (found.claimed, Path(found.folder).name) == (True, name)
        shutil.rmtree(root)
        (root / ".git").mkdir(parents=True)
        (root / ".git" / "config").write_text("[core]\n\tbare = false\n")
        found = place.find(str(cache), str(root), Disk())
        assert found is not None
        assert not found.claimed
        shutil.rmtree(root)


def test_of_a_worktree_the_file_that_names_the_rest_is_its_identity(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    assert place.identity(str(tmp_path)) == place.stamp(str(tmp_path / ".git"))
    (tmp_path / ".holdfast.toml").write_text('project_id = "p"\n')
    assert place.identity(str(tmp_path)) == place.stamp(str(tmp_path / ".holdfast.toml"))
    assert place.identity(str(tmp_path / "nowhere")) is None
