"""Lives of memories: three of them, and whatever may become of them, told in any order of times."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from holdfast.model.events import Entry
from holdfast.model.memories import SCOPES
from tests.contract.entries import entry

IDS = ("mem_a", "mem_b", "mem_c")
moments = st.integers(0, 11).map(lambda n: f"2026-03-{n + 1:02d}T09:00:00.000Z")
#: one before, some between, one after all of them
TIMES = [f"2026-03-{n:02d}T12:00:00.000Z" for n in (0, 1, 3, 5, 8, 11, 13)]
users = st.sampled_from(["ana", "ben"])
agents = st.sampled_from(["coder", "critic", None])
fields = st.fixed_dictionaries(
    {},
    optional={
        "text": st.sampled_from(["tabs", "spaces", "both"]),
        "value": st.sampled_from(["1", "2", ""]),
        "tags": st.lists(st.sampled_from(["a", "b"]), max_size=2),
        "steps": st.lists(st.sampled_from(["test", "build"]), max_size=2),
        "importance": st.floats(0, 1),
        "confidence": st.floats(0, 1),
        "valid_from": st.none() | moments,
        "valid_to": st.none() | moments,
        "expires_at": st.none() | moments,
        "artifacts": st.lists(
            st.sampled_from([{"type": "pr", "ref": "1"}, {"type": "file", "ref": "a"}]), max_size=2
        ),
    },
)


_one = st.sampled_from(IDS)
_some = st.lists(_one, max_size=2)
#: what each event says beside the memory it names
_SAID: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "memory_revised": st.fixed_dictionaries({"changes": fields}),
    "memory_superseded": st.fixed_dictionaries({"by": _one}),
    "memory_merged": st.fixed_dictionaries({"from": _some}),
    "memory_forgotten": st.just({"reason": "old"}),
    "memory_restored": st.just({}),
    "trust_changed": st.fixed_dictionaries({"trust": st.integers(0, 3)}),
    "memory_used": st.fixed_dictionaries({"cited": _some, "wrong": _some}),
}
_later = st.sampled_from(sorted(_SAID)).flatmap(lambda kind: st.tuples(st.just(kind), _SAID[kind]))
_scopes = st.sampled_from([*SCOPES, "project", "project"])
_first = st.tuples(_scopes, fields).map(lambda it: {"text": "at first", "scope": it[0], **it[1]})
_who = st.sampled_from(
    [("ana", "coder")] * 3 + [("ana", None), ("ana", "critic"), ("ben", "coder")]
)
_around = st.tuples(
    _who,
    st.sampled_from(["ses_1", None]),
    moments,
    st.sampled_from([3, 3, 2, 1, 0]),
    st.booleans(),
)


@st.composite
def lives(draw: st.DrawFn) -> list[Entry]:
    """Three memories, each learned once, and what became of them; times in any order."""
    told: list[tuple[str, str, dict[str, Any]]] = [
        (kind, one, said)
        for one, (kind, said) in draw(st.lists(st.tuples(_one, _later), min_size=6, max_size=20))
    ]
    for n, one in enumerate(IDS):
        told.insert(n * draw(st.integers(0, 2)), ("memory_learned", one, draw(_first)))
    around = draw(st.lists(_around, min_size=len(told), max_size=len(told)))
    return [
        entry(
            event_id=f"evt-{n}",
            type=f"{kind}@1",
            payload={"memory": one, **said},
            user=user,
            agent=agent,
            session_id=session,
            timestamp=at,
            trust=trust,
            sources=(f"evt-{n // 2}",) if derived else (),
        )
        for n, ((kind, one, said), ((user, agent), session, at, trust, derived)) in enumerate(
            zip(told, around, strict=True)
        )
    ]
