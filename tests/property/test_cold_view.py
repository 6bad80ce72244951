"""Cold rows over any history of compactions: what counts by a plain reading of it, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.engines.files.beside import safe
from holdfast.model.compactions import Decided
from holdfast.model.events import Entry
from holdfast.views.cold import ColdRow, ColdView
from tests.contract.entries import entry
from tests.property.effort import examples
from tests.property.histories import folded, recorded, values

CHUNKS = ("evt-a", "evt-b", "evt-c")


def decided(chunks: list[tuple[str, str, int]]) -> str:
    made = [
        Decided(id=one, first=1 + n, last=2 + n, tokens=9, verdict=verdict, why="w", score=score)  # type: ignore[arg-type]
        for n, (one, verdict, score) in enumerate(chunks)
    ]
    return msgspec.json.encode(made).decode()


chunks = st.lists(
    st.tuples(
        st.sampled_from(CHUNKS), st.sampled_from(["keep", "summarize", "drop"]), st.integers(0, 1)
    ),
    max_size=4,
)
compactions = st.fixed_dictionaries(
    {
        "by": st.sampled_from(["holdfast", "holdfast", "holdfast", "host", "somebody"]),
        "follows": st.sampled_from(["right", "right", "right", "", "evt-0"]) | values,
        "decided": chunks.map(decided) | st.sampled_from(["", "[", "{}", "[1]"]) | values,
        "prompt": st.text(max_size=5) | values,
        "settings": st.sampled_from(['{"cold_days":7}', "", "[]", '{"cold_days":-1}']) | values,
    }
)
marks = st.fixed_dictionaries(
    {"chunk": st.sampled_from(CHUNKS) | values, "compaction": st.sampled_from([-2, -1, 0, 1])}
)
told = st.lists(
    st.tuples(st.just("compacted"), compactions)
    | st.tuples(st.sampled_from(["chunk_recovered", "chunk_expired"]), marks),
    max_size=14,
)


def entries(told: list[tuple[str, dict[str, Any]]], foreign: set[int]) -> list[Entry]:
    """The history of one session; some of it was brought along by others."""
    made, past, seen = [], "", {""}
    for n, (kind, given_) in enumerate(told):
        said = dict(given_)
        mine = n not in foreign
        if kind == "compacted":
            said["follows"] = past if said["follows"] == "right" else said["follows"]
            if mine:
                past = _past(past, seen, f"evt-{n}", said)
        else:
            said["compaction"] = n + 1 + said["compaction"]
        made.append(
            entry(
                event_id=f"evt-{n}",
                type=f"{kind}@1",
                payload=said,
                session_id="ses_1",
                user="ana",
                agent="coder",
                origin="system" if mine else "import",
                timestamp=f"2026-01-31T09:00:{n:02d}.000Z",
            )
        )
    return made


@settings(max_examples=examples(150))
@given(told, st.sets(st.integers(0, 13), max_size=3))
def test_what_is_cold_is_what_the_compactions_that_count_dropped(
    told: list[tuple[str, dict[str, Any]]], foreign: set[int]
) -> None:
    events = recorded(entries(told, foreign))
    rows = [
        msgspec.json.decode(row, type=ColdRow) for _, _, row in folded(events, (), (ColdView(),))
    ]
    found = {
        (row.event_seq, one.id): (row.recovered.get(one.id), row.expired.get(one.id))
        for row in rows
        for one in row.chunks
    }
    expected: dict[tuple[int, str], tuple[str | None, str | None]] = {}
    past, seen = "", {""}
    for n, event in enumerate(events):
        said: dict[str, Any] = event.payload
        if n in foreign:
            continue
        if event.kind == "compacted":
            past = _past(past, seen, event.event_id, said)
            if past == event.event_id:
                for one in _read(said["decided"]):
                    expected[event.event_seq, one] = (None, None)
        elif isinstance(said["chunk"], str):
            key = said["compaction"], said["chunk"]
            if key in expected and key[0] < event.event_seq:
                back, gone = expected[key]
                if event.kind == "chunk_recovered":
                    expected[key] = (event.timestamp, gone)
                else:
                    expected[key] = (back, gone or event.timestamp)
    assert found == expected


def _past(past: str, seen: set[str], event_id: str, said: dict[str, Any]) -> str:
    """The compaction that counts behind one: it follows the last, or one that nobody ever saw."""
    follows = said["follows"]
    new = isinstance(follows, str) and len(follows) <= 200 and follows not in seen
    fits = follows == past or new
    seen.add(event_id)
    if said["by"] == "host":
        return ""
    if said["by"] != "holdfast" or not fits:
        return past
    seen.add(follows)
    return event_id


def _read(given_: Any) -> list[str]:
    try:
        said = msgspec.json.decode(given_, type=list[Decided])
    except (msgspec.MsgspecError, TypeError):
        return []
    return [one.id for one in said if one.verdict == "drop"]


@settings(max_examples=examples(300))
@given(st.lists(st.text(max_size=300), min_size=2, max_size=2, unique=True))
def test_no_two_names_share_a_file_and_none_leads_anywhere(names: list[str]) -> None:
    one, other = map(safe, names)
    assert one != other
    for name in (one, other):
        assert name not in ("", ".", "..")
        assert not set(name) & set("/\\\0:\n")
        assert not name.startswith(".")
        assert len(name.encode()) <= 110
