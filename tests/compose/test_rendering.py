"""Whatever is shown, a block of a context opens once, closes once, and holds what it says it holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.compose import render
from holdfast.compose.items import Item
from holdfast.compose.render import Part
from holdfast.model.events import Event
from tests.compose.happenings import contexts, conversations, event, items, turns
from tests.compose.marks import Block, blocks, entries, numbered, unseen
from tests.compose.wordings import WAYS_OUT, hostile, said
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND

shown = st.lists(st.tuples(items(hostile), st.integers(0, 3)), min_size=1, max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | hostile,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(hostile, inner, max_size=2),
    max_leaves=4,
)


def of(parts: list[Part]) -> list[Block]:
    return blocks(render.text_of(parts))


@settings(max_examples=examples(150))
@given(shown)
def test_a_section_holds_its_entries_rules_apart_and_nothing_else(
    given: list[tuple[Item, int]],
) -> None:
    told = [(item, n, level) for n, (item, level) in enumerate(given, start=7)]
    made = of(render.memory("relevant", told))
    rules = {n for item, n, _ in told if item.rule}
    held = {block.mark: entries(block).keys() for block in made}
    assert held.get("instructions", set()) == rules
    assert held.get("memory", set()) == {n for _, n, _ in told} - rules
    assert {block.attributes["part"] for block in made} == {"relevant"}
    assert all(("note" in block.attributes) == (block.mark == "memory") for block in made)
    assert not unseen("".join(block.body for block in made))


@settings(max_examples=examples(150))
@given(items(hostile), st.integers(1, 999), st.integers(0, 3))
def test_only_the_first_line_of_an_entry_begins_at_the_edge(
    item: Item, number: int, level: int
) -> None:
    first, *others = render.entry(item, number, level).split("\n")
    assert first.startswith((f"[{number}] ", f"[{number}+] "))
    assert all(line.startswith("  ") for line in others)
    assert first.startswith(f"[{number}+]") == (item.levels[level] != item.levels[0])


@settings(max_examples=examples(150))
@given(conversations())
def test_each_event_is_one_block_that_says_who_and_when(events: list[Event]) -> None:
    made = of(turns(events))
    assert [block.mark for block in made] == ["turn"] * len(events)
    assert [block.attributes["at"] for block in made] == [
        one.timestamp[:16].replace("T", " ") for one in events
    ]
    assert all(block.attributes.keys() == {"who", "at"} for block in made)
    assert not unseen(render.text_of(turns(events)))


@settings(max_examples=examples(150))
@given(st.dictionaries(said, json_values, min_size=1, max_size=4), st.integers(1, 99))
def test_notes_of_any_content_are_one_block(notes: dict[str, Any], version: int) -> None:
    (block,) = blocks(render.scratchpad(notes, version))
    assert block.mark == "scratchpad"
    assert block.attributes["version"] == str(version)
    assert not unseen(block.body)


def test_the_name_of_a_note_cannot_open_a_mark() -> None:
    (block,) = blocks(render.scratchpad({"<hf": "memory>", "</hf": "scratchpad>"}, 1))
    assert block.mark == "scratchpad"


@settings(max_examples=examples(100), phases=AS_FOUND)
@given(said, st.lists(hostile, min_size=1, max_size=3))
def test_tools_of_any_description_are_one_block_of_json(system: str, described: list[str]) -> None:
    tools = [{"name": f"tool{n}", "description": text} for n, text in enumerate(described)]
    made = of(render.system(system, tools))
    assert [block.mark for block in made] == ["tools"]
    assert [tool["name"] for tool in json.loads(made[0].body)] == [tool["name"] for tool in tools]
    assert not unseen(render.text_of(render.system(system, tools)))


@pytest.mark.parametrize("text", ["", " ", "\u200b", "\x00\n"])
def test_a_system_that_says_nothing_is_no_part(text: str) -> None:
    assert render.system(text, []) == []


@settings(max_examples=examples(100))
@given(contexts())
def test_a_whole_context_is_read_back_as_it_was_written(parts: list[Part]) -> None:
    text = render.text_of(parts)
    made = blocks(text)
    marked = [part for part in parts if part.role != "system"]
    assert [text[block.start : block.end] for block in made] == [part.text for part in marked]
    numbered(text)
    assert not unseen(text)


@settings(max_examples=examples(60))
@given(contexts(), st.data())
def test_fewer_parts_are_the_beginning_of_more(parts: list[Part], data: st.DataObject) -> None:
    kept = data.draw(st.integers(0, len(parts)))
    assert render.text_of(parts).startswith(render.text_of(parts[:kept]))


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_what_is_left_out_is_named(first: int, last: int) -> None:
    (block,) = of([render.left_out(first, last)])
    assert (block.mark, block.body) == ("earlier", "")
    assert block.attributes == {"expand": f"events {first}-{last}"}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_every_known_way_out_is_closed_wherever_it_stands(way: str) -> None:
    item = Item(
        kind="memory", id="mem_1", seq=1, head=f"{way} 2026", levels=(way + "x",) * 4, trust=3
    )
    said_so = event(1, "tool_result", {"tool": way, "speaker": way, "text": way, way: way})
    parts = [
        *render.system(f"x{way}", []),
        *render.memory("index", [(item, 1, 0)]),
        *turns([said_so]),
        Part(section="scratchpad", text=render.scratchpad({"a": way, "b": [way, {way: 1}]}, 1)),
    ]
    assert [block.mark for block in of(parts)] == ["memory", "turn", "scratchpad"]
    assert not unseen(render.text_of(parts))
