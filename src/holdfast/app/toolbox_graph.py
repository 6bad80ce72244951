"""A knowledge graph in memories: the nine tools of the reference memory server, in its shapes.

An entity, each of its observations and each relation is one memory of the project, known by its tags, so
ordinary recall finds them too. A deletion is `forget`, so it can be undone. An entity has one name, an
observation one text, a relation one triple: what is there already is not added again, whoever else
writes at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.errors import Invalid, NotFound
from holdfast.model.memories import Memory
from holdfast.text.quoting import quoted

from . import given, memories
from .telling import redacted
from .toolbox_graph_tools import (
    TOOLS,
    Deletions,
    Entities,
    Entity,
    Graph,
    Names,
    Nodes,
    Nothing,
    Observations,
    Query,
    Relation,
    Relations,
)
from .toolbox_tools import parsed

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

GRAPH = "knowledge-graph"
ENTITY, OBSERVATION, RELATION = "entity", "observation", "relation"
_REASON = "deleted from the knowledge graph"


# ---- the graph that is kept ------------------------------------------------------------------


class Kept:
    """The graph as its memories say it, with the memories behind each part."""

    def __init__(self, hf: Holdfast, agent: str, user: str) -> None:
        found = hf.list(tags=[GRAPH], scope="project", agent=agent, user=user)
        found.sort(key=lambda memory: memory.event_seq)
        self.entities: dict[str, list[Memory]] = {}
        self.observations: dict[str, dict[str, list[Memory]]] = {}
        self.relations: dict[tuple[str, str, str], list[Memory]] = {}
        for memory in found:
            self._take(memory)

    def _take(self, memory: Memory) -> None:
        subject = quoted(memory.subject)
        if ENTITY in memory.tags:
            self.entities.setdefault(subject, []).append(memory)
        elif OBSERVATION in memory.tags:
            of = self.observations.setdefault(subject, {})
            of.setdefault(quoted(memory.text), []).append(memory)
        elif RELATION in memory.tags:
            triple = (subject, quoted(memory.applies_to), quoted(memory.title))
            self.relations.setdefault(triple, []).append(memory)

    def graph(self) -> Graph:
        """All of it."""
        return Graph(
            entities=[
                Entity(
                    name=name,
                    entity_type=made[0].title,
                    observations=list(self.observations.get(name, ())),
                )
                for name, made in self.entities.items()
            ],
            relations=[
                Relation(from_=begin, to=end, relation_type=kind)
                for begin, end, kind in self.relations
            ],
        )

    def around(self, wanted: Callable[[Entity], bool]) -> Graph:
        """The entities that are wanted, and every relation that begins or ends with one of them."""
        every = self.graph()
        entities = [one for one in every.entities if wanted(one)]
        names = {one.name for one in entities}
        relations = [one for one in every.relations if one.from_ in names or one.to in names]
        return Graph(entities=entities, relations=relations)


class _Work:
    """One call: what it reads, and what it writes as an agent."""

    def __init__(self, hf: Holdfast, begin: Callable[[], Session]) -> None:
        self._hf = hf
        self.session = begin()
        self.kept = Kept(hf, self.session.agent, self.session.principal)

    def clean(self, text: str) -> str:
        """A text as it is kept and shown: without secrets, and with nothing hidden in it.

        What was given is cleaned in the same way, so it is found by that too.
        """
        return quoted(redacted(self._hf, text))

    def name(self, text: str) -> str:
        """The name of a node as it is kept; Invalid when nothing of it can be seen."""
        name = self.clean(text)
        if not name.strip():
            raise Invalid("a name needs signs that can be seen")
        return name

    def learn(self, fields: Sequence[Mapping[str, Any]]) -> None:
        """Keep these as one batch."""
        if fields:
            said = [given.said(one) for one in fields]
            memories.remember(self._hf, self.session._author(), said)

    def forget(self, gone: Iterable[Memory]) -> None:
        """Take these out of use, as one batch; none of them when one is a person's own word."""
        every = list(gone)
        for memory in every:
            memories.not_the_persons(memory)
        if every:
            memories.forget_all(self._hf, self.session._author(), every, _REASON)

    def triple(self, of: Relation) -> tuple[str, str, str]:
        """A relation as it is kept."""
        return self.name(of.from_), self.name(of.to), self.clean(of.relation_type)

    def contents(self, texts: Iterable[str]) -> list[str]:
        """Observations, each once."""
        found = list(dict.fromkeys(map(self.clean, texts)))
        if not all(text.strip() for text in found):
            raise Invalid("an observation needs words")
        return found


def _observation(name: str, text: str) -> dict[str, Any]:
    return {"text": text, "subject": name, "tags": [GRAPH, OBSERVATION]}


def _create_entities(work: _Work, asked: Entities) -> dict[str, Any]:
    made: dict[str, Entity] = {}
    for one in asked.entities:
        name = work.name(one.name)
        if name not in work.kept.entities and name not in made:
            seen = work.contents(one.observations)
            kind = work.clean(one.entity_type)
            made[name] = Entity(name=name, entity_type=kind, observations=seen)
    fields = []
    for name, new in made.items():
        text = f"{name} ({new.entity_type})" if new.entity_type else name
        about = {"text": text, "subject": name, "title": new.entity_type, "tags": [GRAPH, ENTITY]}
        fields += [about, *(_observation(name, text) for text in new.observations)]
    work.learn(fields)
    return {"entities": list(made.values())}


def _create_relations(work: _Work, asked: Relations) -> dict[str, Any]:
    known = dict.fromkeys(map(work.triple, asked.relations))
    made = [triple for triple in known if triple not in work.kept.relations]
    work.learn(
        [
            {
                "text": f"{begin} {kind} {end}",
                "subject": begin,
                "applies_to": end,
                "title": kind,
                "tags": [GRAPH, RELATION],
            }
            for begin, end, kind in made
        ]
    )
    return {"relations": [Relation(from_=b, to=e, relation_type=k) for b, e, k in made]}


def _add_observations(work: _Work, asked: Observations) -> dict[str, Any]:
    fields: list[dict[str, Any]] = []
    results = []
    seen = {name: set(of) for name, of in work.kept.observations.items()}
    for one in asked.observations:
        name = work.clean(one.entity_name)
        if name not in work.kept.entities:
            raise NotFound(f"Entity with name {one.entity_name} not found")
        there = seen.setdefault(name, set())
        new = [text for text in work.contents(one.contents) if text not in there]
        there |= set(new)
        fields += [_observation(name, text) for text in new]
        results.append({"entityName": name, "addedObservations": new})
    work.learn(fields)
    return {"results": results}


def _delete_entities(work: _Work, asked: Names) -> dict[str, Any]:
    names = set(map(work.clean, asked.entity_names))
    gone: list[Memory] = []
    for name in names:
        gone += work.kept.entities.get(name, ())
        for made in work.kept.observations.get(name, {}).values():
            gone += made
    for (begin, end, _), made in work.kept.relations.items():
        gone += made if begin in names or end in names else ()
    work.forget(gone)
    return _done("Entities")


def _delete_observations(work: _Work, asked: Deletions) -> dict[str, Any]:
    gone: list[Memory] = []
    for one in asked.deletions:
        of = work.kept.observations.get(work.clean(one.entity_name), {})
        for text in map(work.clean, one.observations):
            gone += of.pop(text, ())
    work.forget(gone)
    return _done("Observations")


def _delete_relations(work: _Work, asked: Relations) -> dict[str, Any]:
    gone: list[Memory] = []
    for triple in map(work.triple, asked.relations):
        gone += work.kept.relations.pop(triple, ())
    work.forget(gone)
    return _done("Relations")


def _done(what: str) -> dict[str, Any]:
    return {"success": True, "message": f"{what} deleted successfully"}


def _read(work: _Work, _: Nothing) -> Graph:
    return work.kept.graph()


def _search(work: _Work, asked: Query) -> Graph:
    words = work.clean(asked.query).lower()

    def matches(one: Entity) -> bool:
        texts = (one.name, one.entity_type, *one.observations)
        return any(words in text.lower() for text in texts)

    return work.kept.around(matches)


def _open(work: _Work, asked: Nodes) -> Graph:
    names = set(map(work.clean, asked.names))
    return work.kept.around(lambda one: one.name in names)


_RUNS: dict[str, Callable[[_Work, Any], Any]] = {
    "create_entities": _create_entities,
    "create_relations": _create_relations,
    "add_observations": _add_observations,
    "delete_entities": _delete_entities,
    "delete_observations": _delete_observations,
    "delete_relations": _delete_relations,
    "read_graph": _read,
    "search_nodes": _search,
    "open_nodes": _open,
}


def call(
    hf: Holdfast, begin: Callable[[], Session], name: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Run one of the nine; what it answers is structured as the reference server's."""
    asked = parsed(name, TOOLS[name].asks, arguments)
    answer: dict[str, Any] = msgspec.to_builtins(_RUNS[name](_Work(hf, begin), asked))
    return answer
