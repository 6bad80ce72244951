"""The nine tools of the reference memory server, against a model of what that server does."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.app.toolbox import Toolbox
from holdfast.errors import Denied, HoldfastError, Invalid, NotFound

Graph = dict[str, list[dict[str, Any]]]


class Reference:
    """What the reference server keeps: two lists, searched from the front."""

    def __init__(self) -> None:
        self.graph: Graph = {"entities": [], "relations": []}

    def call(self, name: str, asked: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = getattr(self, name)(**copy.deepcopy(asked))
        return copy.deepcopy(answer)

    def _entity(self, name: str) -> dict[str, Any] | None:
        return next((one for one in self.graph["entities"] if one["name"] == name), None)

    def create_entities(self, entities: list[dict[str, Any]]) -> dict[str, Any]:
        new = [one for one in entities if self._entity(one["name"]) is None]
        self.graph["entities"] += new
        return {"entities": new}

    def create_relations(self, relations: list[dict[str, Any]]) -> dict[str, Any]:
        new = [one for one in relations if one not in self.graph["relations"]]
        self.graph["relations"] += new
        return {"relations": new}

    def add_observations(self, observations: list[dict[str, Any]]) -> dict[str, Any]:
        results = []
        for one in observations:
            entity = self._entity(one["entityName"])
            if entity is None:
                raise LookupError(f"Entity with name {one['entityName']} not found")
            new = [text for text in one["contents"] if text not in entity["observations"]]
            results.append({"entityName": one["entityName"], "addedObservations": new})
        for one in results:  # nothing is saved when one of them fails
            entity = self._entity(one["entityName"])
            assert entity is not None
            entity["observations"] += one["addedObservations"]
        return {"results": results}

    def delete_entities(self, entityNames: list[str]) -> dict[str, Any]:
        graph = self.graph
        graph["entities"] = [one for one in graph["entities"] if one["name"] not in entityNames]
        graph["relations"] = [
            one for one in graph["relations"] if not {one["from"], one["to"]} & set(entityNames)
        ]
        return {"success": True, "message": "Entities deleted successfully"}

    def delete_observations(self, deletions: list[dict[str, Any]]) -> dict[str, Any]:
        for one in deletions:
            entity = self._entity(one["entityName"])
            if entity is not None:
                gone = one["observations"]
                entity["observations"] = [t for t in entity["observations"] if t not in gone]
        return {"success": True, "message": "Observations deleted successfully"}

    def delete_relations(self, relations: list[dict[str, Any]]) -> dict[str, Any]:
        self.graph["relations"] = [one for one in self.graph["relations"] if one not in relations]
        return {"success": True, "message": "Relations deleted successfully"}

    def read_graph(self) -> Graph:
        return self.graph

    def search_nodes(self, query: str) -> Graph:
        words = query.lower()
        return self._around(
            [
                one
                for one in self.graph["entities"]
                if any(
                    words in text.lower()
                    for text in (one["name"], one["entityType"], *one["observations"])
                )
            ]
        )

    def open_nodes(self, names: list[str]) -> Graph:
        return self._around([one for one in self.graph["entities"] if one["name"] in names])

    def _around(self, entities: list[dict[str, Any]]) -> Graph:
        names = {one["name"] for one in entities}
        relations = [r for r in self.graph["relations"] if names & {r["from"], r["to"]}]
        return {"entities": entities, "relations": relations}


NAMES = st.sampled_from(["Ana", "ana", "Go club", "ÉCOLE", "B-2", "Ana "])
TEXTS = st.sampled_from(["likes tea", "Likes tea", "plays go", "since 2019", "  indented", "x\ny"])
KINDS = st.sampled_from(["person", "place", "", "Person"])
CONTENTS = st.lists(TEXTS, max_size=3, unique=True)
ENTITIES = st.lists(
    st.fixed_dictionaries({"name": NAMES, "entityType": KINDS, "observations": CONTENTS}),
    max_size=3,
    unique_by=lambda one: one["name"],
)
RELATIONS = st.lists(
    st.fixed_dictionaries({"from": NAMES, "to": NAMES, "relationType": KINDS}),
    max_size=3,
    unique_by=lambda one: tuple(one.values()),
)


def per_entity(texts: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    one = st.fixed_dictionaries({"entityName": NAMES, texts: CONTENTS})
    return st.lists(one, max_size=2, unique_by=lambda each: each["entityName"])


CALLS = st.one_of(
    st.tuples(st.just("create_entities"), st.fixed_dictionaries({"entities": ENTITIES})),
    st.tuples(st.just("create_relations"), st.fixed_dictionaries({"relations": RELATIONS})),
    st.tuples(
        st.just("add_observations"),
        st.fixed_dictionaries({"observations": per_entity("contents")}),
    ),
    st.tuples(
        st.just("delete_entities"),
        st.fixed_dictionaries({"entityNames": st.lists(NAMES, max_size=2)}),
    ),
    st.tuples(
        st.just("delete_observations"),
        st.fixed_dictionaries({"deletions": per_entity("observations")}),
    ),
    st.tuples(st.just("delete_relations"), st.fixed_dictionaries({"relations": RELATIONS})),
    st.tuples(
        st.just("search_nodes"),
        st.fixed_dictionaries(
            {"query": st.sampled_from(["tea", "ANA", "", "école", "zz", "person"])}
        ),
    ),
    st.tuples(st.just("open_nodes"), st.fixed_dictionaries({"names": st.lists(NAMES, max_size=3)})),
)


@pytest.fixture
def hf(tmp_path: Path) -> Iterator[holdfast.Holdfast]:
    with holdfast.open(tmp_path / "home", project="p", user="ana") as opened:
        yield opened


def outcome(of: Toolbox | Reference, name: str, asked: dict[str, Any]) -> dict[str, Any]:
    """What a call answers, or what it fails with."""
    try:
        return of.call(name, asked)
    except (NotFound, LookupError) as exc:
        return {"failed": str(exc)}


@settings(max_examples=40)
@given(calls=st.lists(CALLS, min_size=4, max_size=14))
def test_any_sequence_of_calls_answers_what_the_reference_answers(
    calls: list[tuple[str, dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home, reference = tmp_path_factory.mktemp("graph"), Reference()
    with holdfast.open(home, project="p", user="ana") as opened:
        box = Toolbox(opened, compat=True)
        for name, asked in calls:
            assert outcome(box, name, asked) == outcome(reference, name, asked)
        kept = box.call("read_graph", {})
        assert kept == reference.graph
    with holdfast.open(home, project="p", user="ana") as again:
        assert Toolbox(again, compat=True).call("read_graph", {}) == kept


def ana(box: Toolbox, *observations: str) -> dict[str, Any]:
    one = {"name": "Ana", "entityType": "person", "observations": list(observations)}
    return box.call("create_entities", {"entities": [one]})


def test_what_is_named_twice_in_one_call_is_kept_once(hf: holdfast.Holdfast) -> None:
    box = Toolbox(hf, compat=True)
    one = {"name": "Ana", "entityType": "person", "observations": ["tea", "tea"]}
    made = box.call("create_entities", {"entities": [one, one]})
    assert made == {"entities": [{**one, "observations": ["tea"]}]}
    edge = {"from": "Ana", "to": "Ben", "relationType": "knows"}
    assert box.call("create_relations", {"relations": [edge, edge]}) == {"relations": [edge]}
    twice = {"entityName": "Ana", "contents": ["go", "go"]}
    added = box.call("add_observations", {"observations": [twice, twice]})["results"]
    assert [one["addedObservations"] for one in added] == [["go"], []]


def test_two_writers_at_once_leave_one_entity(hf: holdfast.Holdfast) -> None:
    box = Toolbox(hf, compat=True)
    ana(box, "tea")
    twin = hf.list(tags=["entity"])[0]
    with hf.session(agent="mcp/other") as s:
        s.remember(twin.text, subject="Ana", title="robot", tags=list(twin.tags))
    seen = box.call("read_graph", {})
    assert [one["entityType"] for one in seen["entities"]] == ["person"]
    box.call("delete_entities", {"entityNames": ["Ana"]})
    assert box.call("read_graph", {}) == {"entities": [], "relations": []}


def test_a_deletion_is_one_batch_and_leaves_a_persons_own_word(hf: holdfast.Holdfast) -> None:
    box = Toolbox(hf, compat=True)
    ana(box, "tea", "cake")
    told = hf.remember("Ana is my aunt", subject="Ana", tags=["knowledge-graph", "observation"])
    asked = {"deletions": [{"entityName": "Ana", "observations": ["tea", "Ana is my aunt"]}]}
    with pytest.raises(Denied, match=f"holdfast forget {told.id}"):
        box.call("delete_observations", asked)
    assert len(box.call("read_graph", {})["entities"][0]["observations"]) == 3
    hf.forget(told.id, reason="x")
    batches: list[int] = []
    record = hf.record

    def counted(drafts: Any) -> Any:
        batches.append(len(drafts))
        return record(drafts)

    hf.record = counted  # type: ignore[method-assign]
    box.call("delete_entities", {"entityNames": ["Ana"]})
    assert batches == [3]
    assert box.call("read_graph", {})["entities"] == []


def test_the_graph_is_found_by_recall_and_a_deletion_can_be_undone(hf: holdfast.Holdfast) -> None:
    box = Toolbox(hf, compat=True)
    ana(box, "prefers oolong tea in the morning")
    found = [hit.memory for hit in hf.recall("what does Ana drink, oolong?")]
    (told,) = [one for one in found if one is not None and "oolong" in one.text]
    assert (told.subject, told.trust, told.origin) == ("Ana", 2, "agent")
    box.call(
        "delete_observations",
        {"deletions": [{"entityName": "Ana", "observations": [told.text]}]},
    )
    assert hf.get(told.id).forgotten_because == "deleted from the knowledge graph"
    assert box.call("read_graph", {})["entities"][0]["observations"] == []
    hf.restore(told.id)
    assert box.call("read_graph", {})["entities"][0]["observations"] == [told.text]


def test_a_secret_is_kept_by_no_part_of_a_graph_and_its_entity_is_still_found(
    hf: holdfast.Holdfast,
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    box = Toolbox(hf, compat=True)
    one = {"name": f"key {secret}", "entityType": secret, "observations": [f"is {secret}"]}
    made = box.call("create_entities", {"entities": [one]})
    assert box.call("create_entities", {"entities": [one]}) == {"entities": []}
    edge = {"from": one["name"], "to": one["name"], "relationType": secret}
    box.call("create_relations", {"relations": [edge]})
    assert box.call("create_relations", {"relations": [edge]}) == {"relations": []}
    more = {"entityName": one["name"], "contents": ["is old"]}
    box.call("add_observations", {"observations": [more]})
    seen = box.call("open_nodes", {"names": [one["name"]]})
    assert len(seen["entities"][0]["observations"]) == 2
    assert secret not in str((made, seen))
    assert secret.encode() not in (Path(hf.folder) / "events.ndjson").read_bytes()


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("create_entities", {"entities": [{"name": "", "entityType": "x", "observations": []}]}),
        (
            "create_entities",
            {"entities": [{"name": "a", "entityType": "x", "observations": [" "]}]},
        ),
        ("create_entities", {"entities": [{"name": "a"}]}),
        ("create_entities", {}),
        ("open_nodes", {"names": "Ana"}),
        ("search_nodes", {"query": None}),
        ("read_graph", {"user": "ben"}),
    ],
)
def test_what_is_no_graph_is_refused_and_nothing_is_kept(
    hf: holdfast.Holdfast, name: str, asked: dict[str, Any]
) -> None:
    box = Toolbox(hf, compat=True)
    with pytest.raises(Invalid):
        box.call(name, asked)
    assert hf.list(state="all") == []


def test_the_other_tools_are_not_offered_beside_the_nine(hf: holdfast.Holdfast) -> None:
    box = Toolbox(hf, compat=True)
    with pytest.raises(HoldfastError, match="create_entities"):
        box.call("remember", {"text": "x"})
    ana(box, "likes oolong tea")
    assert "oolong" in box.prompt("recall", {"query": "which tea"})["messages"][0]["text"]
