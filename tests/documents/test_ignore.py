"""What .gitignore files leave out is left out of `**`, as git does it; what is named is found anyway."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.documents.find import Finder
from holdfast.documents.ignore import rules
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND

names = st.sampled_from(["a", "b", "ab", "a.md", "b.log", "build"])
trees = st.sets(st.lists(names, min_size=1, max_size=4).map("/".join), min_size=1, max_size=10)
segments = st.sampled_from(
    [
        "a",
        "b",
        "build",
        "*.md",
        "*.log",
        "*",
        "**",
        "a*",
        "?",
        "[ab]",
        "[!a]",
        "[^a]*",
        r"\a",
        "a**b",
    ]
)
lines = st.builds(
    lambda back, first, between, last, end: back + first + "/".join(between) + last + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(segments, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
    st.sampled_from(["", "", " ", "\r"]),
)
said = st.lists(lines | st.sampled_from(["", "# a", r"\#", r"\!a", "a\\ ", "/", "!"]), max_size=6)


def by_git(root: Path) -> list[str]:
    """What git would track in a folder that is no repository yet."""
    alone = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    for words in (["init", "-q"], ["ls-files", "-z", "--others", "--exclude-standard"]):
        ran = subprocess.run(
            ["git", *words], cwd=root, env=alone, capture_output=True, text=True, check=True
        )
    found = [one for one in ran.stdout.split("\0") if one]
    return sorted(one for one in found if not one.endswith(".gitignore"))


@settings(max_examples=examples(80), phases=AS_FOUND)
@given(trees, said, said, st.sampled_from(["a", "b", "build", "a/b"]))
@example({"build/a.md", "build/b.log"}, ["build/*", "!build/a.md"], [], "a")
@example({"build/a.md"}, ["build/", "!build/a.md"], [], "a")
@example({"a/b/ab", "a/b/b.log"}, ["*.log"], ["!b.log"], "a/b")
@example({"a/build", "build/a"}, ["build/"], [], "b")
@example({"a/b/build", "a/build"}, ["a/**/build"], [], "b")
@example({"a/b"}, ["a/**"], ["!b"], "a")
def test_two_stars_find_what_git_would_track(
    tree: set[str], at_root: list[str], deeper: list[str], where: str
) -> None:
    files = {one for one in tree if not any(other.startswith(one + "/") for other in tree)}
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        for name in files:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("text")
        (root / ".gitignore").write_text("\n".join(at_root), newline="")
        if (root / where).is_dir():
            (root / where / ".gitignore").write_text("\n".join(deeper), newline="")
        assert Finder(place).files("**") == by_git(root)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (
        "build/out/a.md",
        "build/b.log",
        "docs/c.md",
        "docs/d.log",
        "e.log",
        "docs/own/f.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    (tmp_path / "docs/.gitignore").write_text("own\n")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**", ["docs/c.md"]),
        ("**/*.log", []),
        ("**/*.md", ["docs/c.md"]),
        ("docs/**", ["docs/c.md"]),
        ("e.log", ["e.log"]),
        ("*.log", ["e.log"]),
        ("docs/*.log", ["docs/d.log"]),
        ("build/**", ["build/b.log", "build/out/a.md"]),
        ("build/out/a.md", ["build/out/a.md"]),
        ("docs/own/**", ["docs/own/f.md"]),
        ("**/own/*", ["docs/own/f.md"]),
    ],
)
def test_whoever_names_what_is_left_out_gets_it(root: Path, pattern: str, found: list[str]) -> None:
    assert Finder(str(root)).files(pattern) == found


def test_rules_that_cannot_be_read_leave_nothing_out(root: Path, tmp_path: Path) -> None:
    (root / ".gitignore").unlink()
    os.mkfifo(root / ".gitignore")
    (root / "docs/.gitignore").unlink()
    (root / "docs/.gitignore").symlink_to(root / "e.log")
    (root / "e.log").write_text("*")
    assert "docs/c.md" in Finder(str(root)).files("**")
    (root / ".gitignore").unlink()
    (root / ".gitignore").write_bytes(b"\xff*\n\xff\\\n[\n[[:alpha:]]\n*.md\n")
    assert Finder(str(root)).files("**") == ["build/b.log", "docs/d.log", "e.log"]


def test_many_stars_in_a_rule_cost_nothing(root: Path) -> None:
    (root / ("a" * 250)).write_text("text")
    (root / ".gitignore").write_text("a*" * 200 + "b\n" + "**/a/" * 100 + "b\n")
    assert "a" * 250 in Finder(str(root)).files("**")
    assert len(rules("a*" * 200 + "b")) == 1
