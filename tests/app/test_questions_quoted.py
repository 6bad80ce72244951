"""The message whose words a question is, found whatever became of the search index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.app.quoting import said_as
from holdfast.errors import NotFound
from holdfast.text.spoken import bodies_of
from tests.app.test_cold import talk
from tests.recall.replays import Ticking

QUESTION = "What does Xylophonia say about the zebra crossing number 3?"
LONG = "It is longer. " * 16_000


@pytest.fixture
def hf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[holdfast.Holdfast]:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    with opened(tmp_path) as made:
        yield made


def opened(folder: Path) -> holdfast.Holdfast:
    return holdfast.open(folder / "home", project="p", user="ana", now=Ticking())


def without_index(hf: holdfast.Holdfast, folder: Path) -> holdfast.Holdfast:
    """The same project, where no index can be opened or made."""
    hf.close()
    for file in Path(hf.folder).glob("index.db*"):
        file.unlink()
    in_its_place = Path(hf.folder) / "index.db"
    in_its_place.mkdir()
    (in_its_place / "something").touch()
    return opened(folder)


@pytest.mark.parametrize("text", [QUESTION, QUESTION + LONG])
@pytest.mark.parametrize(("before", "behind"), [("", ""), ("", "\n\n"), (" \n", ""), ("", " ")])
def test_space_around_a_message_is_no_part_of_its_words(
    hf: holdfast.Holdfast, text: str, before: str, behind: str
) -> None:
    s = hf.session(agent="coder", session_id="long").start()
    said = s.user(f"{before}{text.strip()}{behind}")
    s.user(text.strip() + ".")
    for asked in (text.strip(), f"{text.strip()}\n", f"{before}{text.strip()}{behind}"):
        assert said_as(s, (), asked) == said.event_id


def test_a_long_message_whose_body_is_lost_is_found_as_it_was_said(hf: holdfast.Holdfast) -> None:
    s = hf.session(agent="coder", session_id="long").start()
    said = s.user(QUESTION + LONG.strip())
    (body,) = bodies_of(said).values()
    for file in Path(hf.folder).rglob(f"*{body}*"):
        file.unlink()
    with pytest.raises(NotFound):
        list(hf.blobs.read(body))
    assert said_as(s, (), QUESTION + LONG) == said.event_id


@pytest.mark.parametrize("more", ["", LONG])
def test_without_an_index_a_question_names_its_message(
    hf: holdfast.Holdfast, tmp_path: Path, more: str
) -> None:
    s = hf.session(agent="coder", session_id="long").start()
    s.user(QUESTION + more)
    asked = s.user(QUESTION + more)
    talk(s)
    s.compact("database indexes", to=600)
    chunk = hf.cold.list("long")[-1].id
    with without_index(hf, tmp_path) as later:
        s = later.session(agent="coder", session_id="long")
        assert said_as(s, (), "nobody said this") == ""
        assert s.recover(chunk, prompt=QUESTION + more).chunk.recovered
        talk(s)
        assert s.compact(QUESTION + more, to=600) is not None
        named = [one.kind for one in later.events() if asked.event_id in one.sources]
        assert {"chunk_recovered", "compacted"} <= set(named)
        assert [one for one in later.notices if "found without the index" in one]
