"""Any context is a conversation that models take, with everything in it and nothing above its trust."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from holdfast.compose import messages, render
from holdfast.compose.render import Part
from holdfast.model.events import Event
from tests.compose.chats import (
    Message,
    check_anthropic,
    check_openai,
    everything_said,
    said_by_the_system,
)
from tests.compose.happenings import contexts, conversations, event, turns
from tests.compose.marks import SUSPECT, blocks, in_order, unseen
from tests.property.effort import examples

Both = tuple[list[Message], list[Message]]
FORMATS: dict[str, Callable[[list[Part]], Both]] = {
    "openai": lambda parts: ([], messages.openai(parts)),
    "anthropic": messages.anthropic,
}
each_format = pytest.mark.parametrize("kind", FORMATS)


def says_nothing(part: Part) -> bool:
    """Is it a message of blanks?"""
    spoken = part.event is not None and part.event.kind in ("user_message", "model_message")
    return spoken and not part.body.strip()


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
        part.body or part.text
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
        assert len(SUSPECT.findall(text)) == 2 * len(blocks(text))


@settings(max_examples=examples(60))
@given(contexts())
def test_the_last_break_of_the_cache_is_the_last_that_stays(parts: list[Part]) -> None:
    system, said = messages.anthropic(parts)
    content = [block for message in said for block in message["content"]]
    stays = [block for block in content if "hf:scratchpad" not in block.get("text", "")]
    broken = [n for n, block in enumerate(content) if "cache_control" in block]
    assert bool(broken) == any(part.role != "system" and not part.passing for part in parts)
    if broken:
        assert content[broken[-1]] == stays[-1]
    if system:
        assert "cache_control" in system[-1]


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
