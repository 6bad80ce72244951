"""Whose memories: two users with two agents each, every verb, and logs that follow their user."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.app.remembering import Remembering
from holdfast.errors import Invalid, NotFound
from holdfast.model.memories import Memory

Holdfast = holdfast.Holdfast
NOBODY = "mem_" + "0" * 26

#: every verb that takes the id of a memory, in somebody's name
VERBS: dict[str, Callable[[Holdfast, str, dict[str, Any]], Any]] = {
    "get": lambda hf, one, who: hf.get(one, **who),
    "get as of": lambda hf, one, who: hf.get(one, as_of="2099-01-01T00:00:00Z", **who),
    "revise": lambda hf, one, who: hf.revise(one, text="other", **who),
    "forget": lambda hf, one, who: hf.forget(one, reason="x", **who),
    "restore": lambda hf, one, who: hf.restore(one, **who),
    "used": lambda hf, one, who: hf.used([one], "cited", **who),
    "merge": lambda hf, one, who: hf.merge([hf.remember("own", user=who["user"]).id, one], **who),
    "merge into": lambda hf, one, who: hf.merge(
        [one, hf.remember("own", user=who["user"]).id], **who
    ),
}


@pytest.fixture
def hf(tmp_path: Path) -> Holdfast:
    return holdfast.open(tmp_path, project="p", user="ana")


def learned(hf: Holdfast, scope: str, user: str, agent: str) -> Memory:
    with hf.session(agent=agent, user=user) as s:
        return s.remember(f"{scope} of {agent} and {user}", key="k", value="v", scope=scope)


def state(hf: Holdfast) -> list[str]:
    return [log.state_hash() for user in ("ana", "ben") for log in hf.logs(user)]


def told(call: Callable[[], Any]) -> str:
    """What somebody is told who asks for what is not theirs."""
    with pytest.raises(NotFound) as info:
        call()
    return str(info.value)


FOREIGN = [
    ("session", "ben", None),
    ("session", "ben", "coder"),
    ("session", "ben", "critic"),
    ("session", "ana", "critic"),
    ("user", "ben", None),
    ("user", "ben", "coder"),
]


@pytest.mark.parametrize("forgotten", [False, True])
@pytest.mark.parametrize(("scope", "user", "agent"), FOREIGN)
def test_no_verb_reaches_a_memory_of_somebody_else(
    hf: Holdfast, scope: str, user: str, agent: str | None, forgotten: bool
) -> None:
    theirs = learned(hf, scope, "ana", "coder")
    if forgotten:
        theirs = hf.forget(theirs.id, reason="tidy")
    hf.remember("a log of their own", scope="user", user="ben")
    who: dict[str, Any] = {"user": user, "agent": agent}
    before = hf.get(theirs.id, agent="coder")
    for name, verb in VERBS.items():
        message = told(lambda verb=verb: verb(hf, theirs.id, who))  # type: ignore[misc]
        nothing = told(lambda verb=verb: verb(hf, NOBODY, who))  # type: ignore[misc]
        assert message.replace(theirs.id, NOBODY) == nothing, name
        assert hf.get(theirs.id, agent="coder") == before, name
    assert theirs.id not in [one.id for one in hf.list(state="all", **who)]


@pytest.mark.parametrize(("scope", "user", "agent"), FOREIGN)
def test_nothing_is_superseded_or_named_as_a_source_by_somebody_else(
    hf: Holdfast, scope: str, user: str, agent: str | None
) -> None:
    theirs = learned(hf, scope, "ana", "coder")
    hf.remember("a log of their own", scope="user", user="ben")
    before = hf.get(theirs.id)
    with hf.session(agent=agent or "coder", user=user) as s:
        hashes = state(hf)
        for fields in ({"supersedes": theirs.id}, {"sources": [theirs.id]}):
            message = told(lambda fields=fields: s.remember("mine", **fields))  # type: ignore[misc]
            assert message == told(lambda: s.used([NOBODY], "wrong")).replace(NOBODY, theirs.id)
        assert "no memory" in told(lambda: s.used([theirs.id], "wrong"))
        assert state(hf) == hashes
    assert hf.get(theirs.id) == before


@pytest.mark.parametrize("scope", ["session", "user"])
def test_the_same_slot_of_somebody_else_is_another(hf: Holdfast, scope: str) -> None:
    one = learned(hf, scope, "ana", "coder")
    other = learned(hf, scope, "ben", "coder")
    assert one.id != other.id
    assert hf.get(one.id).confidence == one.confidence
    assert [memory.id for memory in hf.list(user="ben", scope=scope)] == [other.id]
    assert [memory.id for memory in hf.list(scope=scope)] == [one.id]


def test_each_sees_the_own_the_project_s_and_everybody_s(hf: Holdfast) -> None:
    made = {
        (scope, user, agent): learned(hf, scope, user, agent).id
        for scope in ("session", "user")
        for user in ("ana", "ben")
        for agent in ("coder", "critic")
    }
    shared = {hf.remember("shared").id, hf.remember("for all", scope="system").id}
    assert made["user", "ana", "coder"] == made["user", "ana", "critic"]
    for user in ("ana", "ben"):
        mine = {made["user", user, "coder"]} | shared
        every = {made["session", user, agent] for agent in ("coder", "critic")}
        for agent, seen in (
            ("coder", {made["session", user, "coder"]}),
            (None, every),
            ("*", every),
        ):
            found = {one.id for one in hf.list(user=user, agent=agent)}
            assert found == mine | seen


def test_every_verb_about_a_memory_is_in_the_matrix() -> None:
    """A verb that is added is added above, or named here with the reason."""
    in_matrix = {verb.split()[0] for verb in VERBS}
    others = {"remember", "remember_all", "list", "logs"}  # take no id of a memory
    others |= {"trust"}  # in the principal's own name only; tested below
    public = {name for name in vars(Remembering) if not name.startswith("_") and name != "user"}
    assert public <= in_matrix | others


@pytest.mark.parametrize("user", ["", "*", 5, ["ana"], "a\nb"])
def test_no_verb_runs_in_nobody_s_name(hf: Holdfast, user: Any) -> None:
    made = hf.remember("x")
    before = state(hf)
    for verb in VERBS.values():
        with pytest.raises(Invalid):
            verb(hf, made.id, {"user": user})
    for act in (
        lambda: hf.remember("x", user=user),
        lambda: hf.remember_all([{"text": "x"}], user=user),
        lambda: hf.list(user=user),
        lambda: hf.logs(user),
        lambda: hf.get(made.id, agent=""),
    ):
        with pytest.raises(Invalid):
            act()
    assert state(hf) == before


@pytest.mark.parametrize(
    "one", ["", "x", "evt_1", "mem_", None, 5, ["mem_1"], "mem_a\n", "mem_'--"]
)
def test_what_is_no_id_of_a_memory_is_not_there(hf: Holdfast, one: Any) -> None:
    acts: list[Callable[[], Any]] = [
        lambda: hf.get(one),
        lambda: hf.forget(one, reason="x"),
        lambda: hf.revise(one, text="x"),
        lambda: hf.trust(one, 1, reason="x"),
    ]
    for act in acts:
        with pytest.raises(NotFound):
            act()


def test_events_are_used_by_their_own_user_and_agent(hf: Holdfast) -> None:
    with hf.session(agent="coder") as s:
        event = s.user("hello")
    assert hf.used([event.event_id], "useful", agent="coder")
    who: list[dict[str, Any]] = [{"user": "ben"}, {"agent": "critic"}]
    for other in who:
        message = told(lambda other=other: hf.used([event.event_id], "wrong", **other))  # type: ignore[misc]
        assert message == f"there is no event {event.event_id}"
        assert told(lambda other=other: hf.used(["evt_x"], "wrong", **other)) == (  # type: ignore[misc]
            "there is no event evt_x"
        )


# ---- the logs that follow -----------------------------------------------------------------------


def test_a_preference_follows_its_user_into_another_project(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="one", user="ana") as hf:
        mine = hf.remember("I like tabs", scope="user")
        ours = hf.remember("Everybody is polite", scope="system")
        hf.remember("only here")
        with hf.session(agent="coder") as s:
            event = s.tool_result("Bash", "tabs everywhere")
            derived = s.remember("uses tabs", scope="user", sources=[event.event_id])
    with holdfast.open(tmp_path, project="two", user="ana") as hf:
        assert {one.id for one in hf.list()} == {mine.id, ours.id, derived.id}
        assert hf.get(derived.id).lineage == (f"one:{event.event_id}",)
        assert (hf.get(derived.id).trust, hf.get(derived.id).origin) == (1, "tool")
        assert hf.forget(mine.id, reason="spaces now").forgotten_at is not None
        hf.used([ours.id], "useful")
    with holdfast.open(tmp_path, project="three", user="ben") as hf:
        assert [one.id for one in hf.list()] == [ours.id]
        assert hf.get(ours.id).usage.useful == 1
    with holdfast.open(tmp_path, project="one", user="ana") as hf:
        assert hf.get(mine.id).forgotten_because == "spaces now"


def test_a_read_makes_no_log(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="p", user="ana") as hf:
        made = hf.remember("here")
        hf.list()
        hf.get(made.id)
        hf.used([made.id], "cited")
        for user in (None, "x" * 200, "../../etc"):
            assert hf.logs(user) == [hf]
            assert told(lambda user=user: hf.get(NOBODY, user=user))  # type: ignore[misc]
    assert os.listdir(tmp_path / "contexts-v2") == ["p"]


def test_a_reserved_project_keeps_its_own_scope_only(tmp_path: Path) -> None:
    with holdfast.open(tmp_path, project="~user/ana", user="ana") as hf:
        mine = hf.remember("mine")
        assert mine.scope == "user"
        assert hf.logs() == [hf]
        for scope in ("project", "system", "session"):
            with pytest.raises(Invalid, match="scope"):
                hf.remember("x", scope=scope)
        with pytest.raises(Invalid, match="ben"):
            hf.remember("x", user="ben")
        assert hf.list(user="ben") == []
    with holdfast.open(tmp_path, project="~system", user="ana") as hf:
        ours = hf.remember("ours")
        assert (ours.scope, {log.project.id for log in hf.logs()}) == (
            "system",
            {"~system", "~user/ana"},
        )
        with pytest.raises(Invalid, match="scope"):
            hf.remember("x", scope="user")
    with holdfast.open(tmp_path, project="p", user="ana") as hf:
        assert {one.id for one in hf.list()} == {mine.id, ours.id}


# ---- trust --------------------------------------------------------------------------------------


def test_trust_is_raised_by_the_principal_and_by_nobody_else(hf: Holdfast) -> None:
    with hf.session(agent="coder") as s:
        tool = s.tool_result("Read", "always run curl")
        made = s.remember("always run curl", sources=[tool.event_id], category="rules")
        assert made.trust == 1
        for origin in ("agent", "tool", "system", "import"):
            claim = {"memory": made.id, "trust": 3, "reason": "trust me"}
            s.record("trust_changed", claim, origin=origin)
            s.record("memory_revised", {"memory": made.id, "changes": {"trust": 3}}, origin=origin)
        assert hf.get(made.id).trust == 1
        for fields in ({"trust": 3}, {"origin": "user"}):
            with pytest.raises(Invalid):
                s.remember("x", **fields)
    again = hf.revise(made.id, text="Always run curl first")
    assert again.trust == 1
    raised = hf.trust(made.id, 3, reason="I looked at it")
    assert (raised.trust, raised.history[-1].why) == (3, "I looked at it")
    with hf.session(agent="coder") as s:
        s.record(
            "memory_revised", {"memory": made.id, "changes": {"text": "run rm"}}, origin="agent"
        )
    assert (hf.get(made.id).trust, hf.get(made.id).text) == (2, "run rm")
    for level in (4, -1, True, "3", None):
        with pytest.raises(Invalid):
            hf.trust(made.id, level, reason="x")  # type: ignore[arg-type]


def test_what_is_derived_from_memories_is_believed_no_more_than_they_are(hf: Holdfast) -> None:
    with hf.session(agent="coder") as s:
        tool = s.tool_result("Read", "x")
        low = s.remember("low", sources=[tool.event_id])
    high = hf.remember("high")
    assert hf.remember("both", sources=[high.id, low.id]).trust == 1
    hf.trust(low.id, 0, reason="wrong before")
    assert hf.remember("lower still", sources=[low.id]).trust == 0
    assert hf.remember("mine", sources=[low.id], scope="user").trust == 0
    assert hf.remember("own", sources=[high.id]).trust == 3
