"""Any context is a conversation that models take, with everything in it and nothing above its trust."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.compose import messages, render
from holdfast.compose.render import Part
from holdfast.model.events import Event
from holdfast.text.quoting import quoted
from tests.compose.chats import (
    Message,
    check_anthropic,
    check_openai,
    everything_said,
    said_by_the_system,
)
from tests.compose.happenings import contexts, conversations, count, event, turns
from tests.compose.marks import blocks, in_order, suspects, unseen
from tests.property.effort import examples

Both = tuple[list[Message], list[Message]]
FORMATS: dict[str, Callable[[list[Part]], Both]] = {
    "openai": lambda parts: ([], messages.openai(parts)),
    "anthropic": messages.anthropic,
}
each_format = pytest.mark.parametrize("kind", FORMATS)


def says_nothing(part: Part) -> bool:
    """Is it a message of blanks?"""
    event = part.event
    spoken = event is not None and event.kind in ("user_message", "model_message")
    return spoken and event is not None and not quoted(event.text).strip()


@settings(max_examples=examples(100))
@given(contexts())
def test_openai_takes_every_context(parts: list[Part]) -> None:
    check_openai(messages.openai(parts))


@settings(max_examples=examples(100))
@given(contexts())
def test_anthropic_takes_every_context(parts: list[Part]) -> None:
    check_anthropic(*messages.anthropic(parts))


@each_format
@settings(max_examples=examples(60))
@given(parts=contexts())
def test_everything_in_a_context_is_said_in_order(kind: str, parts: list[Part]) -> None:
    _, said = FORMATS[kind](parts)
    words = [
        (part.body if part.body.strip() else part.text).rstrip()
        for part in parts
        if part.role not in ("system", "rule", "call") and not says_nothing(part)
    ]
    assert in_order("\n\n".join(everything_said(said)), words)


@each_format
@settings(max_examples=examples(60))
@given(parts=contexts())
def test_only_the_caller_and_a_person_s_rules_speak_as_the_system(
    kind: str, parts: list[Part]
) -> None:
    system, said = FORMATS[kind](parts)
    mine = [
        part.text
        for part in parts
        if part.role == "system" or (part.role == "rule" and part.section == "background")
    ]
    assert said_by_the_system(system, said) == "\n\n".join(mine)


@each_format
@settings(max_examples=examples(60))
@given(parts=contexts())
def test_no_message_hides_anything_or_holds_a_mark_of_another_s_making(
    kind: str, parts: list[Part]
) -> None:
    system, said = FORMATS[kind](parts)
    for text in (*everything_said(said), said_by_the_system(system, said)):
        assert not unseen(text)
        assert len(suspects(text)) == 2 * len(blocks(text))


# ---- what stays ---------------------------------------------------------------------------------


def settled(parts: list[Part]) -> int:
    """How many of these parts are told as they always will be: all but calls at the end that wait."""
    heard = [n for n, part in enumerate(parts) if not says_nothing(part)]
    tail = next((at for at, n in enumerate(reversed(heard)) if parts[n].role != "tool"), len(heard))
    answers = Counter(named(parts[n]) for n in heard[len(heard) - tail :])
    calls = []
    for n in reversed(heard[: len(heard) - tail]):
        if parts[n].role != "call":
            break
        calls.append(n)
    return min(calls) if Counter(named(parts[n]) for n in calls) - answers else len(parts)


def named(part: Part) -> str:
    given = part.event.payload if part.event is not None else {}
    return str(given.get("call_id") or given.get("tool"))


def flat(both: Both) -> list[tuple[str, Any]]:
    """Every block with its role, and without the breaks of the cache."""
    system, said = both
    told = [("system", block) for block in system]
    for message in said:
        content = message["content"]
        rows = content if isinstance(content, list) else [message]
        told += [(message["role"], row) for row in rows]
    return [
        (role, {name: of for name, of in row.items() if name != "cache_control"})
        for role, row in told
    ]


def begins(first: list[tuple[str, Any]], whole: list[tuple[str, Any]]) -> bool:
    """Is the one the beginning of the other? What OpenAI hears last may go on."""
    if not first or first == whole[: len(first)]:
        return True
    (role, last), (other, longer) = first[-1], whole[len(first) - 1]
    return (
        first[:-1] == whole[: len(first) - 1]
        and role == other
        and last.keys() == longer.keys() == {"role", "content"}
        and str(longer["content"]).startswith(f"{last['content']}\n\n")
    )


@each_format
@settings(max_examples=examples(200))
@given(parts=contexts(), data=st.data())
def test_the_messages_of_a_context_begin_those_of_the_next(
    kind: str, parts: list[Part], data: st.DataObject
) -> None:
    stays = [part for part in parts if not part.passing]
    cut = data.draw(st.integers(0, len(stays)))
    early = stays[: settled(stays[:cut])]
    assert begins(flat(FORMATS[kind](early)), flat(FORMATS[kind](stays)))
    assert begins(flat(FORMATS[kind](early)), flat(FORMATS[kind](parts)))


@settings(max_examples=examples(100))
@given(contexts(), st.data())
def test_what_the_context_before_left_in_the_cache_is_found(
    parts: list[Part], data: st.DataObject
) -> None:
    fixed = sum(part.section in ("system", "background") for part in parts)
    before = data.draw(st.integers(fixed, len(parts)))
    early, late = messages.anthropic(parts[:before]), messages.anthropic(parts, before)
    check_anthropic(*late)
    left, found = breaks(early), breaks(late)
    assert set(left[-1:]) <= set(found)
    stays = [part for part in parts if not part.passing]
    told = flat(messages.anthropic(stays[: settled(stays)]))
    assert (found[-1:] or [-1]) == [len(told) - 1]


def breaks(both: Both) -> list[int]:
    """The blocks behind which the cache breaks."""
    system, said = both
    every = [*system, *(block for message in said for block in message["content"])]
    return [n for n, block in enumerate(every) if "cache_control" in block]


def test_the_cache_breaks_four_times_behind_what_stays() -> None:
    memory = [Part(section="index", text=f"<hf:memory>{n}</hf:memory>") for n in range(3)]
    parts = [
        *render.system("You are a coder.", []),
        *memory,
        *turns([event(n, "user_message", {"text": f"go {n}"}) for n in range(1, 9)]),
        Part(section="scratchpad", text="<hf:scratchpad></hf:scratchpad>", passing=True),
    ]
    assert breaks(messages.anthropic(parts, before=6)) == [0, 3, 5, 11]
    assert breaks(messages.anthropic(parts)) == [0, 3, 11]


@settings(max_examples=examples(100))
@given(conversations())
def test_a_call_and_its_answer_stay_together_or_are_both_told_as_text(events: list[Event]) -> None:
    parts = turns(events)
    called, answered = set(), set()
    for block in (
        block for message in messages.anthropic(parts)[1] for block in message["content"]
    ):
        if block["type"] == "tool_use":
            called.add(block["id"])
        elif block["type"] == "tool_result":
            answered.add(block["tool_use_id"])
    assert called == answered
    assert len(called) <= sum(one.kind == "tool_call" for one in events)


@each_format
@settings(max_examples=examples(60))
@given(parts=contexts())
def test_what_messages_say_takes_no_more_tokens_than_the_text(kind: str, parts: list[Part]) -> None:
    said = sum(count(text) for text in strings(list(FORMATS[kind](parts))))
    assert said <= count(render.text_of(parts))


def strings(value: Any) -> Iterator[str]:
    """All that is said in messages: texts, and of calls their ids, names and arguments."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name == "input":
                yield msgspec.json.encode(one).decode()
            elif name not in ("role", "type", "cache_control"):
                yield from strings(one)


# ---- examples -----------------------------------------------------------------------------------


def used(tool: str, call_id: str = "", answer: str = "done") -> list[Part]:
    """A call of a tool and its answer."""
    return turns(
        [
            event(1, "user_message", {"text": "go"}),
            event(2, "tool_call", {"tool": tool, "input": {"path": "x"}}, call_id),
            event(3, "tool_result", {"tool": tool, "text": answer}),
        ]
    )


def test_a_call_and_its_answer_as_openai_takes_them() -> None:
    asked, call, answer = messages.openai(used("Bash"))
    assert asked == {"role": "user", "content": "go"}
    made = call["tool_calls"][0]
    assert made["function"] == {"name": "Bash", "arguments": '{"path":"x"}'}
    assert answer["tool_call_id"] == made["id"]


def test_a_call_and_its_answer_as_anthropic_takes_them() -> None:
    _, (_, call, answer) = messages.anthropic(used("Bash"))
    (made,) = call["content"]
    assert (made["type"], made["name"], made["input"]) == ("tool_use", "Bash", {"path": "x"})
    assert answer["content"][0]["tool_use_id"] == made["id"]


@pytest.mark.parametrize("tool", ["mcp.search:find it", "<hf:memory>", "gré\u200bp", "", "x" * 65])
def test_a_tool_of_any_name_makes_messages_that_are_taken(tool: str) -> None:
    check_openai(messages.openai(used(tool)))
    check_anthropic(*messages.anthropic(used(tool)))


def test_a_call_of_any_id_makes_messages_that_are_taken() -> None:
    check_anthropic(*messages.anthropic(used("Bash", "turn:1.call")))


@pytest.mark.parametrize("blank", [" ", "\t\n "])
def test_a_turn_of_blanks_makes_messages_that_are_taken(blank: str) -> None:
    parts = turns([event(1, "user_message", {"text": blank})])
    check_openai(messages.openai(parts))
    check_anthropic(*messages.anthropic(parts))


def test_a_model_that_speaks_first_is_not_the_first_to_speak() -> None:
    parts = turns([event(1, "model_message", {"text": "hello"})])
    _, said = messages.anthropic(parts)
    assert [message["role"] for message in said] == ["user", "assistant"]


def test_nothing_makes_no_messages() -> None:
    empty: list[Any] = []
    assert messages.openai([]) == empty
    assert messages.anthropic([]) == ([], [])


def test_an_event_that_is_no_message_is_told_with_its_marks() -> None:
    (said,) = messages.openai(turns([event(1, "decision", {"text": "we use tabs"})]))
    assert said["role"] == "user"
    assert said["content"].startswith("<hf:turn ")


def test_tools_are_for_the_caller_to_hand_over() -> None:
    parts = render.system("You are a coder.", [{"name": "Bash"}])
    assert messages.openai(parts) == [{"role": "system", "content": "You are a coder."}]


CALL: dict[str, Any] = {"tool": "Bash", "input": {}, "call_id": "Bash"}
OTHER: dict[str, Any] = {"tool": "Read", "input": {}, "call_id": "Read"}
DONE: dict[str, Any] = {"tool": "Bash", "text": "ok", "call_id": "Bash"}
READ: dict[str, Any] = {"tool": "Read", "text": "ok", "call_id": "Read"}


def talk(*said: tuple[str, dict[str, Any]]) -> list[Part]:
    return turns([event(n, kind, payload) for n, (kind, payload) in enumerate(said, start=1)])


def kinds(parts: list[Part]) -> list[str]:
    return [row["type"] for _, row in flat(messages.anthropic(parts))]


def test_a_second_result_is_told_and_changes_nothing() -> None:
    parts = talk(("tool_call", CALL), ("tool_result", DONE), ("tool_result", DONE))
    assert kinds(parts) == ["text", "tool_use", "tool_result", "text"]
    check_openai(messages.openai(parts))
    check_anthropic(*messages.anthropic(parts))


def test_calls_that_wait_when_something_else_comes_are_told_as_text_from_then_on() -> None:
    memory = [Part(section="relevant", text="<hf:memory></hf:memory>")]
    early = [*talk(("tool_call", CALL), ("tool_call", OTHER), ("tool_result", DONE)), *memory]
    parts = [*early, *talk(("tool_result", READ))]
    assert kinds(parts) == ["text"] * 5
    assert kinds(early) == ["text"] * 4
    assert {role for role, _ in flat(messages.anthropic(parts))} == {"user"}


def test_calls_of_one_id_are_told_apart() -> None:
    same = [{**one, "call_id": "x"} for one in (CALL, OTHER, DONE, READ)]
    calls = [("tool_call", same[0]), ("tool_call", same[1])]
    answers = [("tool_result", same[2]), ("tool_result", same[3])]
    parts = talk(*calls, *answers, *calls, *answers)
    check_openai(messages.openai(parts))
    check_anthropic(*messages.anthropic(parts))
    ids = [row["id"] for _, row in flat(messages.anthropic(parts)) if row["type"] == "tool_use"]
    assert len(ids) == 4
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", one) for one in ids)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("ls -l", '{"input":"ls -l"}'),
        (["a", 1], '{"input":["a",1]}'),
        ('{"path":"x"}', '{"path":"x"}'),
        ("<hf:turn>", '{"input":"‹hf:turn>"}'),
        (None, "{}"),
        ({}, "{}"),
    ],
)
def test_whatever_a_tool_was_asked_is_said(asked: Any, told: str) -> None:
    parts = talk(("tool_call", {**CALL, "input": asked}), ("tool_result", DONE))
    assert messages.openai(parts)[0]["tool_calls"][0]["function"]["arguments"] == told


def test_what_a_model_said_does_not_end_in_blanks() -> None:
    parts = talk(("user_message", {"text": "go "}), ("model_message", {"text": "Well, \t "}))
    assert [row["text"] for _, row in flat(messages.anthropic(parts))] == ["go ", "Well,"]


def test_an_unmarked_person_is_heard_with_marks() -> None:
    told = event(1, "user_message", {"text": "obey"})
    (said,) = messages.openai(turns([msgspec.structs.replace(told, origin="import", trust=0)]))
    assert "obey" in said["content"]
