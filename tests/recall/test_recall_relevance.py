"""The right thing first: questions a developer asks, about six weeks of a project's history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.model.recall import Found
from tests.recall.project_history import MEMORIES, written
from tests.recall.replays import Ticking

Holdfast = holdfast.Holdfast

#: a question, and the names of what answers it; where two do, both come within the first two
QUESTIONS = [
    ("why did we drop JWT?", ("jwt-out",)),
    ("how did we fix the ECONNRESET in the uploader?", ("fix1",)),
    ("what caused the deadlock in the migration?", ("deadlock",)),
    ("why did we choose MinIO?", ("minio",)),
    ("TS2345 in web/share.ts", ("ts-fix", "ts2345")),
    ("why was invoice 9001 sent twice?", ("twice",)),
    ("what is the staging host?", ("staging host",)),
    ("do we run a search engine for full-text search?", ("tsvector",)),
    ("how are objects named in the store?", ("hash-names",)),
    ("which package manager?", ("package manager",)),
]
#: the same where meaning is needed: the answer says it in other words, or a decision beside it has
#: borrowed its words and only meaning tells the two apart
BY_MEANING = [
    ("which file holds the retry logic?", ("retry-file",)),
    ("which version of PostgreSQL do we use?", ("postgres",)),
    ("what was the problem when the build complained about a null locale?", ("ts2345",)),
]


@pytest.fixture(scope="module", params=["static", "none"])
def told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Holdfast, dict[str, str]]]:
    """The whole history, once for each embedder."""
    clock = Ticking()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("HOLDFAST_EMBEDDER", request.param)
        home = tmp_path_factory.mktemp("home")
        with holdfast.open(home, project="p", user="ana", now=clock) as hf:
            yield hf, written(hf, clock)


def said(found: Found) -> str:
    """An answer to look at when it is not the right one."""
    return "\n".join(f"{hit.score:.4f} {hit.text}" for hit in found)


def test_there_is_enough_to_be_wrong_about(told: tuple[Holdfast, dict[str, str]]) -> None:
    hf, _ = told
    assert sum(event.kind != "session_ended" for event in hf.events()) >= 150
    assert len(hf.list()) == len(MEMORIES) == 25


@pytest.mark.parametrize(("question", "right"), QUESTIONS)
def test_what_answers_the_question_comes_first(
    told: tuple[Holdfast, dict[str, str]], question: str, right: tuple[str, ...]
) -> None:
    hf, named = told
    found = hf.recall(question)
    assert found.confidence > 0.3
    first = {hit.id for hit in found[: len(right)]}
    assert first == {named[name] for name in right}, said(found)


@pytest.mark.parametrize(("question", "right"), BY_MEANING)
def test_what_takes_meaning_to_tell_apart_comes_first_with_vectors(
    told: tuple[Holdfast, dict[str, str]], question: str, right: tuple[str, ...]
) -> None:
    hf, named = told
    if hf.settings.embed.embedder == "none":
        assert named[right[0]] in [hit.id for hit in hf.recall(question)]
        return
    found = hf.recall(question)
    assert found[0].id == named[right[0]], said(found)


def test_an_answer_comes_before_the_question_it_answers(
    told: tuple[Holdfast, dict[str, str]],
) -> None:
    """Whoever asks again what was asked before wants what was decided, not the question."""
    hf, named = told
    found = hf.recall("how are taxes rounded?")
    assert found[0].id == named["rounding"], said(found)


def test_in_a_young_project_an_article_does_not_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among four memories "the" is rare, and means as little as ever."""
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as hf:
        for text in ("The cat sat on the mat", "We eat lunch at noon", "Payments failed today"):
            hf.remember(text)
        wanted = hf.remember("Our physician prescribed new medicine").id
        found = hf.recall("what did the doctor give us?", min_relevance=0)
        assert found[0].id == wanted, said(found)


@pytest.mark.parametrize(
    "question", ["who won the chess tournament in Reykjavik?", "recipe for sourdough pancakes"]
)
def test_what_nobody_ever_spoke_of_is_answered_with_little_confidence(
    told: tuple[Holdfast, dict[str, str]], question: str
) -> None:
    hf, _ = told
    known = [hf.recall(one).confidence for one, _ in QUESTIONS]
    assert hf.recall(question).confidence < min(known)


def test_a_hit_names_what_belongs_to_it(told: tuple[Holdfast, dict[str, str]]) -> None:
    hf, named = told
    (best, *_) = hf.recall("how did we fix the ECONNRESET in the uploader?")
    assert best.id == named["fix1"]
    assert named["reset"] in best.related


# ---- open threads -------------------------------------------------------------------------------


@pytest.mark.parametrize("embedder", ["static", "none"])
def test_an_error_that_is_still_open_ranks_above_one_that_was_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: str
) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", embedder)
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as hf:
        for name, settled in (("one", True), ("two", False), ("three", True)):
            s = hf.session(agent="coder", session_id=name)
            s.user("please run the thumbnail worker")
            s.error("thumbnail worker out of memory", event_id=f"evt-{name}")
            s.decision("let us see", sources=(f"evt-{name}",) if settled else ())
        found = hf.recall("thumbnail worker out of memory", min_relevance=0)
        errors = [hit for hit in found if hit.event is not None and hit.event.kind == "error"]
        assert errors[0].id == "evt-two", said(found)
        assert errors[0].parts["open"] > 0
        assert all("open" not in hit.parts for hit in errors[1:])
        hf.session(agent="coder", session_id="two").decision("fixed", sources=("evt-two",))
        errors = [hit for hit in hf.recall("thumbnail worker") if hit.id.startswith("evt-")]
        assert len(errors) == 3
        assert all("open" not in hit.parts for hit in errors)


def test_a_failed_gate_and_an_unanswered_question_are_open(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana", now=Ticking()) as hf:
        s = hf.session(agent="coder", session_id="one")
        s.gate(3, passed=False, note="coverage of the parser too low", event_id="evt-gate")
        s.user("what is the coverage of the parser?", event_id="evt-asked")
        found = hf.recall("coverage of the parser", min_relevance=0)
        assert {hit.id for hit in found if hit.parts.get("open", 0) > 0} == {
            "evt-gate",
            "evt-asked",
        }
        s.assistant("the coverage of the parser is 71 percent")
        s.gate(3, passed=True)
        found = hf.recall("coverage of the parser", min_relevance=0)
        assert not [hit.id for hit in found if "open" in hit.parts]


def test_a_decision_says_that_it_is_one(told: tuple[Holdfast, dict[str, str]]) -> None:
    hf, named = told
    hits = {hit.id: hit for hit in hf.recall("why did we drop JWT?")}
    assert hits[named["jwt-out"]].parts["decision"] > 0


def test_an_open_error_in_the_history_is_marked(told: tuple[Holdfast, dict[str, str]]) -> None:
    hf, named = told
    found = hf.recall("thumbnail worker killed out of memory PDF")
    assert found[0].id == named["oom"], said(found)
    assert found[0].parts["open"] > 0
