"""Documents are found as they are now, or as they were, with path and line, in their project alone."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import Invalid
from holdfast.model.recall import Found
from tests.contract.entries import erasure
from tests.documents.projects import Holdfast, project, told, write
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking, forgotten_index, plain_answer, stamp

#: every document of these histories holds it
WORD = "lighthouse"
GUIDE = """# Guide

What this is about, in a few words that make a paragraph of their own, long enough to stand alone. It
says nothing about the subject of any question below, at some length, to be a part of its own here.

## Retention

Old segments are dropped after ninety days, and the folded state is written as a baseline before that.
What was dropped cannot be replayed any more; everything else can, byte for byte, as often as one likes.

## Encryption

Backups are encrypted with age, and the keys lie in the vault of the operations team, never on a laptop.
A restored backup is checked against its manifest before anybody is allowed to read from it or to write.
"""


@pytest.fixture(autouse=True)
def _words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def hf(tmp_path: Path, clock: Ticking) -> Iterator[Holdfast]:
    with project(tmp_path, clock) as opened:
        yield opened


def documents(hf: Holdfast, **narrowed: Any) -> Found:
    return hf.recall(WORD, 1_000, kind="document", min_relevance=0, **narrowed)


def said(found: Found) -> dict[str, str]:
    assert len({hit.path for hit in found}) == len(found)
    return {hit.path: hit.text for hit in found}


# ---- any history -------------------------------------------------------------------------------

files = st.sampled_from(["a.md", "docs/b.md", "docs/c.txt"])
steps = st.lists(
    st.tuples(st.sampled_from(["write", "delete", "remove", "add", "refresh", "ask"]), files),
    max_size=14,
)


class Life:
    """A project that changes, and what its documents must be at each time."""

    def __init__(self, hf: Holdfast, clock: Ticking) -> None:
        self.hf, self.clock = hf, clock
        self.on_disk: dict[str, str] = {}
        self.known: dict[str, str] = {}
        self.removed: set[str] = set()
        self.watched: set[str] = set()
        self.stood: dict[float, dict[str, str]] = {}

    def take(self, what: str, path: str) -> None:
        self.clock.minutes += 1
        if what == "write":
            self.on_disk[path] = f"{WORD} said at minute {self.clock.minutes}"
            write(self.hf, path, self.on_disk[path])
        elif what == "delete" and path in self.on_disk:
            (Path(self.hf.project.root) / path).unlink()
            del self.on_disk[path]
        elif what == "remove" and (path in self.known or path in self.watched):
            self.hf.documents.remove(path)
            self.removed |= {path} & self.known.keys()
            self.watched.discard(path)
            self.known.pop(path, None)
        elif what == "add" and path in self.on_disk:
            self.hf.documents.add(path)
            self.watched.add(path)
            self.removed.discard(path)
            self.known[path] = self.on_disk[path]
        elif what == "refresh":
            self.hf.documents.refresh()
            wanted = (self.known.keys() | self.watched) & self.on_disk.keys() - self.removed
            self.known = {one: self.on_disk[one] for one in wanted}
        elif what == "ask":
            assert said(documents(self.hf)) == self.known
        self.stood[self.clock.minutes] = dict(self.known)


@settings(max_examples=examples(30), phases=AS_FOUND)
@given(steps)
def test_what_is_found_is_what_stands_now_and_what_stood_then(
    taken: list[tuple[str, str]],
) -> None:
    with tempfile.TemporaryDirectory() as place:
        clock = Ticking()
        with project(Path(place), clock) as hf:
            life = Life(hf, clock)
            for step in taken:
                life.take(*step)
            clock.minutes += 1
            assert said(documents(hf)) == life.known
            assert {one.path for one in hf.documents.list()} == life.known.keys()
            for minute, stood in life.stood.items():
                assert said(documents(hf, as_of=stamp(minute + 0.5))) == stood
            answers = [plain_answer(documents(hf, as_of=stamp(m + 0.5))) for m in life.stood]
            now, root = plain_answer(documents(hf)), hf.project.root
        forgotten_index(Path(place) / "home")
        with holdfast.open(Path(place) / "home", path=root, user="ana", now=clock) as hf:
            assert plain_answer(documents(hf)) == now
            again = [plain_answer(documents(hf, as_of=stamp(m + 0.5))) for m in life.stood]
            assert again == answers


# ---- what a hit says ---------------------------------------------------------------------------


def test_a_part_is_found_at_once_with_its_path_its_lines_and_its_headings(hf: Holdfast) -> None:
    file = write(hf, "docs/guide.md", GUIDE)
    hf.documents.add("docs/*.md")
    hit = hf.recall("after how many days are old segments dropped?")[0]
    assert (hit.path, hit.line, hit.title) == ("docs/guide.md", 6, "Guide > Retention")
    rows = file.read_text().split("\n")
    assert hit.text == "\n".join(rows[hit.line - 1 : hit.line_end])
    assert hit.full == hit.text
    assert hit.trust == 1
    assert hit.event is not None
    assert hit.id == f"{hit.event.event_id}:6-9"
    assert hit.speaker == "docs/guide.md"
    assert hit.memory is None


def test_a_document_is_found_by_the_words_of_its_path(hf: Holdfast) -> None:
    write(hf, "docs/zeppelin/landing.md", "Mind the ropes, and wait until everybody is off board.")
    write(hf, "docs/other.md", "Mind the gap, and wait until everybody is on board.")
    hf.documents.add("docs")
    assert hf.recall("zeppelin landing")[0].path == "docs/zeppelin/landing.md"


def test_a_long_document_is_found_beyond_what_its_line_holds(hf: Holdfast) -> None:
    rows = [f"Row {n} of a table nobody reads to its end.\n" for n in range(6_000)]
    rows[4_321] = f"\nThe {WORD} of Kilronan was built of granite.\n\n"
    write(hf, "long.txt", "".join(rows))
    hf.documents.add("long.txt")
    (event,) = told(hf)
    assert WORD not in event.text
    hit = hf.recall(f"what was the {WORD} built of?")[0]
    assert "granite" in hit.text
    assert hit.line <= 4_323 <= hit.line_end


def test_a_long_document_whose_body_is_lost_is_found_by_its_beginning(hf: Holdfast) -> None:
    write(hf, "long.txt", f"The {WORD} stands first.\n" + "and so on\n" * 20_000)
    hf.documents.add("long.txt")
    (event,) = told(hf)
    digest = event.payload["_as_given"][0]["blob"]
    (Path(hf.folder) / "blobs" / digest[:2] / digest).unlink()
    assert documents(hf)[0].line == 1
    assert any("only the beginning of long.txt" in notice for notice in hf.notices)


def test_neighbouring_parts_are_related(hf: Holdfast) -> None:
    write(hf, "guide.md", GUIDE)
    hf.documents.add("guide.md")
    found = hf.recall("retention of segments and encryption of backups", min_relevance=0)
    by_line = {hit.line: hit for hit in found}
    assert by_line[6].related == (by_line[1].id, by_line[11].id)


def test_hundreds_of_old_versions_hide_nothing(hf: Holdfast, clock: Ticking) -> None:
    write(
        hf, "quiet.md", f"far from here somebody once saw a {WORD} and told nobody of it for years"
    )
    for n in range(250):
        clock.minutes = n
        write(hf, "loud.md", f"{WORD} {WORD} {WORD} {n}")
        hf.documents.add("*.md")
    clock.minutes = 300
    assert said(documents(hf)).keys() == {"quiet.md", "loud.md"}
    then = said(documents(hf, as_of=stamp(99.5)))
    assert then == {
        "quiet.md": said(documents(hf))["quiet.md"],
        "loud.md": f"{WORD} {WORD} {WORD} 99",
    }


# ---- narrowing, isolation ----------------------------------------------------------------------


def test_documents_can_be_asked_for_alone_or_left_out(hf: Holdfast) -> None:
    write(hf, "a.md", f"the {WORD} in a file")
    hf.documents.add("a.md")
    hf.remember(f"the {WORD} in a memory")
    with hf.session(agent="coder") as s:
        s.user(f"the {WORD} in a turn")
        asked: dict[str, dict[str, Any]] = {
            "all": {},
            "document": {"kind": "document"},
            "fact": {"kind": "fact"},
            "project": {"scope": "project"},
            "session": {"scope": "session"},
            "this session": {"session_id": s.id},
            "agent": {"agent": "somebody"},
            "category": {"kind": "document", "category": "facts"},
        }
        paths = {
            name: {hit.path for hit in hf.recall(WORD, min_relevance=0, **narrowed)}
            for name, narrowed in asked.items()
        }
    assert paths == {
        "all": {"a.md", ""},
        "document": {"a.md"},
        "fact": {""},
        "project": {"a.md", ""},
        "session": {""},
        "this session": {""},
        "agent": {"a.md", ""},
        "category": set(),
    }
    with pytest.raises(Invalid, match="fact, episode, pattern, workflow, document"):
        hf.recall(WORD, kind="file")


def test_documents_are_everybodys_in_their_project_and_nobodys_elsewhere(
    hf: Holdfast, tmp_path: Path
) -> None:
    write(hf, "a.md", f"the {WORD} in a file")
    hf.documents.add("a.md")
    assert said(documents(hf, user="bob")) == {"a.md": f"the {WORD} in a file"}
    with project(tmp_path, name="another") as another:
        assert not another.recall(WORD, min_relevance=0)
        assert another.documents.list() == []


# ---- whatever becomes of the index or the log --------------------------------------------------


def test_a_new_version_is_found_alone_while_the_index_cannot_be_written(
    tmp_path: Path, clock: Ticking
) -> None:
    config = tmp_path / "config" / "holdfast" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[views]\nbusy_ms = 1\n")
    with project(tmp_path, clock) as hf:
        write(hf, "a.md", f"the old {WORD}")
        hf.documents.add("a.md")
        assert said(documents(hf)) == {"a.md": f"the old {WORD}"}
        clock.minutes = 10
        write(hf, "a.md", f"the new {WORD}")
        hf.documents.refresh()
        clock.minutes = 20
        with closing(sqlite3.connect(Path(hf.folder) / "index.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            now = documents(hf)
            assert said(documents(hf, as_of=stamp(5))) == {"a.md": f"the old {WORD}"}
            assert said(documents(hf, as_of=stamp(15))) == {"a.md": f"the new {WORD}"}
        assert said(now) == {"a.md": f"the new {WORD}"}
        assert any("searched in memory" in notice for notice in hf.notices)


def test_an_erased_version_is_nowhere_and_breaks_nothing(hf: Holdfast, clock: Ticking) -> None:
    write(hf, "a.md", f"the first {WORD}")
    write(hf, "b.md", f"another {WORD}")
    hf.documents.add("*.md")
    clock.minutes = 10
    write(hf, "a.md", f"the second {WORD}")
    hf.documents.refresh()
    clock.minutes = 20
    erased = told(hf)[-1]
    hf.log.erase([erased.event_id], subject=erasure([erased.event_id]))
    assert f"the second {WORD}" not in said(documents(hf)).values()
    assert hf.documents.refresh().changed == ("a.md",)
    assert said(documents(hf)) == {"a.md": f"the second {WORD}", "b.md": f"another {WORD}"}


@pytest.mark.filterwarnings("ignore::holdfast.DamageWarning")
def test_a_damaged_version_is_read_again(hf: Holdfast, clock: Ticking) -> None:
    write(hf, "a.md", f"the first {WORD}")
    write(hf, "b.md", f"another {WORD}")
    hf.documents.add("*.md")
    log = Path(hf.folder) / "events.ndjson"
    log.write_bytes(log.read_bytes().replace(b"the first", b"the FIRST"))
    hf.rebuild()
    hf.library.discard("a test")
    clock.minutes = 10
    assert said(documents(hf, as_of=stamp(5))) == {"b.md": f"another {WORD}"}
    assert said(documents(hf)) == {"a.md": f"the first {WORD}", "b.md": f"another {WORD}"}
    assert hf.documents.add("*.md").unchanged == ("a.md", "b.md")
