"""Documents in the log: one event for each version, patterns remembered, nothing forbidden read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

import holdfast
from holdfast.documents.whole import whole
from holdfast.errors import Denied, Invalid, NotFound
from holdfast.model.documents import DocumentReport, LeftOut
from holdfast.model.events import Draft
from tests.documents.projects import Holdfast, project, told, write
from tests.recall.replays import Ticking

KEY = (
    "-----BEGIN PRIVATE KEY-----\n"
    + "\n".join(
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"[:64] for _ in range(5)
    )
    + "\n-----END PRIVATE KEY-----"
)


@pytest.fixture
def hf(tmp_path: Path) -> Iterator[Holdfast]:
    with project(tmp_path, Ticking()) as opened:
        yield opened


def test_a_document_is_one_event_for_each_version(hf: Holdfast) -> None:
    file = write(hf, "docs/a.md", "# A\n\nfirst\n")
    written = file.stat().st_mtime_ns // 1_000
    assert hf.documents.add("docs/**/*.md") == DocumentReport(added=("docs/a.md",))
    assert hf.documents.add(["docs/**/*.md"]) == DocumentReport(unchanged=("docs/a.md",))
    file.write_text("# A\n\nsecond\n")
    assert hf.documents.refresh() == DocumentReport(changed=("docs/a.md",))
    file.unlink()
    assert hf.documents.refresh() == DocumentReport(gone=("docs/a.md",))
    assert hf.documents.refresh() == DocumentReport()
    first, second, gone = told(hf)
    assert first.payload == {
        "path": "docs/a.md",
        "pattern": "docs/**/*.md",
        "sha256": sha256(b"# A\n\nfirst\n").hexdigest(),
        "root": os.path.realpath(hf.project.root),
        "written": written,
        "size": 11,
        "lines": 3,
        "parts": 1,
        "text": "# A\n\nfirst\n",
    }
    assert (first.origin, first.trust, first.session_id) == ("document", 1, None)
    assert second.text == "# A\n\nsecond\n"
    assert gone.payload == {"path": "docs/a.md", "gone": True, "why": "missing"}


def test_patterns_are_remembered_and_find_new_files_on_another_day(
    hf: Holdfast, tmp_path: Path
) -> None:
    write(hf, "docs/a.md", "one")
    write(hf, "notes/b.txt", "two")
    hf.documents.add(["docs/*.md", "notes"])
    write(hf, "docs/new.md", "three")
    write(hf, "docs/new.txt", "not meant")
    write(hf, "notes/deep/new.txt", "four")
    with holdfast.open(tmp_path / "home", path=hf.project.root, user="bob") as another:
        assert another.documents.patterns() == ["docs/*.md", "notes/**"]
        found = another.documents.refresh()
    assert found.added == ("docs/new.md", "notes/deep/new.txt")
    assert [one.path for one in hf.documents.list()] == [
        "docs/a.md",
        "docs/new.md",
        "notes/b.txt",
        "notes/deep/new.txt",
    ]


def test_a_pattern_is_remembered_although_it_brings_nothing_new(hf: Holdfast) -> None:
    write(hf, "docs/a.md", "one")
    hf.documents.add("docs/a.md")
    hf.documents.add("docs/*.md")
    hf.documents.add("docs/*.md")
    assert [event.payload.get("path") for event in told(hf)] == ["docs/a.md", None]
    write(hf, "docs/b.md", "two")
    assert hf.documents.refresh().added == ("docs/b.md",)


def test_what_was_removed_stays_away_until_it_is_added_again(hf: Holdfast) -> None:
    write(hf, "docs/a.md", "one")
    write(hf, "docs/b.md", "two")
    hf.documents.add("docs/*.md")
    assert hf.documents.remove("docs/a.md") == DocumentReport(gone=("docs/a.md",))
    write(hf, "docs/a.md", "changed")
    assert hf.documents.refresh() == DocumentReport(unchanged=("docs/b.md",))
    assert hf.documents.add("docs/*.md").added == ("docs/a.md",)
    assert hf.documents.remove(["docs"]).gone == ("docs/a.md", "docs/b.md")
    assert (hf.documents.list(), hf.documents.patterns()) == ([], [])
    write(hf, "docs/c.md", "three")
    assert hf.documents.refresh() == DocumentReport()
    with pytest.raises(NotFound, match="no document is docs"):
        hf.documents.remove("docs")
    assert (Path(hf.project.root) / "docs/a.md").exists()


def test_a_file_that_comes_back_is_a_document_again(hf: Holdfast) -> None:
    file = write(hf, "a.md", "one")
    hf.documents.add("*.md")
    file.unlink()
    hf.documents.refresh()
    assert hf.documents.list() == []
    write(hf, "a.md", "one")
    assert hf.documents.refresh().added == ("a.md",)
    assert [one.path for one in hf.documents.list()] == ["a.md"]


# ---- what is never read ------------------------------------------------------------------------


def test_nothing_outside_the_project_is_read(hf: Holdfast, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("not yours")
    write(hf, "a.md", "mine")
    (Path(hf.project.root) / "link.md").symlink_to(tmp_path / "outside.md")
    for pattern in ("../outside.md", str(tmp_path / "outside.md")):
        with pytest.raises(Denied, match="outside the project"):
            hf.documents.add(["a.md", pattern])
    assert told(hf) == []
    report = hf.documents.add("*.md")
    assert report.added == ("a.md",)
    assert [one.path for one in report.left_out] == ["link.md"]
    assert "leads out of the project" in report.left_out[0].why
    assert not any("not yours" in event.words for event in hf.events())


def test_files_that_hold_secrets_are_never_read(tmp_path: Path) -> None:
    with project(tmp_path) as hf:
        root = Path(hf.project.root)
        marker = root / ".holdfast.toml"
        marker.write_text(marker.read_text() + '\n[record]\ndeny_paths = ["private*.md"]\n')
    with holdfast.open(tmp_path / "home", path=root) as hf:
        for name in ("docs/.env", "docs/server.key", "docs/private-notes.md", "docs/ok.md"):
            write(hf, name, "hunter2 is what it is")
        (root / "docs/harmless.md").symlink_to(root / "docs/.env")
        report = hf.documents.add(["docs/**", "docs/.env", "docs/harmless.md"])
        assert report.added == ("docs/ok.md",)
        assert [one.path for one in report.left_out] == [
            "docs/.env",
            "docs/harmless.md",
            "docs/private-notes.md",
            "docs/server.key",
        ]


def test_a_document_that_must_not_be_read_any_more_is_out_of_use(hf: Holdfast) -> None:
    file = write(hf, "a.md", "one")
    hf.documents.add("a.md")
    file.write_bytes(b"now\0binary")
    report = hf.documents.refresh()
    assert report.gone == ("a.md",)
    assert report.left_out == (LeftOut(path="a.md", why="it is not text, or not in UTF-8"),)
    assert told(hf)[-1].payload["why"] == "refused"


def test_a_document_that_cannot_be_read_just_now_stays_in_use(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(hf, "a.md", "one")
    hf.documents.add("a.md")
    place, real = os.path.realpath(file), os.open

    def refuse(path: str, *more: int, **named: int) -> int:
        if path == place:
            raise PermissionError(13, "Permission denied")
        return real(path, *more, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        report = hf.documents.refresh()
    assert [one.passing for one in report.left_out] == [True]
    assert [one.path for one in hf.documents.list()] == ["a.md"]


def test_a_root_that_is_not_there_ends_nothing(hf: Holdfast) -> None:
    write(hf, "a.md", "one")
    hf.documents.add("a.md")
    root = Path(hf.project.root)
    root.rename(root.with_name("moved"))
    with pytest.raises(NotFound, match="there is no folder"):
        hf.documents.refresh()
    assert len(told(hf)) == 1
    assert hf.documents.refresh(root=root.with_name("moved")).unchanged == ("a.md",)


def test_the_data_of_holdfast_itself_is_no_document(tmp_path: Path) -> None:
    with project(tmp_path) as first:
        root = Path(first.project.root)
    with holdfast.open(root / "data", path=root) as hf:
        write(hf, "a.md", "one")
        report = hf.documents.add(".")
        assert report.added == ("a.md",)
        assert {one.why for one in report.left_out} == {"it is part of Holdfast's own data"}


def test_secrets_are_redacted_and_every_line_stays_where_it_is(hf: Holdfast) -> None:
    text = f"# Setup\n\ntoken: ghp_{'aB3' * 12}\n\n{KEY}\n\n{KEY}\nafter the keys\n"
    write(hf, "a.md", text)
    hf.documents.add("a.md")
    (event,) = told(hf)
    assert "ghp_" not in event.text
    assert "MIIE" not in event.text
    assert event.text.count("[redacted:private-key:") == 2
    rows = event.text.split("\n")
    assert len(rows) == len(text.split("\n"))
    assert rows.index("after the keys") == text.split("\n").index("after the keys")
    assert event.payload["sha256"] == sha256(text.encode()).hexdigest()
    assert hf.documents.refresh().unchanged == ("a.md",)


def test_a_name_that_looks_like_a_secret_is_left_out(hf: Holdfast) -> None:
    write(hf, f"ghp_{'aB3' * 12}.md", "text")
    report = hf.documents.add("*.md")
    assert [one.why for one in report.left_out] == ["its name looks like a secret"]
    assert told(hf) == []


def test_limits_leave_a_file_out_and_say_so(hf: Holdfast) -> None:
    write(hf, "a.md", "x" * 2_000)
    record = msgspec.structs.replace(hf.settings.record, payload_bytes=1_000)
    recall = msgspec.structs.replace(hf.settings.recall, document_bytes=1_500)
    hf.settings = msgspec.structs.replace(hf.settings, record=record)
    assert "record.payload_bytes" in hf.documents.add("a.md").left_out[0].why
    hf.settings = msgspec.structs.replace(hf.settings, recall=recall)
    assert "recall.document_bytes" in hf.documents.add("a.md").left_out[0].why
    assert told(hf) == []


def test_lines_end_in_one_way_whatever_the_file_does(hf: Holdfast) -> None:
    file = write(hf, "a.md", "")
    file.write_bytes(b"# A\r\n\r\none\r\ntwo\n")
    hf.documents.add("a.md")
    (event,) = told(hf)
    assert (event.text, event.payload["lines"]) == ("# A\n\none\ntwo\n", 4)
    assert event.payload["sha256"] == sha256(file.read_bytes()).hexdigest()
    assert hf.documents.refresh().unchanged == ("a.md",)


def test_what_the_project_ignores_is_read_only_when_it_is_named(hf: Holdfast) -> None:
    write(hf, ".gitignore", "build/\n*.log\n")
    for name in ("a.md", "b.log", "build/c.md"):
        write(hf, name, "text")
    assert hf.documents.add(".").added == ("a.md",)
    assert hf.documents.add(["b.log", "build"]).added == ("b.log", "build/c.md")


# ---- long texts, rebuilding, damage ------------------------------------------------------------


def test_a_long_document_is_kept_and_read_back_whole(hf: Holdfast) -> None:
    text = "".join(f"Line {n} of a very long document.\n" for n in range(8_000))
    write(hf, "long.txt", text)
    hf.documents.add("long.txt")
    (event,) = told(hf)
    assert len(event.text) < len(text)
    assert whole(event, hf.log, hf.library.tell) == text
    (info,) = hf.documents.list()
    assert (info.lines, info.sha256) == (8_000, sha256(text.encode()).hexdigest())


def test_rebuilding_brings_everything_back(hf: Holdfast) -> None:
    write(hf, "docs/a.md", "one")
    write(hf, "docs/b.md", "two")
    hf.documents.add("docs/*.md")
    write(hf, "docs/a.md", "changed")
    hf.documents.refresh()
    hf.documents.remove("docs/b.md")
    before, state = (hf.documents.list(), hf.documents.patterns()), hf.state_hash()
    assert hf.rebuild() == state
    assert (hf.documents.list(), hf.documents.patterns()) == before
    assert hf.documents.refresh() == DocumentReport(unchanged=("docs/a.md",))


@pytest.mark.parametrize(
    "payload",
    [
        {"path": "a.md", "sha256": "0" * 64, "pattern": "a.md"},
        {"path": 3, "text": "x"},
        {"path": "a.md", "text": ["x"]},
        {"pattern": None},
        {"path": "x" * 2_000, "text": "x"},
        {},
    ],
)
def test_an_event_that_says_nothing_usable_changes_nothing(hf: Holdfast, payload: object) -> None:
    write(hf, "b.md", "one")
    hf.documents.add("b.md")
    before = (hf.documents.list(), hf.documents.patterns())
    hf.record([Draft(type="document_indexed", payload=payload, origin="document")])  # type: ignore[arg-type]
    assert (hf.documents.list(), hf.documents.patterns()) == before


@pytest.mark.parametrize("origin", ["user", "agent", "tool", "import", "web"])
def test_only_what_was_read_from_the_project_is_a_document(hf: Holdfast, origin: str) -> None:
    payload = {"path": "a.md", "text": "not what is in that file", "sha256": "x", "pattern": "a.md"}
    hf.record([Draft(type="document_indexed", payload=payload, origin=origin)])
    assert hf.documents.list() == []
    assert not hf.recall("not what is in that file", min_relevance=0)


# ---- asking wrongly ----------------------------------------------------------------------------


def test_nothing_that_matches_is_an_error_that_says_where_it_was_looked(hf: Holdfast) -> None:
    with pytest.raises(NotFound) as said:
        hf.documents.add(["nowhere/*.md", "missing.md"])
    assert "nowhere/*.md, missing.md" in str(said.value)
    assert hf.project.root in str(said.value)
    write(hf, "a.md", "one")
    assert hf.documents.add(["a.md", "missing.md"]).unmatched == ("missing.md",)
    assert hf.documents.patterns() == ["a.md"]


@pytest.mark.parametrize("patterns", [[], "", [""], 3, None])
def test_no_pattern_at_all_is_refused(hf: Holdfast, patterns: object) -> None:
    with pytest.raises(Invalid):
        hf.documents.add(patterns)  # type: ignore[arg-type]


def test_a_project_opened_by_its_id_says_that_it_has_no_folder(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one")
    with holdfast.open(tmp_path / "home", project="p") as hf:
        with pytest.raises(Invalid, match="opened by its id"):
            hf.documents.add("a.md")
        assert hf.documents.add("a.md", root=tmp_path).added == ("a.md",)


def test_progress_counts_files(hf: Holdfast) -> None:
    for n in range(3):
        write(hf, f"{n}.md", "x")
    seen: list[int] = []
    hf.documents.add("*.md", progress=seen.append)
    assert seen == [1, 2, 3]
