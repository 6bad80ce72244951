"""`memory_search` for models: what it is called with, what it writes down, and who was cited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.app.session import Session
from holdfast.errors import Invalid, NotFound
from holdfast.model.events import Draft, Event
from tests.recall.replays import Ticking

Holdfast = holdfast.Holdfast


@pytest.fixture(autouse=True)
def _static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")


@pytest.fixture
def hf(tmp_path: Path) -> Holdfast:
    return holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking())


FACTS = {
    "port": "The staging gateway listens on port 48213 behind HAProxy",
    "vault": "The deployment vault is unlocked by the marmot passphrase",
    "canteen": "The canteen on the third floor opens at half past eleven",
    "theme": "Ana likes the solarized palette in every editor",
}


def chat(hf: Holdfast, turns: int) -> None:
    """Talk about nothing."""
    hf.record(
        [
            Draft(
                type="user_message",
                payload={"text": f"some chatter about topic {n} and about the weather of day {n}"},
                origin="user",
                session_id="talk",
                agent="coder",
            )
            for n in range(turns)
        ]
    )


@pytest.fixture
def facts(hf: Holdfast) -> dict[str, str]:
    """Memories, one of which follows its user, among hundreds of turns of talk."""
    chat(hf, 400)
    scopes = {"theme": "user"}
    return {
        name: hf.remember(text, scope=scopes.get(name, "project")).id
        for name, text in FACTS.items()
    }


@pytest.fixture
def s(hf: Holdfast) -> Session:
    return hf.session(agent="coder", session_id="now").start()


def search(s: Session, query: str, **more: Any) -> list[str]:
    answer = s.call_tool("memory_search", {"query": query, **more})
    return [hit["id"] for hit in answer["hits"]]


def recorded(hf: Holdfast, kind: str) -> list[Event]:
    return [event for log in hf.logs() for event in log.events() if event.kind == kind]


def used(hf: Holdfast) -> tuple[set[str], set[str]]:
    """What was cited and what ignored, by the events that say so."""
    events = recorded(hf, "memory_used")
    assert all(event.payload["automatic"] is True for event in events)
    cited = {one for event in events for one in event.payload["cited"]}
    return cited, {one for event in events for one in event.payload["ignored"]}


def test_the_definition_is_json_schema_with_five_arguments(s: Session) -> None:
    tool, more = s.tools()
    assert more["name"] == "memory_expand"
    assert tool["name"] == "memory_search"
    assert tool["description"]
    shape = tool["input_schema"]
    assert json.loads(json.dumps(tool)) == tool
    assert shape["type"] == "object"
    assert shape["properties"].keys() == {"query", "scope", "category", "tags", "limit"}
    assert shape["required"] == ["query"]
    assert sorted(shape["properties"]["scope"]["enum"]) == ["all", "app", "session", "user"]
    assert shape["properties"]["limit"]["type"] == "integer"
    assert shape["properties"]["tags"]["items"] == {"type": "string"}
    assert shape["properties"]["category"]["enum"]
    assert "$ref" not in json.dumps(shape)


def test_what_every_prompt_carries_is_short_and_says_no_bounds(hf: Holdfast, s: Session) -> None:
    told = json.dumps(s.tools(), separators=(",", ":"))
    assert not any(word in told for word in ("maximum", "maxLength", "default", "null"))
    assert hf.counter().count(told) <= 170


def test_a_call_answers_with_data_and_writes_down_what_it_found(
    hf: Holdfast, s: Session, facts: dict[str, str]
) -> None:
    answer = s.call_tool("memory_search", json.dumps({"query": "staging gateway port"}))
    assert json.loads(json.dumps(answer)) == answer
    best = answer["hits"][0]
    assert best["id"] == facts["port"]
    assert best["text"] == FACTS["port"]
    assert (best["trust"], best["kind"]) == (3, "fact")
    (event,) = recorded(hf, "memory_recall")
    assert event.payload["ids"] == [hit["id"] for hit in answer["hits"]]
    assert event.payload["query"] == "staging gateway port"
    assert (event.session_id, event.agent, event.user) == ("now", "coder", "ana")


def test_scope_category_tags_and_limit_narrow(
    hf: Holdfast, s: Session, facts: dict[str, str]
) -> None:
    tagged = hf.remember("the gateway restarts on Sundays", category="rules", tags=["ops"]).id
    assert search(s, "gateway", tags=["ops"]) == [tagged]
    assert search(s, "gateway", category="rules") == [tagged]
    assert search(s, "editor palette", scope="user") == [facts["theme"]]
    assert facts["port"] in search(s, "gateway port", scope="app")
    assert all(one.startswith("evt_") for one in search(s, "weather topic", scope="session"))
    assert len(search(s, "gateway", limit=1)) == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": 5}, "query"),
        ({"query": "x" * 9_000}, "query"),
        ({"query": "x", "scope": "project"}, "scope"),
        ({"query": "x", "scope": None}, "scope"),
        ({"query": "x", "category": "errors"}, "category"),
        ({"query": "x", "tags": "ops"}, "tags"),
        ({"query": "x", "tags": [5]}, "tags"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "limit": 51}, "limit"),
        ({"query": "x", "limit": "5"}, "limit"),
        ({"query": "x", "limit": True}, "limit"),
        ({"query": "x", "k": 5}, "k"),
        ({"query": "x", "user": "ben"}, "user"),
    ],
)
def test_arguments_that_mean_nothing_are_named(
    hf: Holdfast, s: Session, arguments: dict[str, Any], named: str
) -> None:
    for given in (arguments, json.dumps(arguments)):
        with pytest.raises(Invalid, match=named):
            s.call_tool("memory_search", given)
    assert recorded(hf, "memory_recall") == []


@pytest.mark.parametrize("arguments", ["", "{", "[]", "null", '"x"', None, 5, ["query"], "\ud800"])
def test_what_is_no_object_is_refused(s: Session, arguments: Any) -> None:
    with pytest.raises(Invalid):
        s.call_tool("memory_search", arguments)


def test_another_tool_is_not_there(s: Session) -> None:
    with pytest.raises(NotFound, match="memory_search"):
        s.call_tool("rm", {"query": "x"})


# ---- who was cited ------------------------------------------------------------------------------


def test_what_the_answer_repeats_is_cited_and_the_rest_ignored(
    hf: Holdfast, s: Session, facts: dict[str, str]
) -> None:
    given = search(s, "the staging gateway and the deployment vault")
    assert {facts["port"], facts["vault"]} <= set(given)
    s.assistant("Staging listens on port 48213, and HAProxy stands before it.")
    cited, ignored = used(hf)
    assert cited == {facts["port"]}
    assert ignored == set(given) - cited
    assert hf.get(facts["port"]).usage.cited == 1
    s.assistant("Port 48213, as I said, behind HAProxy.")
    assert hf.get(facts["port"]).usage.cited == 1


@pytest.mark.parametrize(
    "reply",
    ["I could not find anything about that.", "Let me think.", "", "gateway staging listen"],
)
def test_an_answer_that_repeats_nothing_cites_nothing(
    hf: Holdfast, s: Session, facts: dict[str, str], reply: str
) -> None:
    given = search(s, "where does the staging gateway listen?")
    s.assistant(reply)
    cited, ignored = used(hf)
    assert cited == set()
    assert ignored == set(given)


def test_a_hit_is_cited_by_its_id(hf: Holdfast, s: Session, facts: dict[str, str]) -> None:
    search(s, "deployment vault")
    s.assistant(f"See {facts['vault']}.")
    assert used(hf)[0] == {facts["vault"]}


def test_what_a_tool_is_called_with_counts_too(
    hf: Holdfast, s: Session, facts: dict[str, str]
) -> None:
    search(s, "where does the staging gateway listen?")
    s.tool_call("Bash", {"command": "curl http://haproxy:48213/health"})
    assert recorded(hf, "memory_used") == []
    s.assistant("It answers.")
    assert used(hf)[0] == {facts["port"]}


def test_what_follows_a_user_is_cited_where_it_is_kept(
    hf: Holdfast, s: Session, facts: dict[str, str]
) -> None:
    search(s, "which palette for the editor?", scope="user")
    s.assistant("You like solarized, so I set it in every editor.")
    assert hf.get(facts["theme"]).usage.cited == 1


def test_what_follows_a_user_counts_as_retrieved_too(
    hf: Holdfast, s: Session, facts: dict[str, str]
) -> None:
    assert search(s, "which palette for the editor?", scope="user") == [facts["theme"]]
    assert hf.get(facts["theme"]).usage.retrieved == 1
    assert hf.recall("palette", min_relevance=0)[0].usage.retrieved == 1


def test_what_two_searches_found_is_looked_for_in_one_answer(
    hf: Holdfast, s: Session, facts: dict[str, str]
) -> None:
    first = search(s, "where does the staging gateway listen?")
    second = search(s, "what unlocks the deployment vault?")
    assert (first[0], second[0]) == (facts["port"], facts["vault"])
    s.assistant("On port 48213, behind HAProxy.")
    cited, ignored = used(hf)
    assert cited == {facts["port"]}
    assert ignored == {*first, *second} - cited


def test_in_a_young_project_a_number_that_only_the_hit_held_is_a_citation(
    hf: Holdfast, s: Session
) -> None:
    chat(hf, 20)
    one = hf.remember(FACTS["port"]).id
    assert one in search(s, "where does the staging gateway listen?")
    s.assistant("It is 48213.")
    assert used(hf)[0] == {one}


def test_the_reply_itself_does_not_make_its_words_common(hf: Holdfast, s: Session) -> None:
    """Both words stand in the hit alone: an hour of saying them would be another thing."""
    chat(hf, 100)
    one = hf.remember(FACTS["port"]).id
    search(s, "where does the staging gateway listen?")
    s.tool_call("Bash", {"command": "curl http://haproxy:48213/health"})
    s.assistant("It answers.")
    assert used(hf)[0] == {one}


def test_what_a_session_recalled_itself_is_watched_alike(
    hf: Holdfast, s: Session, facts: dict[str, str]
) -> None:
    s.recall("where does the staging gateway listen?")
    s.assistant("On port 48213 behind HAProxy.")
    assert used(hf)[0] == {facts["port"]}


def test_asking_the_project_writes_nothing_unless_told_to(
    hf: Holdfast, facts: dict[str, str]
) -> None:
    before = hf.log.head()
    hf.recall("gateway")
    assert hf.log.head() == before
    found = hf.recall("gateway", track=True)
    (event,) = recorded(hf, "memory_recall")
    assert event.payload["ids"] == [hit.id for hit in found]
    assert hf.get(facts["port"]).usage.retrieved == 1
