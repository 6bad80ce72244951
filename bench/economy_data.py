"""Real work of agents, as its authors publish it, made into one form: sessions of messages.

SWE-agent trajectories (`*.traj`), tau-bench dialogues (`*.json`) and BEAM conversations (`bench.data`),
files whole and unchanged. A script is what one agent goes through: one session, or several of them in a
row. Where a trajectory writes its command into the text, the command is made the call of a tool and the
observation its result, as newer trajectories have it. There is one system prompt for a whole script,
that of its first session. BEAM has none; its questions with gold are asked at the end, each in a
session of its own, and answered with upstream's answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from bench.data import Conversation, Question, find, read
from holdfast.errors import Invalid, NotFound

Role = Literal["user", "assistant", "tool"]
Dataset = Literal["swe-agent", "tau-bench", "beam"]
_SHELL = "bash"
_ASSISTANT = "You are a helpful assistant who knows the person from earlier conversations."
_NUMBER = re.compile(r"^\d+-")
_Shape = TypeVar("_Shape")


class Call(msgspec.Struct, frozen=True):
    """What a model asks a tool to do."""

    id: str
    tool: str
    arguments: dict[str, Any]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One thing said or done."""

    role: Role
    text: str = ""
    calls: tuple[Call, ...] = ()
    #: of a result: the tool, and the call it answers
    tool: str = ""
    answers: str = ""

    @property
    def asked(self) -> tuple[str, ...]:
        """What tools are asked: the values of their arguments."""
        return tuple(value for call in self.calls for value in _values(call.arguments))

    @property
    def plain(self) -> str:
        """Everything it says, the values of arguments a line each."""
        return "\n".join([self.text, *self.asked])


class Sitting(msgspec.Struct, frozen=True, kw_only=True):
    """One session."""

    name: str
    messages: tuple[Message, ...]
    #: texts that whoever answers here must know; of a session that is nothing but a question
    gold: tuple[str, ...] = ()


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions of one agent, one after the other."""

    name: str
    system: str
    sittings: tuple[Sitting, ...]
    #: are all of them one session for whoever remembers?
    one_session: bool = False

    @property
    def asks(self) -> bool:
        """Are there questions with gold? Then nothing else of it is judged."""
        return any(sitting.gold for sitting in self.sittings)


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _values(one)
    elif value is not None:
        yield str(value)


# ---- reading -------------------------------------------------------------------------------------


def alone(data: Path, dataset: Dataset) -> list[Script]:
    """Each session of a data set as a script of its own."""
    return [script for _, script in _READERS[dataset](data)]


def chained(data: Path, dataset: Dataset) -> list[Script]:
    """Sessions that belong together as one script each; what belongs to nothing is left out."""
    together: dict[str, list[Script]] = {}
    for group, script in _READERS[dataset](data):
        together.setdefault(group, []).append(script)
    return [
        Script(
            name=f"{group} ×{len(scripts)}",
            system=scripts[0].system,
            sittings=tuple(one for script in scripts for one in script.sittings),
        )
        for group, scripts in together.items()
        if len(scripts) > 1
    ]


def _decoded(path: Path, shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.json.decode(path.read_bytes(), type=shape)
    except msgspec.DecodeError as exc:
        raise Invalid(f"{path.name} is not what it is called: {exc}") from exc


def _script(name: str, said: Sequence[Message], system: str) -> Script:
    if not any(message.role == "assistant" for message in said):
        raise Invalid(f"in {name} no model says anything")
    return Script(name=name, system=system, sittings=(Sitting(name=name, messages=tuple(said)),))


def _plain(content: Any) -> str:
    """The words of a content: a text, or blocks of which some are text."""
    if isinstance(content, list):
        return "\n".join(_plain(block.get("text")) for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""


class _Function(msgspec.Struct):
    name: str
    arguments: Any = None


class _ToolCall(msgspec.Struct):
    function: _Function
    id: str = ""


def _call(given: _ToolCall) -> Call:
    asked: Any = given.function.arguments
    if isinstance(asked, str):
        try:
            asked = msgspec.json.decode(asked)
        except msgspec.DecodeError:
            asked = {"arguments": asked}
    return Call(given.id, given.function.name, asked if isinstance(asked, dict) else {"": asked})


# ---- SWE-agent -----------------------------------------------------------------------------------


class _Entry(msgspec.Struct):
    role: str
    content: Any = None
    thought: str | None = None
    action: str | None = None
    tool_calls: list[_ToolCall] | None = None
    tool_call_ids: list[str] | None = None


class _Trajectory(msgspec.Struct):
    history: list[_Entry]


def repository(stem: str) -> str:
    """What a trajectory works on, by the name of its file: without its number and its issue."""
    named = _NUMBER.sub("", stem)
    return named.rpartition("-")[0] or named


def _swe(data: Path) -> Iterator[tuple[str, Script]]:
    for path in _files(data, "swe-agent", "*.traj"):
        held = _decoded(path, _Trajectory).history
        system = "\n".join(_plain(one.content) for one in held if one.role == "system")
        said = [one for one in held if one.role != "system"]
        yield repository(path.stem), _script(path.stem, _worked(said), system)


def _worked(entries: Sequence[_Entry]) -> list[Message]:
    said: list[Message] = []
    for number, one in enumerate(entries):
        if one.role == "assistant":
            said.append(_acted(one, f"call_{number}"))
            continue
        before = said[-1].calls if said and said[-1].role == "assistant" else ()
        if before or one.role == "tool":
            named = (one.tool_call_ids or [""])[0]
            call = next((c for c in before if c.id == named), before[0] if before else None)
            said.append(
                Message(
                    role="tool",
                    text=_plain(one.content),
                    tool=call.tool if call else _SHELL,
                    answers=call.id if call else named,
                )
            )
        else:
            said.append(Message(role="user", text=_plain(one.content)))
    return said


def _acted(one: _Entry, call_id: str) -> Message:
    if one.tool_calls:
        calls = tuple(map(_call, one.tool_calls))
        return Message(role="assistant", text=_plain(one.content), calls=calls)
    if not (one.action or "").strip():
        return Message(role="assistant", text=_plain(one.content))
    call = Call(call_id, _SHELL, {"command": one.action})
    return Message(role="assistant", text=one.thought or "", calls=(call,))


# ---- tau-bench -----------------------------------------------------------------------------------


class _Turn(msgspec.Struct):
    role: str
    content: Any = None
    tool_calls: list[_ToolCall] | None = None
    tool_call_id: str = ""
    name: str = ""


class _Dialogue(msgspec.Struct):
    traj: list[_Turn]


def _tau(data: Path) -> Iterator[tuple[str, Script]]:
    for path in _files(data, "tau-bench", "*.json"):
        for number, dialogue in enumerate(_decoded(path, list[_Dialogue]), 1):
            held = dialogue.traj
            system = "\n".join(_plain(one.content) for one in held if one.role == "system")
            said = [_served(one) for one in held if one.role != "system"]
            yield path.stem, _script(f"{path.stem}-{number}", said, system)


def _served(one: _Turn) -> Message:
    if one.role == "tool":
        return Message(
            role="tool", text=_plain(one.content), tool=one.name, answers=one.tool_call_id
        )
    calls = tuple(map(_call, one.tool_calls or ()))
    role: Role = "assistant" if one.role == "assistant" else "user"
    return Message(role=role, text=_plain(one.content), calls=calls)


# ---- BEAM ----------------------------------------------------------------------------------------


def _beam(data: Path) -> Iterator[tuple[str, Script]]:
    for conversation in read(find(data, "beam"), "beam"):
        sessions: dict[int, list[Message]] = {}
        for turn in conversation.turns:
            sessions.setdefault(turn.session, []).append(Message(role=turn.role, text=turn.text))
        held = [
            Sitting(name=f"{conversation.name}-{number + 1}", messages=tuple(said))
            for number, said in sessions.items()
        ]
        asked = [
            _asked(conversation, question, f"{conversation.name}-question-{number}")
            for number, question in enumerate(conversation.questions, 1)
            if question.gold and question.answerable
        ]
        script = Script(name=conversation.name, system=_ASSISTANT, sittings=(*held, *asked))
        yield conversation.name, script


def _asked(conversation: Conversation, question: Question, name: str) -> Sitting:
    return Sitting(
        name=name,
        messages=(
            Message(role="user", text=question.text),
            Message(role="assistant", text=question.answer or "I would have to look that up."),
        ),
        gold=tuple(conversation.turns[place].text for place in question.gold),
    )


def _files(data: Path, folder: str, form: str) -> list[Path]:
    found = sorted((data / folder).glob(form))
    if not found:
        raise NotFound(f"no {form} of {folder} in {data}")
    return found


_READERS = {"swe-agent": _swe, "tau-bench": _tau, "beam": _beam}
