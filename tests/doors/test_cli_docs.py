"""The commands about documents, as a person meets them for the first time and as a machine uses them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.doors.test_cli import Ran, run  # noqa: F401  (a fixture)


@pytest.fixture
def project(run: Any, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: F811
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    run("init")
    return run


def write(path: str, text: str) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def test_without_anything_it_says_what_to_do(project: Any) -> None:
    for words in ((), ("list",), ("refresh",)):
        ran = project("docs", *words)
        assert ran.code == 0
        assert "holdfast docs add 'docs/**/*.md'" in ran.out
    write("a.md", "one")
    project("docs", "add", "a.md")
    ran = project("docs")
    assert "1 document from a.md." in ran.out
    assert "docs list" in ran.out
    assert project("docs", "--json").json == {"documents": 1, "patterns": ["a.md"]}


@pytest.mark.parametrize("words", [("add",), ("remove",)])
def test_nothing_named_is_a_mistake_that_is_explained(project: Any, words: tuple[str, ...]) -> None:
    ran = project("docs", *words)
    assert ran.code == 2
    assert "holdfast docs" in ran.err


def test_no_match_is_said_and_is_a_failure(project: Any) -> None:
    ran: Ran = project("docs", "add", "nowhere/*.md")
    assert ran.code == 3
    assert "nothing matches nowhere/*.md" in ran.err
    assert str(Path.cwd()) in ran.err
    assert project("docs", "remove", "nowhere.md").code == 3
    assert project("docs", "add", "../x.md").code == 5


def test_files_are_added_quoted_or_expanded_listed_and_removed(project: Any) -> None:
    write("docs/a.md", "# A\n\none\n\ntwo\n")
    write("docs/b.md", "b")
    ran = project("docs", "add", "docs/**/*.md")
    assert ran.code == 0
    assert "new       docs/a.md" in ran.out
    assert "Documents: 2 new." in ran.out
    assert "2 as before" in project("docs", "add", "docs/a.md", "docs/b.md").out
    write("docs/c.md", "c")
    write("docs/a.md", "changed")
    Path("docs/b.md").unlink()
    assert project("docs", "refresh", "--json").json == {
        "added": ["docs/c.md"],
        "changed": ["docs/a.md"],
        "unchanged": [],
        "gone": ["docs/b.md"],
        "left_out": [],
        "unmatched": [],
    }
    listed = project("docs", "list").out
    for said in ("path", "parts", "lines", "indexed", "docs/a.md", "docs/c.md", "docs/**/*.md"):
        assert said in listed
    assert "docs/b.md │" not in listed
    known = project("docs", "list", "--json").json
    assert [(one["path"], one["lines"], one["parts"]) for one in known["documents"]] == [
        ("docs/a.md", 1, 1),
        ("docs/c.md", 1, 1),
    ]
    assert "docs/a.md" in project("docs", "remove", "docs/a.md").out
    assert [one["path"] for one in project("docs", "list", "--json").json["documents"]] == [
        "docs/c.md"
    ]


def test_what_is_left_out_is_named_with_the_reason(project: Any) -> None:
    write("docs/.env", "X=1")
    Path("docs/picture.md").write_bytes(b"\0\1")
    write("docs/a.md", "one")
    ran = project("docs", "add", "docs/*.md", "docs/.env", "docs/*.rst")
    assert ran.code == 0
    assert "left out  docs/.env: it is one of the files that hold secrets" in ran.out
    assert "left out  docs/picture.md: it is not text" in ran.out
    assert "Nothing matches docs/*.rst" in ran.err
    alone = project("docs", "add", "docs/.env")
    assert alone.code == 2
    assert "left out" in alone.out


def test_a_long_list_is_cut_and_counted(project: Any) -> None:
    for n in range(25):
        write(f"{n:02}.md", "text")
    ran = project("docs", "add", "*.md")
    assert "19.md" in ran.out
    assert "20.md" not in ran.out
    assert "new       and 5 more" in ran.out
    assert "25 new" in ran.out
    project("docs", "add", *(f"{n:02}.md" for n in range(25)))
    assert "25 documents from *.md, 00.md" in project("docs").out
    assert "18.md and 6 more." in project("docs").out


def test_recall_shows_path_and_line(project: Any) -> None:
    write("docs/guide.md", "# Guide\n\nThe lighthouse of Kilronan is built of granite.\n")
    project("docs", "add", "docs")
    shown = project("recall", "what is the lighthouse built of", "--kind", "document").out
    assert "granite" in shown
    assert "docs/guide.md:1 · Guide" in shown
    (hit,) = project("recall", "what is the lighthouse built of", "--json").json["hits"]
    assert (hit["path"], hit["line"], hit["line_end"]) == ("docs/guide.md", 1, 3)
    assert (hit["title"], hit["trust"], hit["event"]) == ("Guide", 1, None)


def test_what_became_of_files_is_seen_without_a_refresh(project: Any) -> None:
    write("docs/a.md", "# Ports\n\nThe lighthouse listens on port 8471.\n")
    write("docs/b.md", "# More\n\nThe lighthouse has a lamp.\n")
    project("docs", "add", "docs")
    assert "8471" in project("context", "which port does the lighthouse listen on?").out
    write("docs/a.md", "# Ports\n\nThe lighthouse listens on port 9000.\n")
    Path("docs/b.md").unlink()
    write("docs/c.md", "# New\n\nThe lighthouse was painted.\n")
    ran = project("docs", "list", "--json")
    assert [one["path"] for one in ran.json["documents"]] == ["docs/a.md", "docs/c.md"]
    found = project("recall", "lighthouse port", "--kind", "document", "--json").json["hits"]
    assert [hit["path"] for hit in found] == ["docs/a.md", "docs/c.md"]
    assert "9000" in found[0]["text"]
    Path("docs/a.md").unlink()
    assert "docs/a.md" not in project("recall", "lighthouse port").out
    ran = project("context", "lighthouse port")
    assert "docs/c.md" in ran.out
    assert "9000" not in ran.out
    assert ran.out.count("docs/a.md") == ran.out.count("no longer holds")


def test_line_ends_of_another_system_are_not_shown(project: Any) -> None:
    Path("a.md").write_bytes(b"# Ports\r\n\r\nThe lighthouse listens\r\non port 8471.\r\n")
    project("docs", "add", "a.md")
    ran = project("recall", "lighthouse port")
    assert "8471" in ran.out
    assert "x0d" not in ran.out
