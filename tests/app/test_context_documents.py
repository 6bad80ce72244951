"""Documents in contexts: cited by file and line, taken back when the file says something else."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.model.packs import Pack
from tests.app.conversations import lasting, taken
from tests.documents.projects import Holdfast, project, told, write
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking

QUERY = "How long are old segments kept before retention drops them?"
FIRST = """# Guide

What this is about, in a few words that make a paragraph of their own, long enough to stand alone. It
says nothing about the subject of any question below, at some length, to be a part of its own here.

## Retention

Old segments are kept for ninety days before retention drops them, and the folded state is written as a
baseline before that. What was dropped cannot be replayed any more; everything else can, as often as one
likes.
"""
SECOND = FIRST.replace("ninety", "thirty")


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


@pytest.fixture
def hf(tmp_path: Path) -> Iterator[Holdfast]:
    with project(tmp_path, Ticking()) as opened:
        write(opened, "docs/guide.md", FIRST)
        opened.documents.add("docs")
        yield opened


def test_a_part_is_cited_by_its_file_and_lines(hf: Holdfast) -> None:
    s = hf.session(agent="coder").start()
    s.user(QUERY)
    pack = s.context(QUERY)
    (line,) = [one for one in pack.text.split("\n") if "docs/guide.md:6-10" in one]
    assert "ninety days" in pack.sections["relevant"].partition(line)[2]
    assert {one.kind for one in taken(pack)} == {"document"}


@pytest.mark.parametrize("then", [SECOND, None])
def test_what_a_file_says_no_longer_is_taken_back_at_the_end(
    hf: Holdfast, then: str | None
) -> None:
    s = hf.session(agent="coder").start()
    s.user(QUERY)
    before = s.context(QUERY)
    (part,) = [one for one in taken(before) if one.id.endswith(":6-10")]
    s.assistant("I will look.")
    s.user("And now?")
    if then is None:
        (Path(hf.project.root) / "docs/guide.md").unlink()
    else:
        write(hf, "docs/guide.md", then)
    after = s.context(QUERY)
    assert after.receipt.epoch == before.receipt.epoch
    assert after.text.startswith(lasting(before))
    added = after.text.removeprefix(lasting(before))
    assert f"[{part.number}] no longer holds" in added
    assert ("thirty days" in added) == (then is not None)
    assert "ninety days" not in added
    again = s.context(QUERY)
    assert taken(again) == []
    assert "no longer holds" in again.text


def test_a_new_epoch_shows_only_what_the_files_say(hf: Holdfast) -> None:
    s = hf.session(agent="coder").start()
    s.user(QUERY)
    assert "ninety days" in s.context(QUERY).text
    write(hf, "docs/guide.md", SECOND)
    anew = s.context(QUERY, budget=4_000)
    assert "thirty days" in anew.text
    assert "ninety days" not in anew.text


def test_another_session_is_not_told_what_was_taken_back(hf: Holdfast) -> None:
    hf.session(agent="coder").start().context(QUERY)
    (Path(hf.project.root) / "docs/guide.md").unlink()
    pack = hf.session(agent="coder").start().context(QUERY)
    assert "ninety" not in pack.text
    assert "guide.md" not in pack.text


# ---- again ---------------------------------------------------------------------------------------

texts = st.sampled_from(
    [FIRST, SECOND, FIRST.replace("Guide", "Book"), "", "Retention of segments."]
)
files = st.sampled_from(["docs/guide.md", "docs/more.md"])
changes = st.lists(st.tuples(files, st.none() | texts), min_size=1, max_size=6)


@settings(max_examples=examples(15), phases=AS_FOUND)
@given(changes)
def test_a_context_is_rendered_again_whatever_became_of_its_files(
    happened: list[tuple[str, str | None]],
) -> None:
    with tempfile.TemporaryDirectory() as place, project(Path(place), Ticking()) as hf:
        write(hf, "docs/guide.md", FIRST)
        hf.documents.add("docs")
        s, packs = hf.session(agent="coder").start(), list[Pack]()
        for name, text in happened:
            s.user(QUERY)
            packs.append(s.context(QUERY))
            if text is None:
                (Path(hf.project.root) / name).unlink(missing_ok=True)
            else:
                write(hf, name, text)
            s.assistant("So it is.")
        packs.append(s.context(QUERY))
        for before, after in pairwise(packs):
            if before.receipt.epoch == after.receipt.epoch:
                assert after.text.startswith(lasting(before))
        events = len(told(hf))
        assert [hf.replay(pack.id).text for pack in packs] == [pack.text for pack in packs]
        hf.rebuild()
        assert [hf.replay(pack.id).text for pack in packs] == [pack.text for pack in packs]
        assert len(told(hf)) == events


def test_asking_again_as_things_stood_does_not_look_at_the_files(hf: Holdfast) -> None:
    s = hf.session(agent="coder").start()
    s.user(QUERY)
    pack = s.context(QUERY)
    write(hf, "docs/guide.md", SECOND)
    write(hf, "docs/new.md", SECOND)
    again = hf.replay(pack.id, requery=True)
    assert again.text == pack.text
    assert len(told(hf)) == 1


def test_a_file_that_changed_while_nobody_looked_is_corrected_by_another_process(
    hf: Holdfast,
) -> None:
    s = hf.session(agent="coder").start()
    s.user(QUERY)
    before = s.context(QUERY)
    s.assistant("So it is.")
    (Path(hf.project.root) / "docs/guide.md").unlink()
    with holdfast.open(hf.settings.home, path=hf.project.root, user="ana", now=Ticking()) as other:
        after = other.session(agent="coder", session_id=s.id).context(QUERY)
    assert "no longer holds" in after.text.removeprefix(lasting(before))
