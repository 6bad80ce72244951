"""Which project a folder is, and what is said when it is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import holdfast
from holdfast.app import project
from holdfast.app.open import init, project_folder
from holdfast.errors import Conflict, Invalid, NotFound, Unavailable
from holdfast.model.projects import folder_parts
from holdfast.settings import load


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    done = subprocess.run(
        ["git", *identity, "-C", str(folder), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    (folder / "a").write_text("a")
    git(folder, "add", "a")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_a_marker_decides_and_survives_a_move(tmp_path: Path) -> None:
    (tmp_path / "one" / "deep").mkdir(parents=True)
    first = init(tmp_path / "one").project
    (tmp_path / "one").rename(tmp_path / "two")
    found = project.find(tmp_path / "two" / "deep")
    assert (found.id, found.found_by) == (first.id, "marker")


def test_a_repository_is_known_by_its_first_commit_in_every_clone(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    git(tmp_path, "clone", "-q", str(origin), str(tmp_path / "clone"))
    (origin / "b").write_text("b")
    git(origin, "add", "b")
    git(origin, "commit", "-q", "-m", "second")
    ids = {project.find(place).id for place in (origin, tmp_path / "clone")}
    assert ids == {"git-" + git(origin, "rev-list", "--max-parents=0", "HEAD")[:20]}


def test_init_in_a_repository_keeps_the_id_it_is_known_by(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    before = project.find(origin).id
    assert init(origin).project.id == before
    assert project.find(origin).found_by == "marker"


def test_init_twice_changes_nothing(tmp_path: Path) -> None:
    first = init(tmp_path)
    marker = (tmp_path / ".holdfast.toml").read_bytes()
    assert init(tmp_path).project == first.project
    assert (tmp_path / ".holdfast.toml").read_bytes() == marker


def test_the_nearest_of_marker_and_repository_decides(tmp_path: Path) -> None:
    init(tmp_path)
    inner = repository(tmp_path / "vendored")
    assert project.find(inner).found_by == "git"


@pytest.mark.parametrize("case", ["nothing", "no commit", "shallow"])
def test_without_an_identity_the_error_says_to_run_init(tmp_path: Path, case: str) -> None:
    place = tmp_path / "place"
    if case == "shallow":
        origin = repository(tmp_path / "origin")
        (origin / "b").write_text("b")
        git(origin, "add", "b")
        git(origin, "commit", "-q", "-m", "second")
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{origin}", str(place))
    else:
        place.mkdir()
        if case == "no commit":
            git(place, "init", "-q")
    with pytest.raises(NotFound, match="holdfast init"):
        project.find(place)


@pytest.mark.parametrize(
    "marker", ["", "project_id = 3", 'project_id = "../up"', 'project_id = "~system"', "not toml ["]
)
def test_a_bad_marker_is_refused_with_its_path(tmp_path: Path, marker: str) -> None:
    (tmp_path / ".holdfast.toml").write_text(marker)
    with pytest.raises(Invalid):
        project.find(tmp_path)


@pytest.mark.parametrize(
    "project_id",
    ["", ".", "..", "a/b", "/etc", "~root", "~user/", "~user", "a\0b", "-rf", "x" * 200, "a b"],
)
def test_an_id_that_could_leave_the_home_is_no_id(project_id: str) -> None:
    with pytest.raises(Invalid):
        folder_parts(project_id)


@pytest.mark.parametrize("user", ["ana", "a@b.c", "..", ".", "a/b", "../../x", "ü", "%2e", "a\\b"])
def test_any_user_has_a_folder_of_their_own_below_the_reserved_one(
    tmp_path: Path, user: str
) -> None:
    parts = folder_parts(f"~user/{user}")
    place = tmp_path.joinpath(*parts).resolve()
    assert place.parent == (tmp_path / "~user").resolve()


def test_no_two_users_share_a_folder() -> None:
    users = ["a", "a/b", "a%2fb", "a%2Fb", ".", "..", "%2E", "%2E.", "a.b", "A", "a b", "a+b"]
    assert len({folder_parts(f"~user/{user}") for user in users}) == len(users)


def test_reserved_projects_are_ordinary_logs_under_the_same_home(tmp_path: Path) -> None:
    for name in ("~system", "~user/ana"):
        with holdfast.open(tmp_path, project=name) as hf, hf.session(agent="a") as s:
            s.user("hello")
        with holdfast.open(tmp_path, project=name) as hf:
            assert [e.text for e in hf.events() if e.text] == ["hello"]


def test_a_context_of_format_1_is_ignored_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "contexts").mkdir()
    (tmp_path / "contexts" / "old.json").write_text("{}")
    with pytest.warns(UserWarning, match="format 1"):
        hf = holdfast.open(tmp_path, project="p")
    with hf:
        assert "format 1" in hf.notices[0]
        assert "untouched" in hf.notices[0]
    assert (tmp_path / "contexts" / "old.json").read_text() == "{}"


@pytest.mark.parametrize("version", [1, 3, "x"])
def test_a_folder_of_another_format_is_refused_and_left_alone(
    tmp_path: Path, version: object
) -> None:
    folder = Path(project_folder(load(tmp_path), "p"))
    folder.mkdir(parents=True)
    written = f'{{"schema_version":{version!r}}}'.replace("'", '"')
    (folder / "meta.json").write_text(written)
    with pytest.raises(Unavailable, match="format"):
        holdfast.open(tmp_path, project="p")
    assert [p.name for p in folder.iterdir()] == ["meta.json"]


def test_a_chain_starts_with_the_first_event_or_not_at_all(tmp_path: Path) -> None:
    with init(tmp_path / ".", chained=True) as hf, hf.session(agent="a") as s:
        assert s.user("x").h is not None
    assert init(tmp_path, chained=True).project.found_by == "marker"
    plain = tmp_path / "plain"
    plain.mkdir()
    with init(plain) as hf, hf.session(agent="a") as s:
        s.user("x")
    with pytest.raises(Conflict, match="chain"):
        init(plain, chained=True)


def test_files_are_private_to_their_owner(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "home", project="p") as hf, hf.session(agent="a") as s:
        s.tool_result("Bash", "long " * 60_000)
    made = list((tmp_path / "home").rglob("*"))
    assert any(p.parent.parent.name == "blobs" for p in made)
    assert all(p.stat().st_mode & 0o077 == 0 for p in made)


def test_an_unreadable_meta_is_made_anew_and_the_log_goes_on(tmp_path: Path) -> None:
    with init(tmp_path, chained=True) as hf, hf.session(agent="a") as s:
        s.user("kept")
    before = hf.log.head().generation
    (Path(hf.folder) / "meta.json").write_bytes(b"\x00" * 40)
    with init(tmp_path) as hf, hf.session(agent="a") as s:
        assert s.user("more").h is not None
        assert hf.log.head().generation > before
        report = hf.verify()
        assert (report.sound, report.chain, report.events) == (True, "whole", 6)


def test_a_log_of_which_nothing_can_be_read_starts_afresh_loudly(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p") as hf:
        folder = Path(hf.folder)
    (folder / "events.ndjson").write_bytes(b"garbage\n" * 100)
    with pytest.warns(holdfast.DamageWarning, match="afresh"):
        hf = holdfast.open(tmp_path, project="p")
    with pytest.warns(holdfast.DamageWarning, match="99 more"), hf.session(agent="a") as s:
        assert s.user("new").event_seq == 2
    assert (folder / "events.ndjson").read_bytes().startswith(b"garbage\n" * 100)
    assert not hf.verify().sound
    hf.close()
