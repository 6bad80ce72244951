"""Documents follow their files by themselves: nothing is quoted that a file does not say any more."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app.documents import Documents
from holdfast.documents.seen import Seen, look_at
from holdfast.errors import Denied
from tests.contract.entries import erasure
from tests.documents.projects import Holdfast, project, told, write
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking

WORD = "lighthouse"


@pytest.fixture(autouse=True)
def _words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


@pytest.fixture
def hf(tmp_path: Path) -> Iterator[Holdfast]:
    with project(tmp_path, Ticking()) as opened:
        yield opened


def quoted(hf: Holdfast) -> dict[str, str]:
    """What recall says that the files say."""
    found = hf.recall(WORD, 100, kind="document", min_relevance=0)
    return {hit.path: hit.text for hit in found}


def again(hf: Holdfast) -> Holdfast:
    """The same project as another process opens it."""
    return holdfast.open(hf.settings.home, path=hf.project.root, user="ben", now=Ticking())


# ---- whatever happens to the files ---------------------------------------------------------------

names = st.sampled_from(["docs/a.md", "docs/b.md", "docs/c/d.md", "e.md", "f.txt"])
happened = st.lists(
    st.tuples(
        names, st.sampled_from(["write", "write", "remove", "touch", "ask"]), st.integers(0, 5)
    ),
    min_size=1,
    max_size=12,
)


def happens(root: Path, name: str, what: str, which: int) -> None:
    place = root / name
    if what == "write":
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"The {WORD} of version {which}.")
    elif what == "remove":
        place.unlink(missing_ok=True)
    elif place.exists():
        os.utime(place, (1_000_000 * which, 1_000_000 * which))


@settings(max_examples=examples(20), phases=AS_FOUND)
@given(happened, happened)
def test_what_is_quoted_is_what_the_files_say(
    first: list[tuple[str, str, int]], then: list[tuple[str, str, int]]
) -> None:
    with tempfile.TemporaryDirectory() as place, project(Path(place), Ticking()) as hf:
        root = Path(hf.project.root)
        for name in ("docs/z.md", "z.md"):
            write(hf, name, f"The {WORD} that stays.")
        for one in first:
            happens(root, *one)
        hf.documents.add(["docs", "*.md"])
        for name, what, which in then:
            happens(root, name, what, which)
            found = quoted(hf)
            assert found == {path: (root / path).read_text() for path in found}
            meant = [*root.glob("*.md"), *root.glob("docs/**/*.md")]
            known = {info.path for info in hf.documents.list()}
            assert found.keys() == {str(one.relative_to(root)) for one in meant} & known
        hf.session(agent="coder").start()
        assert quoted(hf).keys() == {str(one.relative_to(root)) for one in meant}
        events = len(told(hf))
        quoted(hf)
        assert len(told(hf)) == events


def test_a_session_and_the_first_question_bring_what_is_new(hf: Holdfast) -> None:
    write(hf, "docs/a.md", f"one {WORD}")
    hf.documents.add("docs")
    quoted(hf)
    write(hf, "docs/b.md", f"another {WORD}")
    write(hf, "docs/c.txt.png", "\0")
    assert quoted(hf).keys() == {"docs/a.md"}
    hf.session(agent="coder").start()
    assert quoted(hf).keys() == {"docs/a.md", "docs/b.md"}
    write(hf, "docs/d.md", f"a third {WORD}")
    with again(hf) as another:
        assert "docs/d.md" in quoted(another)
    assert [event.user for event in told(hf)] == ["ana", "ana", "ben"]


def test_what_a_person_removed_stays_away(hf: Holdfast) -> None:
    write(hf, "docs/a.md", f"one {WORD}")
    hf.documents.add("docs")
    hf.documents.remove("docs/a.md")
    write(hf, "docs/a.md", f"changed {WORD}")
    hf.session(agent="coder").start()
    assert quoted(hf) == {}


def test_only_what_looks_changed_is_read(hf: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(5):
        os.utime(write(hf, f"{n}.md", f"{n} {WORD}"), (1_000_000, 1_000_000))
    clock = Ticking(60 * 24 * 3_650)
    with holdfast.open(hf.settings.home, path=hf.project.root, user="ana", now=clock) as later:
        later.documents.add("*.md")
        opened: list[str] = []
        real = os.open

        def noted(path: str, *more: int, **named: int) -> int:
            opened.append(os.path.basename(path))
            return real(path, *more, **named)

        monkeypatch.setattr(os, "open", noted)
        write(hf, "3.md", f"new {WORD}")
        later.session(agent="coder").start()
        assert [name for name in opened if name.endswith(".md")] == ["3.md"]
    assert told(hf)[-1].payload["path"] == "3.md"


def test_files_beyond_the_hits_are_looked_at_in_turn(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.app.documents._IN_TURN", 2)
    for n in range(6):
        write(hf, f"{n}.md", "nothing of note")
    hf.documents.add("*.md")
    quoted(hf)
    write(hf, "5.md", f"the {WORD}")
    answers = [quoted(hf) for _ in range(3)]
    assert answers[-1] == {"5.md": f"the {WORD}"}


# ---- what must not be said to be gone --------------------------------------------------------------


def test_a_folder_that_is_gone_itself_ends_nothing_and_raises_nothing(hf: Holdfast) -> None:
    write(hf, "a.md", f"one {WORD}")
    hf.documents.add("a.md")
    root = Path(hf.project.root)
    root.rename(root.with_name("moved"))
    hf.session(agent="coder").start()
    assert quoted(hf) == {"a.md": f"one {WORD}"}
    with holdfast.open(hf.settings.home, path=root.with_name("moved"), user="ana") as moved:
        assert quoted(moved) == {"a.md": f"one {WORD}"}
        assert len(told(moved)) == 1
        write(moved, "a.md", f"two {WORD}")
        assert quoted(moved) == {"a.md": f"two {WORD}"}
        (root.with_name("moved") / "a.md").unlink()
        assert quoted(moved) == {}


def test_a_second_clone_does_not_speak_for_the_first(hf: Holdfast, tmp_path: Path) -> None:
    write(hf, "a.md", f"of the first {WORD}")
    write(hf, "b.md", f"in both {WORD}")
    hf.documents.add("*.md")
    clone = tmp_path / "clone"
    shutil.copytree(hf.project.root, clone)
    (clone / "a.md").unlink()
    (clone / "b.md").write_text("changed in the clone")
    with holdfast.open(hf.settings.home, path=clone, user="ana") as other:
        assert other.project.id == hf.project.id
        other.session(agent="coder").start()
        assert quoted(other) == {"a.md": f"of the first {WORD}", "b.md": f"in both {WORD}"}
        write(hf, "a.md", f"of the first, later {WORD}")
        assert quoted(other)["a.md"] == f"of the first, later {WORD}"


def test_documents_of_a_project_opened_by_its_id_stay_as_they_were_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"one {WORD}")
    with holdfast.open(tmp_path / "home", project="p") as hf:
        hf.documents.add("a.md", root=tmp_path)
        (tmp_path / "a.md").unlink()
        hf.session(agent="coder").start()
        assert quoted(hf) == {"a.md": f"one {WORD}"}


def test_as_of_a_time_nothing_is_looked_at(hf: Holdfast) -> None:
    file = write(hf, "a.md", f"one {WORD}")
    hf.documents.add("a.md")
    file.unlink()
    found = hf.recall(WORD, kind="document", min_relevance=0, as_of="2026-12-31")
    assert [hit.text for hit in found] == [f"one {WORD}"]
    assert len(told(hf)) == 1
    assert quoted(hf) == {}


# ---- what cannot or must not be recorded -----------------------------------------------------------


def test_where_nothing_can_be_recorded_nothing_stale_is_quoted(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(hf, "a.md", f"one {WORD}")
    gone = write(hf, "b.md", f"two {WORD}")
    write(hf, "c.md", f"three {WORD}")
    hf.documents.add("*.md")
    write(hf, "a.md", f"changed {WORD}")
    gone.unlink()

    def refuse(*_: object) -> None:
        raise Denied("recording: read-only")

    with monkeypatch.context() as patched:
        patched.setattr(hf, "record", refuse)
        assert quoted(hf) == {"c.md": f"three {WORD}"}
        assert any("cannot be recorded" in notice for notice in hf.notices)
    assert quoted(hf) == {"a.md": f"changed {WORD}", "c.md": f"three {WORD}"}


def test_files_that_may_not_be_read_any_more_are_out_of_use(hf: Holdfast, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write(hf, f"{name}.md", f"{name} {WORD}")
    hf.documents.add("*.md")
    root = Path(hf.project.root)
    (tmp_path / "outside.md").write_text(f"not yours {WORD}")
    (root / "b.md").unlink()
    (root / "b.md").symlink_to(tmp_path / "outside.md")
    marker = root / ".holdfast.toml"
    marker.write_text(marker.read_text() + '\n[record]\ndeny_paths = ["a.md"]\n')
    with again(hf) as later:
        assert quoted(later) == {"c.md": f"c {WORD}"}
    assert not any("not yours" in event.words for event in hf.events())


def test_what_was_erased_does_not_come_back_by_itself(hf: Holdfast) -> None:
    write(hf, "a.md", f"first {WORD}")
    write(hf, "b.md", f"other {WORD}")
    hf.documents.add("*.md")
    write(hf, "a.md", f"personal {WORD}")
    hf.documents.refresh()
    erased = told(hf)[-1].event_id
    hf.log.erase([erased], subject=erasure([erased]))
    for _ in range(2):
        hf.session(agent="coder").start()
        assert quoted(hf) == {"b.md": f"other {WORD}"}
    assert any("holdfast docs refresh" in notice for notice in hf.notices)
    write(hf, "c.md", f"personal too {WORD}")
    with again(hf) as another:
        assert quoted(another) == {"b.md": f"other {WORD}"}
    hf.documents.add("b.md")
    assert quoted(hf).keys() == {"b.md"}
    hf.documents.refresh()
    write(hf, "b.md", f"changed {WORD}")
    assert quoted(hf)["b.md"] == f"changed {WORD}"
    assert quoted(hf).keys() == {"a.md", "b.md", "c.md"}


# ---- two at once -----------------------------------------------------------------------------------


def test_two_that_see_the_same_change_record_it_once(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(hf, "a.md", f"one {WORD}")
    gone = write(hf, "b.md", f"two {WORD}")
    hf.documents.add("*.md")
    write(hf, "a.md", f"changed {WORD}")
    gone.unlink()
    with again(hf) as other:
        real = Documents._see

        def late(self: Documents, *given: object) -> None:
            monkeypatch.setattr(Documents, "_see", real)
            real(self, *given)  # type: ignore[arg-type]
            other.documents.follow()  # before the first has recorded what it saw

        monkeypatch.setattr(Documents, "_see", late)
        hf.documents.follow()
        assert len(told(hf)) == 4
        assert quoted(hf) == quoted(other) == {"a.md": f"changed {WORD}"}


def test_a_look_that_is_too_young_says_nothing(tmp_path: Path) -> None:
    place = tmp_path / "a.md"
    place.write_text("one")
    young, seen = look_at(str(place)), Seen()
    assert young is not None
    seen.note(str(place), "evt_1", young)
    assert not seen.holds(str(place), "evt_1")
    old = young._replace(written=0, touched=0)
    seen.note(str(place), "evt_1", old)
    assert not seen.holds(str(place), "evt_1")
    assert look_at(str(tmp_path / "none")) is None
