"""Memories as their users know them: learned, found again, revised, forgotten, merged, used."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import aio
from holdfast.errors import Conflict, Invalid, Limit, NotFound
from holdfast.model.memories import Artifact, Memory
from holdfast.model.sessions import Restored

DAY = 86_400_000
START = 1_772_000_000_000
Holdfast = holdfast.Holdfast


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.ms = START

    def __call__(self) -> int:
        return self.ms

    def at(self, days: float) -> str:
        moment = datetime.fromtimestamp(START / 1000, UTC) + timedelta(days=days)
        return moment.isoformat()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hf(tmp_path: Path, clock: Clock) -> Holdfast:
    return holdfast.open(tmp_path, project="p", user="ana", now=clock)


def ids(memories: list[Memory]) -> list[str]:
    return [memory.id for memory in memories]


# ---- learning -----------------------------------------------------------------------------------


def test_what_was_remembered_is_there_with_all_that_was_said(hf: Holdfast, tmp_path: Path) -> None:
    event = hf.record([holdfast.Draft(type="user_message", payload={"text": "x"}, origin="user")])
    said = hf.remember(
        "The team uses PostgreSQL because of its JSON support.",
        kind="fact",
        category="rules",
        subject="billing",
        key="database",
        value="PostgreSQL",
        applies_to="backend",
        title="Which database",
        tags=["infra", "db", "infra"],
        importance=0.9,
        confidence=0.7,
        source_type="bootstrap",
        sources=[event[0].event_id],
        valid_from="2020-01-01T00:00:00+02:00",
        expires_at="2099-01-01T00:00:00Z",
        artifacts=["commit:abc", "pr:12", "ADR-012", {"type": "file", "ref": "src/x.py"}],
    )
    with holdfast.open(tmp_path, project="p", user="ana") as again:
        found = again.get(said.id)
    assert found == said
    assert (found.scope, found.user, found.agent, found.session_id) == (
        "project",
        "ana",
        None,
        None,
    )
    assert (found.category, found.subject, found.applies_to) == ("rules", "billing", "backend")
    assert (found.tags, found.importance, found.confidence) == (("infra", "db"), 0.9, 0.7)
    assert (found.sources, found.trust, found.origin) == ((event[0].event_id,), 3, "user")
    assert (found.valid_from, found.valid_to) == ("2019-12-31T22:00:00.000Z", None)
    assert found.artifacts == (
        Artifact(type="commit", ref="abc"),
        Artifact(type="pr", ref="12"),
        Artifact(type="adr", ref="ADR-012"),
        Artifact(type="file", ref="src/x.py"),
    )
    levels = [found.text, found.summary, found.compressed, found.index]
    assert levels == sorted(levels, key=len, reverse=True)
    assert all(levels)


def test_each_kind_has_its_category(hf: Holdfast) -> None:
    made = {
        kind: hf.remember(f"a {kind}", kind=kind).category
        for kind in ("fact", "episode", "pattern", "workflow")
    }
    assert made == {
        "fact": "facts",
        "episode": "context",
        "pattern": "skills",
        "workflow": "skills",
    }


def test_a_key_and_a_value_or_steps_are_words_enough(hf: Holdfast) -> None:
    assert hf.remember(key="port", value=8080).text == "port: 8080"
    assert hf.remember(key="cache", value=True).value == "true"
    steps = hf.remember(kind="workflow", trigger="deploy", steps=["test", "build", "test"])
    assert (steps.text, steps.steps) == ("deploy: test → build → test", ("test", "build", "test"))
    for nothing in ({}, {"text": ""}, {"text": " \n"}, {"key": "k"}, {"value": "v"}):
        with pytest.raises(Invalid, match="text"):
            hf.remember(**nothing)


def test_words_of_older_systems_are_understood(hf: Holdfast) -> None:
    event = hf.record([holdfast.Draft(type="user_message", payload={"text": "x"}, origin="user")])
    one = hf.remember(
        content="x", type="episode", scope="project-shared", lineage=[event[0].event_id]
    )
    assert (one.text, one.kind, one.scope) == ("x", "episode", "project")
    assert one.sources == (event[0].event_id,)
    assert hf.remember("y", scope="user-private").scope == "user"
    assert hf.remember("z", scope="app").scope == "project"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"colour": "red"}, "colour.*importance"),
        ({"content": "x", "text": "y"}, "give one of them"),
        ({"kind": "rumour"}, "fact, episode, pattern, workflow"),
        ({"category": "x"}, "facts, preferences"),
        ({"scope": "planet"}, "session, user, project, system"),
        ({"scope": "session"}, "Session.remember"),
        ({"scope": 5}, "scope"),
        ({"importance": 2}, "0 to 1"),
        ({"importance": True}, "0 to 1"),
        ({"confidence": "high"}, "0 to 1"),
        ({"tags": "infra"}, "list"),
        ({"tags": [5]}, "text"),
        ({"tags": {"a": 1}}, "list"),
        ({"steps": "test"}, "list"),
        ({"key": 5}, "key is a text"),
        ({"value": ["x"]}, "value is a text"),
        ({"valid_to": "soon"}, "not a time"),
        ({"expires_at": "2026-01-01T00:00:00"}, "time zone"),
        ({"valid_from": "2026-01-02T00:00:00Z", "valid_to": "2026-01-01T00:00:00Z"}, "later"),
        ({"artifacts": ["abc"]}, "commit:"),
        ({"artifacts": "commit:abc"}, "list"),
        ({"artifacts": [{"type": "commit"}]}, "not an artifact"),
        ({"sources": "evt_1"}, "list"),
        ({"sources": 5}, "sources"),
        ({"supersedes": "evt_1"}, "mem_"),
        ({"source_type": "dream"}, "explicit"),
        ({"user": ""}, "user"),
        ({"user": "*"}, "user"),
        ({"user": 5}, "user"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_would(
    hf: Holdfast, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(Invalid, match=words):
        hf.remember(**{"text": "x", **fields})
    assert list(hf.events()) == []


def test_what_is_too_long_for_a_memory_is_refused(hf: Holdfast) -> None:
    for fields in ({"text": "x" * 70_000}, {"key": "x" * 201}, {"tags": ["x"] * 51}):
        with pytest.raises(Limit, match="most for a memory"):
            hf.remember(**{"text": "x", **fields})  # type: ignore[arg-type]
    assert hf.remember("x" * 65_536).text == "x" * 65_536


def test_a_secret_is_gone_before_levels_are_cut_out_of_a_text(hf: Holdfast) -> None:
    secret = "hunter2horse"
    for kind in ("fact", "episode", "pattern", "workflow"):
        text = f"We connect with postgres://admin:{secret}@db.internal/prod every night."
        made = hf.remember(text, kind=kind, steps=[text])
        assert "db.internal" in made.text
        hf.revise(made.id, text=f"Now with mysql://root:{secret}@db.internal/prod at noon.")
    assert all(secret[:5] not in event.words for event in hf.events())


def test_a_value_that_is_a_secret_by_its_name_is_not_kept(hf: Holdfast) -> None:
    for key in ("DB_PASSWORD", "password"):
        made = hf.remember(f"The {key} was rotated", key=key, value="correcthorsebattery7")
        assert (made.key, "redacted" in made.value) == (key, True)
    assert hf.remember(key="port", value="8080").value == "8080"
    assert all("correcthorse" not in event.words for event in hf.events())


def test_many_at_once_are_one_batch(hf: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[int] = []
    record = hf._recorder.record

    def counted(drafts: Any) -> Any:
        batches.append(len(drafts))
        return record(drafts)

    monkeypatch.setattr(hf._recorder, "record", counted)
    made = hf.remember_all(
        [{"text": "one"}, {"key": "db", "value": "a"}, {"key": "db", "value": "b"}, {"text": "two"}]
    )
    assert batches == [5]
    assert [memory.text for memory in made] == ["one", "db: a", "db: b", "two"]
    assert (made[1].superseded_by, made[2].supersedes) == (made[2].id, (made[1].id,))
    assert hf.remember_all([]) == []
    for wrong in ("text", [{"text": "x"}, "y"], [{"text": "x"}, {"colour": 1}], {"text": "x"}):
        with pytest.raises(Invalid):
            hf.remember_all(wrong)  # type: ignore[arg-type]
    assert len(hf.list()) == 3


def test_an_id_of_the_caller_s_own_makes_a_retry_harmless(hf: Holdfast) -> None:
    cases: list[dict[str, Any]] = [
        {"text": "x"},
        {"key": "k", "value": "v"},
        {"text": "y", "scope": "user"},
    ]
    for n, fields in enumerate(cases):
        made = hf.remember(**fields, event_id=f"own-{n}")
        assert hf.remember(**fields, event_id=f"own-{n}") == made
        with pytest.raises(Conflict, match="something else"):
            hf.remember(**{**fields, "text": "other"}, event_id=f"own-{n}")
    again = hf.remember(key="k", value="v", event_id="own-again")
    assert hf.remember(key="k", value="v", event_id="own-again") == again
    with pytest.raises(Conflict, match="something else"):
        hf.remember("x", event_id="own-0", user="ben")
    assert len(hf.list()) == 3


# ---- finding again ------------------------------------------------------------------------------


def test_memories_are_listed_the_newest_first(hf: Holdfast, clock: Clock) -> None:
    made = []
    for n in range(4):
        clock.ms = START + n // 2 * DAY
        made.append(hf.remember(f"memory {n}", tags=["even"] if n % 2 == 0 else ["odd", "x"]))
    newest = sorted(ids(made[2:])) + sorted(ids(made[:2]))
    assert ids(hf.list()) == newest
    assert ids(hf.list(limit=3)) == newest[:3]
    assert set(ids(hf.list(tags=["odd"]))) == {made[1].id, made[3].id}
    assert ids(hf.list(tags=["odd", "even"])) == []


def test_memories_are_listed_by_what_they_are(hf: Holdfast) -> None:
    fact = hf.remember(key="Indent", value="tabs", applies_to="Go", category="preferences")
    flow = hf.remember("deploy", kind="workflow")
    mine = hf.remember("mine", scope="user")
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"kind": "fact", "scope": "project"}, [fact.id]),
        ({"category": "skills"}, [flow.id]),
        ({"key": " indent "}, [fact.id]),
        ({"applies_to": "go"}, [fact.id]),
        ({"scope": "user"}, [mine.id]),
        ({"scope": "user-private"}, [mine.id]),
        ({"scope": "system"}, []),
    ]
    for wanted, found in cases:
        assert ids(hf.list(**wanted)) == found, wanted
    assert set(ids(hf.list(scope="all"))) == {fact.id, flow.id, mine.id}
    for wrong in (
        {"colour": 1},
        {"kind": "x"},
        {"state": "gone"},
        {"limit": 0},
        {"limit": True},
        {"tags": "odd"},
        {"scope": ""},
        {"user": "*"},
        {"agent": ""},
        {"as_of": "then"},
    ):
        with pytest.raises(Invalid):
            hf.list(**wrong)


def test_memories_are_listed_by_how_they_stand(hf: Holdfast, clock: Clock) -> None:
    old = hf.remember(key="db", value="a")
    new = hf.remember(key="db", value="b")
    gone = hf.remember("gone")
    hf.forget(gone.id, reason="wrong")
    over = hf.remember("over", expires_at=clock.at(1))
    past = hf.remember("past", valid_to=clock.at(1))
    coming = hf.remember("coming", valid_from=clock.at(3))
    clock.ms = START + 2 * DAY
    assert ids(hf.list()) == [new.id]
    assert ids(hf.list(state="superseded")) == [old.id]
    assert ids(hf.list(state="forgotten")) == [gone.id]
    assert set(ids(hf.list(state="expired"))) == {over.id, past.id}
    assert len(hf.list(state="all")) == 6
    clock.ms = START + 3 * DAY
    assert set(ids(hf.list())) == {new.id, coming.id}
    assert set(ids(hf.list(as_of=clock.at(0)))) == {new.id, over.id, past.id}
    assert set(ids(hf.list(as_of=clock.at(-1), state="all"))) == set()


def test_time_stands_still_a_month_after_the_last_event(hf: Holdfast, clock: Clock) -> None:
    """A clock that jumped lets nothing more run out; what had run out by then stays so."""
    kept = hf.remember("holds for a while", expires_at=clock.at(40))
    over = hf.remember("holds for a few days", expires_at=clock.at(20))
    for days in (21, 31, 3_650):
        clock.ms = START + days * DAY
        assert ids(hf.list()) == [kept.id]
        assert ids(hf.list(state="expired")) == [over.id]
    hf.remember("somebody is there")
    assert kept.id not in ids(hf.list())


def test_a_memory_can_be_seen_as_it_was(hf: Holdfast, clock: Clock) -> None:
    made = hf.remember("first", tags=["a"], at=clock.at(0))
    clock.ms = START + DAY
    hf.revise(made.id, text="second", tags=["b"])
    clock.ms = START + 2 * DAY
    hf.forget(made.id, reason="enough")
    then = hf.get(made.id, as_of=clock.at(0.5))
    assert (then.text, then.tags, then.revision, then.forgotten_at) == ("first", ("a",), 0, None)
    assert hf.get(made.id, as_of=datetime.fromisoformat(clock.at(1.5))).text == "second"
    assert hf.get(made.id).forgotten_because == "enough"
    with pytest.raises(NotFound, match=made.id):
        hf.get(made.id, as_of=clock.at(-1))
    assert [memory.text for memory in hf.list(as_of=clock.at(0.5))] == ["first"]


# ---- changing -----------------------------------------------------------------------------------


def test_a_revised_memory_says_it_at_every_level(hf: Holdfast) -> None:
    made = hf.remember("We deploy on Fridays.", key="deploy day", value="Friday")
    new = hf.revise(made.id, text="We deploy on Mondays.", value="Monday", importance=0.9)
    assert (new.text, new.value, new.importance) == ("We deploy on Mondays.", "Monday", 0.9)
    assert "Friday" not in new.summary + new.compressed + new.index
    assert (new.revision, new.trust, new.history[-1].what) == (1, 3, "revised")
    assert hf.revise(made.id, text="We deploy on Mondays.") == new
    worded = hf.revise(made.id, summary="Mondays")
    assert (worded.summary, worded.text) == ("Mondays", new.text)
    empty = hf.revise(made.id, tags=[], value=None, key=None)
    assert (empty.key, empty.value, empty.text) == ("", "", new.text)
    for wrong in ({"scope": "user"}, {"text": None}, {"kind": None}, {"colour": 1}, {"text": " "}):
        with pytest.raises(Invalid):
            hf.revise(made.id, **wrong)
    assert hf.get(made.id) == empty


def test_what_was_forgotten_comes_back(hf: Holdfast) -> None:
    made = hf.remember("the key is under the mat")
    gone = hf.forget(made.id, reason="it was moved")
    assert (gone.forgotten_because, gone.forgotten_at is not None) == ("it was moved", True)
    assert hf.forget(made.id, reason="again") == gone
    assert hf.list() == []
    back = hf.restore(made.id)
    assert (back.forgotten_at, back.forgotten_because, back.text) == (None, None, made.text)
    assert ids(hf.list()) == [made.id]
    assert hf.restore(made.id) == back
    for nothing in ("", " ", None, 5):
        with pytest.raises(Invalid):
            hf.forget(made.id, reason=nothing)  # type: ignore[arg-type]


def test_restore_still_gives_sessions(hf: Holdfast) -> None:
    with hf.session(agent="coder", session_id="mem_of_mine") as s:
        s.user("hello")
    for restored in (hf.restore(), hf.restore(s.id), hf.restore(session_id=s.id, agent="coder")):
        assert isinstance(restored, Restored)
    with pytest.raises(NotFound, match="no memory"):
        hf.restore("mem_" + "0" * 26)


def test_several_memories_become_one(hf: Holdfast) -> None:
    with hf.session(agent="coder") as s:
        tool = s.tool_result("Bash", "tabs")
        one = hf.remember("uses tabs", tags=["a"], confidence=0.5)
        two = s.remember("indents with tabs", tags=["b"], confidence=0.5, importance=0.9)
        three = s.remember("tabs it is", sources=[tool.event_id], confidence=0.5)
    kept = hf.merge([one.id, two.id, three.id], text="Indents with tabs.")
    assert (kept.id, kept.text, kept.tags) == (one.id, "Indents with tabs.", ("a", "b"))
    assert (kept.confidence, kept.importance, kept.trust) == (0.875, 0.9, 1)
    assert len(kept.sources) == 2
    assert {hf.get(other.id).merged_into for other in (two, three)} == {kept.id}
    assert ids(hf.list()) == [kept.id]
    assert hf.restore(two.id).merged_into is None
    user = hf.remember("mine", scope="user")
    for wrong in ([one.id], [one.id, one.id], [one.id, user.id], "mem_a", [], [one.id, "x"]):
        with pytest.raises(Invalid):
            hf.merge(wrong)
    with pytest.raises(Conflict):
        hf.merge([one.id, three.id])


# ---- using --------------------------------------------------------------------------------------


def test_what_came_of_memories_and_events_is_counted(hf: Holdfast) -> None:
    made, mine = hf.remember("x"), hf.remember("y", scope="user")
    with hf.session(agent="coder") as s:
        said = s.user("z")
        told = s.used([made.id, said.event_id, mine.id, made.id], "cited", action="edited a.py")
    assert [event.payload for event in told] == [
        {"cited": [made.id, said.event_id], "action": "edited a.py"},
        {"cited": [mine.id], "action": "edited a.py"},
    ]
    assert {event.origin for event in told} == {"agent"}
    hf.used(made.id, "useful")
    hf.used([made.id], "wrong", user="ben")
    usage = hf.get(made.id).usage
    assert (usage.cited, usage.useful, usage.wrong, usage.ignored) == (1, 1, 1, 0)
    assert hf.get(mine.id).usage.cited == 1
    for wrong in ([], "", ["no such id"], [5]):
        with pytest.raises((Invalid, NotFound)):
            hf.used(wrong, "cited")  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="cited"):
        hf.used([made.id], "liked")


def test_async_callers_have_the_same_verbs(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with aio.open(tmp_path, project="p", user="ana") as hf:
            made = await hf.remember("x")
            async with hf.session(agent="coder") as s:
                await s.remember("y", scope="session")
            await hf.forget(made.id, reason="done")
            return [memory.text for memory in await hf.list()]

    assert asyncio.run(work()) == ["y"]
