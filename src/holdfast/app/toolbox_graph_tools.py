"""The nine tools of the reference memory server as values: what they take and what they answer."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from . import toolbox_tools as tools
from .toolbox_tools import Asked, Tool

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Many = msgspec.Meta(max_length=1_000)


class Entity(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node with what is known about it."""

    name: Annotated[_Name, msgspec.Meta(description="The name of the entity")]
    entity_type: Annotated[str, msgspec.Meta(description="The type of the entity", max_length=500)]
    observations: Annotated[
        list[str],
        msgspec.Meta(
            description="An array of observation contents associated with the entity",
            max_length=1_000,
        ),
    ]


class Relation(msgspec.Struct, frozen=True, kw_only=True):
    """An edge."""

    from_: Annotated[
        _Name, msgspec.Meta(description="The name of the entity where the relation starts")
    ] = msgspec.field(name="from")
    to: Annotated[_Name, msgspec.Meta(description="The name of the entity where the relation ends")]
    relation_type: Annotated[
        str, msgspec.Meta(description="The type of the relation", max_length=500)
    ] = msgspec.field(name="relationType")


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes and edges, in the order they came."""

    entities: list[Entity] = []
    relations: list[Relation] = []


class Added(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Observations to add to an entity."""

    entity_name: Annotated[
        _Name, msgspec.Meta(description="The name of the entity to add the observations to")
    ]
    contents: Annotated[
        list[str],
        msgspec.Meta(description="An array of observation contents to add", max_length=1_000),
    ]


class Removed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Observations to remove from an entity."""

    entity_name: Annotated[
        _Name, msgspec.Meta(description="The name of the entity containing the observations")
    ]
    observations: Annotated[
        list[str], msgspec.Meta(description="An array of observations to delete", max_length=1_000)
    ]


class Entities(Asked, frozen=True):
    """Arguments of create_entities."""

    entities: Annotated[list[Entity], _Many]


class Relations(Asked, frozen=True):
    """Arguments of create_relations and delete_relations."""

    relations: Annotated[list[Relation], _Many]


class Observations(Asked, frozen=True):
    """Arguments of add_observations."""

    observations: Annotated[list[Added], _Many]


class Names(Asked, frozen=True, rename="camel"):
    """Arguments of delete_entities."""

    entity_names: Annotated[
        list[_Name], msgspec.Meta(description="An array of entity names to delete")
    ]


class Deletions(Asked, frozen=True):
    """Arguments of delete_observations."""

    deletions: Annotated[list[Removed], _Many]


class Nothing(Asked, frozen=True):
    """Arguments of read_graph."""


class Query(Asked, frozen=True):
    """Arguments of search_nodes."""

    query: Annotated[
        str,
        msgspec.Meta(
            description="The search query to match against entity names, types, and observation "
            "content",
            max_length=8_000,
        ),
    ]


class Nodes(Asked, frozen=True):
    """Arguments of open_nodes."""

    names: Annotated[list[_Name], msgspec.Meta(description="An array of entity names to retrieve")]


# ---- the tools -----------------------------------------------------------------------------


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


_TEXT = {"type": "string"}
_ENTITY = _object(name=_TEXT, entityType=_TEXT, observations=_list(_TEXT))
_RELATION = _object(**{"from": _TEXT}, to=_TEXT, relationType=_TEXT)
_GRAPH = _object(entities=_list(_ENTITY), relations=_list(_RELATION))
_RESULT = _object(entityName=_TEXT, addedObservations=_list(_TEXT))
_SUCCESS = _object(success={"type": "boolean"}, message=_TEXT)
_READS: dict[str, Any] = {"reads_only": True, "repeats": True, "answers": _GRAPH}
_DELETES: dict[str, Any] = {
    "destroys": True,
    "repeats": True,
    "answers": _SUCCESS,
    "tells": "message",
}

TOOLS = {
    one.name: one
    for one in (
        Tool(
            name="create_entities",
            title="Create Entities",
            says="Create multiple new entities in the knowledge graph",
            asks=Entities,
            answers=_object(entities=_list(_ENTITY)),
            tells="entities",
        ),
        Tool(
            name="create_relations",
            title="Create Relations",
            says="Create multiple new relations between entities in the knowledge graph. Relations "
            "should be in active voice",
            asks=Relations,
            answers=_object(relations=_list(_RELATION)),
            tells="relations",
        ),
        Tool(
            name="add_observations",
            title="Add Observations",
            says="Add new observations to existing entities in the knowledge graph",
            asks=Observations,
            answers=_object(results=_list(_RESULT)),
            tells="results",
        ),
        Tool(
            name="delete_entities",
            title="Delete Entities",
            says="Delete multiple entities and their associated relations from the knowledge graph",
            asks=Names,
            **_DELETES,
        ),
        Tool(
            name="delete_observations",
            title="Delete Observations",
            says="Delete specific observations from entities in the knowledge graph",
            asks=Deletions,
            **_DELETES,
        ),
        Tool(
            name="delete_relations",
            title="Delete Relations",
            says="Delete multiple relations from the knowledge graph",
            asks=Relations,
            **_DELETES,
        ),
        Tool(
            name="read_graph",
            title="Read Graph",
            says="Read the entire knowledge graph",
            asks=Nothing,
            **_READS,
        ),
        Tool(
            name="search_nodes",
            title="Search Nodes",
            says="Search for nodes in the knowledge graph based on a query",
            asks=Query,
            **_READS,
        ),
        Tool(
            name="open_nodes",
            title="Open Nodes",
            says="Open specific nodes in the knowledge graph by their names",
            asks=Nodes,
            **_READS,
        ),
    )
}


def offered(*, compat: bool = False) -> dict[str, Tool]:
    """The tools a client is offered: the nine in the place of the others, or the others."""
    return TOOLS if compat else tools.TOOLS
