"""Which files a pattern means, and that nothing outside the project is ever among them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.documents.find import LEADS_OUT, Finder, fits, meant, normal
from holdfast.documents.read import Content, Reader
from holdfast.errors import Denied, Invalid
from holdfast.model.documents import LeftOut
from tests.property.effort import examples

names = st.sampled_from(["a", "b", "ab", "a.md", "b.md", "c.py"])
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
segments = st.sampled_from(["**", "*", "*.md", "a*", "?", "[ab]", "a", "b", "a.md"])
patterns = st.lists(segments, min_size=1, max_size=5).map("/".join).map(normal)


def make(root: Path, *files: str, text: str = "text\n") -> None:
    for name in files:
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")


def matches(pattern: list[str], path: list[str]) -> bool:
    """What a pattern means, said as plainly as can be."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        return matches(pattern[1:], path) or bool(path and matches(pattern, path[1:]))
    from fnmatch import fnmatchcase

    return bool(path) and fnmatchcase(path[0], pattern[0]) and matches(pattern[1:], path[1:])


@settings(max_examples=examples(150))
@given(st.sets(paths, min_size=1, max_size=12), patterns)
def test_the_files_that_are_found_are_those_that_match(tree: set[str], pattern: str) -> None:
    files = {
        one
        for one in tree
        if not any(other.startswith(one + "/") for other in tree if other != one)
    }
    files = {one for one in files if not any(one.startswith(other + "/") for other in files)}
    with tempfile.TemporaryDirectory() as place:
        make(Path(place), *files)
        finder = Finder(place)
        wanted = pattern.split("/")
        wanted += ["*"] if wanted[-1] == "**" else []
        assert finder.files(pattern) == sorted(
            one for one in files if matches(wanted, one.split("/"))
        )
        assert finder.left_out == []


@settings(max_examples=examples(300))
@given(paths, patterns)
def test_a_path_fits_what_it_matches_and_the_folder_it_lies_in(path: str, pattern: str) -> None:
    folder = path.startswith(pattern + "/")
    literal = path == pattern
    assert fits(pattern, path) == (
        folder or literal or matches(pattern.split("/"), path.split("/"))
    )


@pytest.mark.parametrize(
    ("given_", "remembered"),
    [
        ("docs/**/*.md", "docs/**/*.md"),
        ("./docs//x/../*.md", "docs/*.md"),
        ("docs/**/**/**/a", "docs/**/a"),
        ("docs/", "docs"),
        (".", ""),
    ],
)
def test_a_pattern_is_remembered_in_one_form(given_: str, remembered: str) -> None:
    assert normal(given_, "/project") == remembered
    assert normal(f"/project/{given_}", "/project") == remembered


@pytest.mark.parametrize("given_", ["../x.md", "docs/../../x", "/etc/passwd", "/projects/x.md"])
def test_a_pattern_that_leads_out_is_refused(given_: str) -> None:
    with pytest.raises(Denied, match="outside the project"):
        normal(given_, "/project")


@pytest.mark.parametrize("given_", ["", "  ", "a\0b", None, 3, "a" * 2_000])
def test_what_is_no_pattern_is_refused(given_: str) -> None:
    with pytest.raises(Invalid):
        normal(given_, "/project")


def test_a_folder_means_all_it_holds_and_a_file_with_marks_in_its_name_itself(
    tmp_path: Path,
) -> None:
    make(tmp_path, "docs/a.md", "docs/deep/b.txt", "note[1].md", "note1.md")
    assert meant("docs", str(tmp_path)) == "docs/**"
    assert meant(".", str(tmp_path)) == "**"
    assert Finder(str(tmp_path)).files("docs/**") == ["docs/a.md", "docs/deep/b.txt"]
    named = meant("note[1].md", str(tmp_path))
    assert Finder(str(tmp_path)).files(named) == ["note[1].md"]
    assert Finder(str(tmp_path)).files("note[1].md") == ["note1.md"]


def test_hidden_files_dependencies_and_other_projects_are_found_only_by_name(
    tmp_path: Path,
) -> None:
    make(tmp_path, "a.md", ".hidden.md", ".git/b.md", "node_modules/x/c.md", "other/d.md")
    make(tmp_path, "other/.holdfast.toml")
    finder = Finder(str(tmp_path))
    assert finder.files("**/*.md") == ["a.md"]
    assert finder.files("**/.*.md") == [".hidden.md"]
    assert finder.files("other/*.md") == ["other/d.md"]
    assert finder.files("node_modules/**/*.md") == ["node_modules/x/c.md"]


def test_links_are_followed_inside_the_project_and_never_out_of_it(tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    make(root, "real/a.md")
    make(outside, "secret.md")
    (root / "near").symlink_to(root / "real")
    (root / "far").symlink_to(outside)
    (root / "far.md").symlink_to(outside / "secret.md")
    (root / "loop").symlink_to(root)
    finder = Finder(str(root))
    assert finder.files("near/*.md") == ["near/a.md"]
    assert finder.files("**/*.md") == ["far.md", "real/a.md"]
    assert finder.left_out == []
    assert finder.files("far/*.md") == []
    assert finder.left_out == [LeftOut(path="far", why=LEADS_OUT)]
    reader = Reader(str(root), lambda *_: "", 1_000)
    assert reader.read("far.md") == LeftOut(path="far.md", why=LEADS_OUT)
    assert reader.read("far/secret.md") == LeftOut(path="far/secret.md", why=LEADS_OUT)
    assert isinstance(reader.read("near/a.md"), Content)


def test_a_root_that_is_a_link_itself_is_as_good_as_any(tmp_path: Path) -> None:
    make(tmp_path / "real", "docs/a.md")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    root = str(tmp_path / "link")
    assert Finder(root).files("docs/*.md") == ["docs/a.md"]
    assert isinstance(Reader(root, lambda *_: "", 1_000).read("docs/a.md"), Content)
    assert normal(str(tmp_path / "real" / "docs"), root) == "docs"


def test_a_file_that_is_not_for_reading_is_left_out_with_the_reason(tmp_path: Path) -> None:
    make(tmp_path, "long.md", text="x" * 11)
    make(tmp_path, "fits.md", text="x" * 10)
    (tmp_path / "binary.md").write_bytes(b"a\0b")
    (tmp_path / "latin.md").write_bytes("é".encode("latin-1"))
    (tmp_path / "marked.md").write_bytes(b"\xef\xbb\xbfhello")
    (tmp_path / "empty.md").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe.md")
    reader = Reader(str(tmp_path), lambda path, _: "not that" * (path == "no.md"), 10)
    why = {
        name: found.why
        for name in ("long.md", "binary.md", "latin.md", "pipe.md", "no.md")
        if isinstance(found := reader.read(name), LeftOut)
    }
    assert why == {
        "long.md": "it has 11 bytes; recall.document_bytes allows 10",
        "binary.md": "it is not text, or not in UTF-8",
        "latin.md": "it is not text, or not in UTF-8",
        "pipe.md": "it is not a file",
        "no.md": "not that",
    }
    texts = {name: reader.read(name) for name in ("fits.md", "marked.md", "empty.md")}
    assert [one.text for one in texts.values() if isinstance(one, Content)] == [
        "x" * 10,
        "hello",
        "",
    ]
    assert reader.read("missing.md") is None
    assert reader.read("fits.md/below.md") is None


def test_a_name_that_is_no_text_is_said_as_well_as_it_can_be(tmp_path: Path) -> None:
    name = os.fsdecode(b"bad-\xff.md")
    (tmp_path / name).write_text("text")
    found = Reader(str(tmp_path), lambda *_: "", 100).read(name)
    assert found == LeftOut(path="bad-?.md", why="its name is not UTF-8")


def test_what_cannot_be_read_just_now_is_left_out_for_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "shut/a.md", "shut.md")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    finder, reader = Finder(str(tmp_path)), Reader(str(tmp_path), lambda *_: "", 100)
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        patched.setattr(os, "scandir", refuse)
        found, left = finder.files("shut/*.md"), reader.read("shut.md")
    why = "it cannot be read: Permission denied"
    assert found == []
    assert finder.left_out == [LeftOut(path="shut", why=why, passing=True)]
    assert left == LeftOut(path="shut.md", why=why, passing=True)
