"""Every filter narrows: what comes fits each of them; a larger answer begins with the smaller one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import Invalid
from holdfast.model.memories import CATEGORIES, KINDS
from holdfast.model.recall import Hit
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking, ids, plain_hit, stamp

Holdfast = holdfast.Holdfast
TAGS = ("red", "blue", "red blue")
#: every text holds it
ALL = "omega"


@pytest.fixture(autouse=True)
def _static(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "static")


#: what is said or learned: by whom, in which session, as what, with which labels
spoken = st.fixed_dictionaries(
    {
        "agent": st.sampled_from(["coder", "critic"]),
        "session": st.sampled_from(["s1", "s2"]),
        "what": st.sampled_from(["user", "assistant", "decision", "error", "memory", "memory"]),
        "scope": st.sampled_from(["session", "user", "project", "system"]),
        "kind": st.sampled_from(sorted(KINDS)),
        "category": st.sampled_from(CATEGORIES),
        "tags": st.lists(st.sampled_from(TAGS), unique=True, max_size=3),
        "about": st.lists(st.sampled_from(["login", "queue", "cache", "retry"]), max_size=4),
    }
)
#: what may be asked for; None where it is not
asked = st.fixed_dictionaries(
    {},
    optional={
        "agent": st.sampled_from(["coder", "critic", "*"]),
        "session_id": st.sampled_from(["s1-coder", "s2-critic", "none"]),
        "scope": st.sampled_from(["session", "user", "project", "system", "all", "app"]),
        "kind": st.sampled_from(sorted(KINDS)),
        "category": st.sampled_from(CATEGORIES),
        "tags": st.lists(st.sampled_from(TAGS), unique=True, min_size=1, max_size=2),
        "since": st.integers(0, 12).map(stamp),
        "until": st.integers(0, 12).map(stamp),
    },
)


def written(hf: Holdfast, clock: Ticking, said: list[dict[str, Any]]) -> None:
    for n, one in enumerate(said):
        clock.minutes = n
        s = hf.session(agent=one["agent"], session_id=f"{one['session']}-{one['agent']}")
        text = f"{ALL} {' '.join(one['about'])} number{n}"
        if one["what"] == "memory":
            fields = {name: one[name] for name in ("scope", "kind", "category", "tags")}
            s.remember(text, **fields)
        else:
            getattr(s, one["what"])(text)
    clock.minutes = len(said)


def _in_session(hit: Hit, wanted: str) -> bool:
    if hit.memory is not None:
        return hit.memory.scope == "session" and hit.memory.session_id == wanted
    return hit.event is not None and hit.event.session_id == wanted


def _of_agent(hit: Hit, wanted: str) -> bool:
    if wanted == "*" or (hit.memory is not None and hit.memory.scope != "session"):
        return True
    of = hit.memory.agent if hit.memory is not None else hit.event.agent if hit.event else None
    return of == wanted


def _in_scope(hit: Hit, wanted: str) -> bool:
    of = hit.memory.scope if hit.memory is not None else "session"
    return wanted == "all" or of == {"app": "project"}.get(wanted, wanted)


FITS: dict[str, Callable[[Hit, Any], bool]] = {
    "agent": _of_agent,
    "session_id": _in_session,
    "scope": _in_scope,
    "kind": lambda hit, wanted: hit.memory is not None and hit.memory.kind == wanted,
    "category": lambda hit, wanted: hit.memory is not None and hit.memory.category == wanted,
    "tags": lambda hit, wanted: hit.memory is not None and set(wanted) <= set(hit.memory.tags),
    "since": lambda hit, wanted: hit.at >= wanted,
    "until": lambda hit, wanted: hit.at < wanted,
}


@settings(max_examples=examples(25), phases=AS_FOUND)
@given(st.lists(spoken, min_size=4, max_size=14), st.lists(asked, min_size=3, max_size=5))
def test_filters_compose_and_every_hit_fits_each(
    said: list[dict[str, Any]], filters: list[dict[str, Any]]
) -> None:
    clock = Ticking()
    with (
        tempfile.TemporaryDirectory() as place,
        holdfast.open(place, project="p", user="ana", now=clock) as hf,
    ):
        written(hf, clock, said)
        every = hf.recall(ALL, 1_000, min_relevance=0)
        assert len(every) == len({*ids(every)}) >= 1
        for wanted in filters:
            found = hf.recall(ALL, 1_000, min_relevance=0, **wanted)
            fitting = {
                hit.id for hit in every if all(FITS[name](hit, wanted[name]) for name in wanted)
            }
            assert set(ids(found)) == fitting
            one_by_one = [
                set(ids(hf.recall(ALL, 1_000, min_relevance=0, **{name: wanted[name]})))
                for name in wanted
            ]
            assert set(ids(found)) == set(ids(every)).intersection(*one_by_one)


@settings(max_examples=examples(15), phases=AS_FOUND)
@given(
    st.lists(spoken, min_size=4, max_size=14),
    asked,
    st.lists(st.integers(1, 20), min_size=2, max_size=3),
    st.sampled_from([f"{ALL} queue", "the login cache", f"an overview of {ALL} across sessions"]),
)
def test_the_first_hits_are_the_same_however_many_are_asked_for(
    said: list[dict[str, Any]], wanted: dict[str, Any], sizes: list[int], query: str
) -> None:
    clock = Ticking()
    with (
        tempfile.TemporaryDirectory() as place,
        holdfast.open(place, project="p", user="ana", now=clock) as hf,
    ):
        written(hf, clock, said)
        every = hf.recall(query, 1_000, min_relevance=0, **wanted)
        for k in sizes:
            some = hf.recall(query, k, min_relevance=0, **wanted)
            assert len(some) == min(k, len(every))
            assert list(map(plain_hit, some)) == list(map(plain_hit, every[:k]))
            assert some.confidence == every.confidence


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def hf(tmp_path: Path, clock: Ticking) -> Holdfast:
    return holdfast.open(tmp_path / "home", project="p", user="ana", now=clock)


@pytest.mark.parametrize("query", ["deploy failed again", "overview of everything that failed"])
def test_the_first_hit_of_many_alike_does_not_depend_on_how_many_are_asked_for(
    hf: Holdfast, clock: Ticking, query: str
) -> None:
    """Of a hundred that are equally relevant the newest comes first, for k = 1 too."""
    s = hf.session(agent="coder", session_id="s")
    for n in range(120):
        clock.minutes = n * 24 * 60
        s.tool_result("Bash", "the deploy failed again")
    every = ids(hf.recall(query, 120, min_relevance=0))
    for k in (1, 5, 20, 40, 60):
        assert ids(hf.recall(query, k, min_relevance=0)) == every[:k], k


def test_an_important_memory_among_many_alike_comes_first_for_any_k(hf: Holdfast) -> None:
    made = hf.remember_all([{"text": "the gateway limits requests"} for _ in range(100)])
    best = hf.revise(made[-1].id, importance=1.0).id
    for k in (1, 10, 50, 100):
        assert ids(hf.recall("gateway limits", k, min_relevance=0))[0] == best, k


def test_a_filter_finds_what_thousands_of_better_fitting_turns_would_hide(hf: Holdfast) -> None:
    s = hf.session(agent="coder", session_id="loud")
    quiet = hf.session(agent="critic", session_id="quiet")
    mine = quiet.user("the queue is slow").event_id
    rule = hf.remember("a queue never blocks", category="rules", tags=["ops"]).id
    for n in range(1_500):
        s.user(f"queue queue slow queue {n}")
    for wanted, found in (
        ({"agent": "critic", "scope": "session"}, mine),
        ({"session_id": "quiet"}, mine),
        ({"category": "rules"}, rule),
        ({"tags": ["ops"]}, rule),
        ({"scope": "project"}, rule),
        ({"kind": "fact"}, rule),
    ):
        assert ids(hf.recall("slow queue", 5, min_relevance=0, **wanted)) == [found], wanted


WRONG: list[dict[str, Any]] = [
    {"k": 0},
    {"k": -1},
    {"k": 1_001},
    {"k": True},
    {"k": "5"},
    {"k": 2.0},
    {"scope": "everything"},
    {"scope": ""},
    {"scope": 5},
    {"scope": ["all"]},
    {"kind": "thought"},
    {"kind": ["fact"]},
    {"category": "errors"},
    {"category": 5},
    {"tags": "red"},
    {"tags": [""]},
    {"tags": [5]},
    {"tags": None},
    {"tags": 5},
    {"agent": ""},
    {"agent": 5},
    {"session_id": ""},
    {"session_id": "*"},
    {"since": "yesterday"},
    {"since": 5},
    {"until": "2026-03-01T09:00:00"},
    {"as_of": "2026-13-01T00:00:00Z"},
    {"min_relevance": -0.1},
    {"min_relevance": 1.5},
    {"min_relevance": float("nan")},
    {"min_relevance": "0.5"},
    {"settings": {"recency": 0.1}},
]


@pytest.mark.parametrize("wanted", WRONG, ids=str)
def test_a_filter_that_means_nothing_is_refused_by_name(
    hf: Holdfast, wanted: dict[str, Any]
) -> None:
    hf.remember("something")
    with pytest.raises(Invalid):
        hf.recall("something", **wanted)


@pytest.mark.parametrize("query", [None, 5, b"x", ["x"]])
def test_a_question_is_a_text(hf: Holdfast, query: Any) -> None:
    with pytest.raises(Invalid):
        hf.recall(query)


@pytest.mark.parametrize("hours", [0, -1, "1", True, None, float("nan"), float("inf"), [1]])
def test_hours_are_a_number_above_0(hf: Holdfast, hours: Any) -> None:
    hf.remember("something")
    with pytest.raises(Invalid):
        hf.retrieve_recent(hours)


@pytest.mark.parametrize("k", [0, -1, "1", True, None, 1.5])
def test_a_list_of_memories_has_a_length_above_0(hf: Holdfast, k: Any) -> None:
    hf.remember("something", tags=["red"])
    hf.remember("another thing", tags=["red"])
    with pytest.raises(Invalid):
        hf.retrieve_recent(24, k)
    with pytest.raises(Invalid):
        hf.retrieve_by_tags(["red"], k)
