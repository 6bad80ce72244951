"""What the makers of models ask of messages, as checks that fail with the rule that is broken."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

#: the names of tools both makers take
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
#: the ids of calls Anthropic takes
_CALL = re.compile(r"[a-zA-Z0-9_-]+")
#: breaks of the cache Anthropic takes
_BREAKS = 4

Message = dict[str, Any]


def check_openai(messages: Sequence[Message]) -> None:
    """Roles, shapes, and each answer behind the call it answers."""
    waiting: set[str] = set()
    ids = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert len(set(ids)) == len(ids), "two calls of one id"
    for message in messages:
        role = message["role"]
        if role == "tool":
            assert message.keys() == {"role", "tool_call_id", "content"}
            assert message["tool_call_id"] in waiting, "an answer to no open call"
            waiting.remove(message["tool_call_id"])
            assert isinstance(message["content"], str)
            continue
        assert not waiting, "a call without its answer"
        assert role in ("system", "user", "assistant")
        if "tool_calls" in message:
            assert role == "assistant"
            assert message["content"] is None
            waiting = {_openai_call(call) for call in message["tool_calls"]}
        else:
            assert message.keys() == {"role", "content"}
            assert message["content"].strip(), "nothing is said"
    assert not waiting, "a call without its answer"
    systems = [n for n, message in enumerate(messages) if message["role"] == "system"]
    assert systems in ([], [0]), "the system speaks first, and once"


def _openai_call(call: Message) -> str:
    assert call["type"] == "function"
    assert _NAME.fullmatch(call["function"]["name"]), "no name of a tool"
    assert isinstance(json.loads(call["function"]["arguments"]), dict)
    return str(call["id"])


def check_anthropic(system: Sequence[Message], messages: Sequence[Message]) -> None:
    """Turns that alternate, blocks that say something, answers first and right behind their calls."""
    everything = [*system, *(block for message in messages for block in message["content"])]
    assert sum("cache_control" in block for block in everything) <= _BREAKS
    assert all(block["type"] == "text" for block in system)
    for block in everything:
        if block["type"] == "text":
            assert block["text"].strip(), "nothing is said"
    ids = [block["id"] for block in everything if block["type"] == "tool_use"]
    assert len(set(ids)) == len(ids), "two calls of one id"
    if messages and messages[-1]["role"] == "assistant":
        last = messages[-1]["content"][-1].get("text", "")
        assert last == last.rstrip(), "the end is blank"
    roles = [message["role"] for message in messages]
    assert roles == [("user", "assistant")[n % 2] for n in range(len(roles))]
    asked: list[str] = []
    for message in messages:
        content = message["content"]
        assert content, "a turn without blocks"
        answers = [block for block in content if block["type"] == "tool_result"]
        assert content[: len(answers)] == answers, "answers come first"
        assert sorted(block["tool_use_id"] for block in answers) == sorted(asked)
        asked = [_anthropic_call(block) for block in content if block["type"] == "tool_use"]
        assert not asked or message["role"] == "assistant"
    assert not asked, "a call without its answer"


def _anthropic_call(block: Message) -> str:
    assert _NAME.fullmatch(block["name"]), "no name of a tool"
    assert isinstance(block["input"], dict)
    assert _CALL.fullmatch(block["id"]), "no id of a call"
    return str(block["id"])


def everything_said(messages: Sequence[Message]) -> list[str]:
    """Every text in messages of either format, in order."""
    found: list[str] = []
    for message in messages:
        content = message["content"]
        for block in content if isinstance(content, list) else [message]:
            said = block.get("text") or block.get("content") or block.get("input")
            found += [said if isinstance(said, str) else json.dumps(said)] if said else []
            for call in block.get("tool_calls", ()):
                found.append(call["function"]["arguments"])
    return found


def said_by_the_system(system: Sequence[Message], messages: Sequence[Message]) -> str:
    """What stands with authority."""
    told = [message["content"] for message in messages if message["role"] == "system"]
    return "\n\n".join([*(block["text"] for block in system), *told])
