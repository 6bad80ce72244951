"""Nobody's answer holds, or is other for, what somebody else keeps to themselves."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import holdfast
from holdfast.app.items import Items
from holdfast.app.session import Session
from holdfast.errors import HoldfastError, Invalid
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking, forgotten_index, plain_answer, told_again
from tests.recall.two_people import (
    AGENTS,
    CANARY,
    PRIVATE,
    PROJECTS,
    QUERIES,
    SCOPES,
    Deed,
    answered,
    live,
    lives,
    refused,
    said_whole,
    session_of,
)

Holdfast = holdfast.Holdfast


@pytest.fixture(autouse=True)
def _static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")


@settings(max_examples=examples(12), phases=AS_FOUND)
@given(lives())
def test_an_answer_is_the_same_to_the_last_bit_whether_or_not_somebody_else_is_there(
    done: list[Deed],
) -> None:
    with tempfile.TemporaryDirectory() as place:
        both, alone = Path(place) / "both", Path(place) / "alone"
        with holdfast.open(both, project="p", user="ben", now=Ticking()) as hf:
            live(hf, done)
        forgotten_index(both)  # made in one go, as the other one is
        told_again(both, alone, PROJECTS, lambda event: event.user != "ana")
        with holdfast.open(both, project="p", user="ben", now=Ticking()) as hf:
            beside_ana = answered(hf)
        with holdfast.open(alone, project="p", user="ben", now=Ticking()) as hf:
            by_himself = answered(hf)
    for name, answer in by_himself.items():
        assert beside_ana[name] == answer, name
        assert CANARY not in said_whole(answer).replace(QUERIES[0], ""), name


# ---- every verb ---------------------------------------------------------------------------------


@pytest.fixture
def hf(tmp_path: Path) -> Holdfast:
    """Ana kept something in every private way; Ben said a little."""
    made = holdfast.open(tmp_path / "home", project="p", user="ben", now=Ticking())
    done = [Deed("ana", agent, what, "deploy") for agent in AGENTS for what in PRIVATE]
    done += [Deed("ben", agent, "user", "I deploy on Friday") for agent in AGENTS]
    live(made, done)
    for agent in AGENTS:
        session_of(made, "ana", agent).context("deploy")
    return made


def hers(hf: Holdfast) -> list[str]:
    """The ids of everything that is Ana's."""
    found = [m.id for m in hf.list(user="ana", state="all")]
    found += [item.id for item in hf.items.list(user="ana")]
    return found + [event.event_id for event in hf.events() if event.user == "ana"]


def his_pack(hf: Holdfast) -> str:
    return session_of(hf, "ben", "coder").context("deploy").id


def own(hf: Holdfast) -> str:
    return hf.remember("Ben deploys", user="ben").id


Probe = Callable[[Holdfast, str], Any]
#: every public verb of a project, asked in Ben's name about what is Ana's (the second argument)
OF_A_PROJECT: dict[str, Probe] = {
    "recall": lambda hf, one: [
        hf.recall(f"{CANARY} {one}", 50, user="ben", scope=scope, agent=agent, min_relevance=0)
        for scope in SCOPES
        for agent in (None, "*", *AGENTS)
    ],
    "retrieve_by_tags": lambda hf, one: hf.retrieve_by_tags([CANARY, "work"], 50, user="ben"),
    "tune": lambda hf, one: hf.tune(window=400, quick=True, user="ben"),
    "tell": lambda hf, one: hf.tell("x"),
    "retrieve_recent": lambda hf, one: hf.retrieve_recent(24, 50, user="ben", agent="*"),
    "list": lambda hf, one: [
        hf.list(user="ben", agent=agent, state="all", **more)
        for agent in (None, "*", *AGENTS)
        for more in ({}, {"tags": [CANARY]}, {"scope": "session"}, {"scope": "user"})
    ],
    "get": lambda hf, one: hf.get(one, user="ben", agent="*"),
    "revise": lambda hf, one: hf.revise(one, text="x", user="ben"),
    "forget": lambda hf, one: hf.forget(one, reason="x", user="ben"),
    "merge": lambda hf, one: hf.merge([own(hf), one], user="ben"),
    "trust": lambda hf, one: hf.trust(one, 0, reason="x"),
    "used": lambda hf, one: hf.used([one], "wrong", user="ben"),
    "restore": lambda hf, one: [
        refused(partial(hf.restore, name, user="ben")) for name in (None, one, "ses-ana-coder")
    ],
    "sessions": lambda hf, one: hf.sessions(user="ben", agent="*"),
    "active": lambda hf, one: [hf.active(agent=agent, user="ben") for agent in AGENTS],
    "session": lambda hf, one: hf.session(
        agent="coder", user="ben", session_id="ses-ana-coder"
    ).info(),
    "state": lambda hf, one: [
        refused(partial(hf.state, name, user="ben")) for name in (None, "ses-ana-coder")
    ],
    "status": lambda hf, one: [
        refused(partial(hf.status, name, user="ben")) for name in (None, "ses-ana-coder")
    ],
    "end_session": lambda hf, one: hf.end_session("ses-ana-coder", user="ben"),
    "end_workflow": lambda hf, one: hf.end_workflow("w", user="ben"),
    "remember": lambda hf, one: hf.remember("x", supersedes=one, user="ben"),
    "remember_all": lambda hf, one: hf.remember_all([{"text": "x", "supersedes": one}], user="ben"),
    "replay": lambda hf, one: hf.replay(one, user="ben"),
    "receipt": lambda hf, one: hf.receipt(one, user="ben"),
    "why": lambda hf, one: hf.why(his_pack(hf), one, user="ben"),
    "last_pack": lambda hf, one: hf.last_pack("ses-ana-coder", user="ben"),
    "topics": lambda hf, one: hf.topics(user="ben"),
    "notices": lambda hf, one: hf.notices,
    "logs": lambda hf, one: [log.project.id for log in hf.logs("ben")],
    "counter": lambda hf, one: hf.counter().name,
    "counter_named": lambda hf, one: hf.counter_named("o200k_base").name,
    "index": lambda hf, one: hf.index(),
    "rebuild": lambda hf, one: hf.rebuild(),
    "state_hash": lambda hf, one: hf.state_hash(),
}
#: the same of items
OF_ITEMS: dict[str, Probe] = {
    "save": lambda hf, one: hf.items.save("x", id=one, user="ben", agent="coder"),
    "pin": lambda hf, one: hf.items.pin(one, user="ben"),
    "unpin": lambda hf, one: hf.items.unpin(one, user="ben", agent="coder"),
    "get": lambda hf, one: [
        refused(partial(hf.items.get, one, user="ben", agent=agent))
        for agent in (None, "*", *AGENTS)
    ],
    "list": lambda hf, one: [hf.items.list(user="ben", agent=agent) for agent in (None, *AGENTS)],
    "load": lambda hf, one: [hf.items.load("ALL", user="ben", agent=agent) for agent in AGENTS],
    "accessed": lambda hf, one: hf.items.accessed([one], user="ben", agent="coder"),
    "diff": lambda hf, one: hf.items.diff({}, user="ben", agent="coder"),
    "stats": lambda hf, one: hf.items.stats(user="ben"),
    "update_tiers": lambda hf, one: hf.items.update_tiers(user="ben", agent="coder"),
}
#: what belongs to whoever opened the project: the log itself and the open engine
OF_THE_OPERATOR = {
    "documents",
    "items",
    "events",
    "wait",
    "body",
    "keep_body",
    "verify",
    "record",
    "close",
    "user",
}
#: the same of one of Ben's sessions
OF_A_SESSION: dict[str, Callable[[Session, str], Any]] = {
    "recall": lambda s, one: [
        s.recall(f"{CANARY} {one}", 50, scope=scope, min_relevance=0, **more)
        for scope in SCOPES
        for more in ({}, {"session_id": "ses-ana-coder"})
    ],
    "context": lambda s, one: [
        (pack.text, pack.messages, pack.receipt)
        for pack in (s.context(f"{CANARY} {one}", budget=budget) for budget in (500, 8_000))
    ],
    "expand": lambda s, one: [refused(partial(s.expand, name)) for name in (one, 1, "events 1-99")],
    "compact": lambda s, one: s.compact(f"{CANARY} {one}", to=50, window=400),
    "flash_save": lambda s, one: s.flash_save(window=400),
    "checkpoint": lambda s, one: s.checkpoint(),
    "checkpoints": lambda s, one: s.checkpoints(),
    "compactions": lambda s, one: s.compactions(),
    "compaction": lambda s, one: refused(partial(s.compaction, one)),
    "saved_context": lambda s, one: refused(partial(s.saved_context, one)),
    "resume_from": lambda s, one: refused(partial(s.resume_from, one)),
    "recover": lambda s, one: refused(partial(s.recover, one)),
    "pressure": lambda s, one: s.pressure(window=400),
    "check": lambda s, one: s.check(),
    "tools": lambda s, one: s.tools(),
    "call_tool": lambda s, one: [
        s.call_tool("memory_search", {"query": f"{CANARY} {one}", "scope": scope, "limit": 50})
        for scope in ("user", "session", "app", "all")
    ],
    "used": lambda s, one: s.used([one], "wrong"),
    "items": lambda s, one: [
        *(s.items.list(), s.items.load("ALL"), s.items.stats(), s.items.diff({})),
        *(refused(partial(verb, one)) for verb in (s.items.get, s.items.pin, s.items.unpin)),
    ],
    "remember": lambda s, one: s.remember("x", supersedes=one),
    "info": lambda s, one: s.info(),
    "state": lambda s, one: s.state(),
    "status": lambda s, one: s.status(),
    "scratchpad": lambda s, one: s.scratchpad(),
    "update_state": lambda s, one: s.update_state({"x": 1}),
    "recent": lambda s, one: s.recent(turns=50),
    "restore": lambda s, one: s.restore(),
    "switch": lambda s, one: s.switch("critic", session_id="ses-ana-critic"),
}
#: they record what they are given and answer with it
RECORDING = {"start", "end", "user", "assistant", "tool_call", "tool_result", "gate"} | {
    "task_done",
    "decision",
    "error",
    "record",
}


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def test_every_public_verb_is_asked_here() -> None:
    """A verb that is added is added above, or named there with the reason."""
    assert public(Holdfast) <= OF_A_PROJECT.keys() | OF_THE_OPERATOR
    assert public(Session) <= OF_A_SESSION.keys() | RECORDING
    assert public(Items) == OF_ITEMS.keys()
    assert OF_A_PROJECT.keys() <= public(Holdfast)
    assert OF_A_SESSION.keys() <= public(Session)


def shows(answer: Any, asked: str, theirs: list[str]) -> list[str]:
    """Which of somebody's secrets an answer holds, apart from what was asked."""
    said = repr(answer).replace(f"{CANARY} {asked}", "").replace(asked, "")
    return [secret for secret in (CANARY, *theirs) if secret in said]


@pytest.mark.parametrize("verb", OF_A_PROJECT)
def test_no_verb_of_a_project_shows_what_is_somebody_else_s(hf: Holdfast, verb: str) -> None:
    theirs = hers(hf)
    before = [hf.get(one, user="ana") for one in theirs if one.startswith("mem_")]
    for one in (*theirs[:3], theirs[-1]):
        try:
            answer = OF_A_PROJECT[verb](hf, one)
        except HoldfastError as exc:
            answer = str(exc)
        assert shows(answer, one, theirs) == []
    assert [hf.get(one, user="ana") for one in theirs if one.startswith("mem_")] == before


@pytest.mark.parametrize("verb", OF_ITEMS)
def test_no_verb_about_items_shows_or_changes_what_is_somebody_else_s(
    hf: Holdfast, verb: str
) -> None:
    theirs, before = hers(hf), hf.items.list(user="ana")
    assert before
    for one in (*(item.id for item in before), theirs[-1]):
        try:
            answer = OF_ITEMS[verb](hf, one)
        except HoldfastError as exc:
            answer = str(exc)
        assert shows(answer, one, theirs) == []
    after = hf.items.list(user="ana")
    assert [(i.id, i.accesses, i.revision) for i in after] == [
        (i.id, i.accesses, i.revision) for i in before
    ]


@pytest.mark.parametrize("verb", OF_A_SESSION)
def test_no_verb_of_a_session_shows_what_is_somebody_else_s(hf: Holdfast, verb: str) -> None:
    theirs = hers(hf)
    s = session_of(hf, "ben", "coder")
    for one in (*theirs[:3], theirs[-1]):
        try:
            answer = OF_A_SESSION[verb](s, one)
        except HoldfastError as exc:
            answer = str(exc)
        assert shows(answer, one, theirs) == []


def test_the_same_verbs_show_her_what_is_hers(hf: Holdfast) -> None:
    """Else the tests above would pass with an engine that finds nothing."""
    theirs = set(hers(hf))
    found = hf.recall(CANARY, 50, user="ana", min_relevance=0)
    assert len(found) >= 2 * len(PRIVATE) - 4
    assert {hit.id for hit in found} <= theirs
    assert {m.id for m in hf.retrieve_by_tags([CANARY], 50, user="ana")} <= theirs
    assert hf.retrieve_recent(24, 50, user="ana")


def test_one_agent_does_not_find_what_another_was_told(hf: Holdfast) -> None:
    for agent, other in (AGENTS, AGENTS[::-1]):
        s = session_of(hf, "ana", agent)
        found = s.recall(CANARY, 50, min_relevance=0)
        of = {hit.event.agent for hit in found if hit.event is not None}
        of |= {hit.memory.agent for hit in found if hit.memory and hit.memory.scope == "session"}
        assert of == {agent}
        secret = f"ses-ana-{other}"
        assert not s.recall(CANARY, 50, min_relevance=0, session_id=secret).hits
    every = hf.recall(CANARY, 50, user="ana", agent="*", min_relevance=0)
    assert {hit.event.agent for hit in every if hit.event is not None} == set(AGENTS)


# ---- what somebody else does --------------------------------------------------------------------


@pytest.mark.parametrize("verdict", ["cited", "ignored", "useful", "wrong"])
def test_nobody_s_verdict_moves_what_only_somebody_else_may_see(hf: Holdfast, verdict: str) -> None:
    mine = session_of(hf, "ben", "coder").user("The deploy key lies in the vault")
    before = plain_answer(hf.recall("where is the deploy key?", user="ben", min_relevance=0))
    assert mine.event_id in [hit["id"] for hit in before["hits"]]
    forged = session_of(hf, "ana", "coder")
    for _ in range(5):
        forged.record("memory_used", {verdict: [mine.event_id]}, origin="agent")
        forged.record("memory_recall", {"ids": [mine.event_id]}, origin="system")
    after = plain_answer(hf.recall("where is the deploy key?", user="ben", min_relevance=0))
    assert after == before


# ---- in whose name ------------------------------------------------------------------------------

NOBODY = ["", "*", 5, ["ana"], ("ana",), b"ana", "a\nb", "\ud800", True]


@pytest.mark.parametrize("user", NOBODY)
def test_no_verb_that_finds_runs_in_nobody_s_name(hf: Holdfast, user: Any) -> None:
    for call in (
        lambda: hf.recall(CANARY, user=user),
        lambda: hf.recall(CANARY, user=user, track=True),
        lambda: hf.retrieve_by_tags([CANARY], user=user),
        lambda: hf.retrieve_recent(user=user),
        lambda: hf.session(agent="coder", user=user).recall(CANARY),
        lambda: hf.session(agent="coder", user=user).call_tool("memory_search", {"query": "x"}),
    ):
        with pytest.raises(Invalid):
            call()


def test_without_a_name_it_is_the_principal_s(hf: Holdfast) -> None:
    assert plain_answer(hf.recall("deploy")) == plain_answer(hf.recall("deploy", user="ben"))
    assert hf.user == "ben"


@pytest.mark.parametrize("user", ["", "*", ["ana"], 5, "a\nb"])
def test_nobody_can_be_the_principal_without_a_name_of_their_own(tmp_path: Path, user: Any) -> None:
    with pytest.raises(Invalid):
        holdfast.open(tmp_path, project="p", user=user)


def test_a_session_asks_in_no_other_name(hf: Holdfast) -> None:
    s = session_of(hf, "ben", "coder")
    others: list[dict[str, Any]] = [{"user": "ana"}, {"agent": "*"}, {"agent": "critic"}]
    for other in others:
        with pytest.raises((TypeError, Invalid)):
            s.recall(CANARY, **other)
    for name in ("user", "agent", "session_id", "project"):
        with pytest.raises(Invalid, match=name):
            s.call_tool("memory_search", {"query": CANARY, name: "ana"})
