"""A coding host as its hooks know it: the window it keeps, and the order in which it calls them.

The window is a list of pieces that only grows: the system prompt, what was said and done, and what hooks
gave, where the host puts it (behind the prompt, or behind the results of tools). Compaction replaces it
by a summary, which here forgets every decision; a resumed session has its own window again.
"""

from __future__ import annotations

import os
import random
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from bench.project_machine import Call, Json, Machine

SYSTEM = "You are a coding agent. Work in the ledger project, with the tools you have."
SUMMARY = "The conversation so far was about the ledger service. The work goes on."


@dataclass(frozen=True)
class Piece:
    """One part of a window: the host's own, or given by a hook."""

    text: str
    given: bool = False


@dataclass
class Window:
    """What the model sees, from one compaction to the next."""

    session: str
    pieces: list[Piece] = field(default_factory=lambda: [Piece(SYSTEM)])
    #: the text of each request, as it was when it was sent
    sent: list[str] = field(default_factory=list)

    def add(self, text: str, *, given: bool = False) -> None:
        """At the end; nothing else ever happens to a window."""
        if text:
            self.pieces.append(Piece(text, given))

    def text(self, *, given: bool = True) -> str:
        """All of it, or the host's own part of it."""
        return "\n".join(piece.text for piece in self.pieces if given or not piece.given)


@dataclass(frozen=True)
class Tool:
    """A call of a tool and what came of it; an error where there is one."""

    name: str
    given: Json
    response: Any = None
    error: str = ""


@dataclass
class Host:
    """One run of the host on a machine."""

    machine: Machine
    kills: random.Random = field(default_factory=lambda: random.Random(0))
    #: how often a hook is killed in the middle
    killed: float = 0.0
    session: str = ""
    windows: dict[str, list[Window]] = field(default_factory=dict)
    #: the contexts that were given at the beginning of a window, by source
    openings: list[tuple[str, str]] = field(default_factory=list)
    #: everything that was ever said and done, without what hooks gave
    transcript: list[str] = field(default_factory=list)
    #: tokens are counted later: what each prompt and what its tools were given
    turns: list[list[str]] = field(default_factory=list)
    _numbers: int = 0

    @property
    def window(self) -> Window:
        """The present one."""
        return self.windows[self.session][-1]

    # ---- sessions --------------------------------------------------------------------------

    def start(self, session: str, source: str = "startup") -> str:
        """Begin a session, or go on with it; what was given."""
        self.session = session
        if source in ("startup", "clear") or session not in self.windows:
            self.windows[session] = [Window(session)]
        return self._opened(source)

    def _opened(self, source: str) -> str:
        given = self._tell("SessionStart", {"source": source}, safe=True).context
        self.machine.settle()
        self.window.add(given, given=True)
        self.turns.append([given] if given else [])
        self.openings.append((source, given))
        return given

    def end(self, reason: str = "prompt_input_exit") -> None:
        """The person leaves."""
        self._tell("SessionEnd", {"reason": reason})

    def clear(self, session: str) -> str:
        """A new session in the same run."""
        self.end("clear")
        return self.start(session, "clear")

    def compact(self) -> str:
        """The window gives way to a summary; what was given."""
        self._tell("PreCompact", {"trigger": "auto", "custom_instructions": None})
        self.windows[self.session].append(Window(self.session))
        self.window.add(f"<user>\n{SUMMARY}")
        given = self._opened("compact")
        self._tell("PostCompact", {"trigger": "auto", "compact_summary": SUMMARY})
        return given

    # ---- turns -----------------------------------------------------------------------------

    def prompt(
        self,
        text: str,
        answer: str,
        tools: Sequence[Sequence[Tool]] = (),
        *,
        safe: bool = False,
        thinks: float = 0.0,
    ) -> Window:
        """A whole turn: the prompt, a thought, tools (some at the same time), the answer."""
        self.machine.time_passes()
        call = self._tell("UserPromptSubmit", {"prompt": text}, safe=safe)
        self.machine.settle()
        self._say(f"<user>\n{text}")
        self.window.add(call.context, given=True)
        self.turns.append([call.context] if call.context else [])
        self.window.sent.append(self.window.text())
        time.sleep(thinks)
        for batch in tools:
            self.batch(batch)
        self._say(f"<assistant>\n{answer}")
        self._tell("Stop", {"stop_hook_active": False, "last_assistant_message": answer}, safe=safe)
        return self.window

    def batch(self, tools: Sequence[Tool], agent: Json | None = None) -> None:
        """Calls of tools at the same time, and the request with their results."""
        named = [(tool, self._number()) for tool in tools]
        with ThreadPoolExecutor(4) as pool:
            given = list(pool.map(lambda one: self._use(one[0], one[1], agent or {}), named))
        if agent is None:
            for tool, _ in named:
                self._say(f"<call {tool.name}>\n{tool.given}\n<result>\n{_result(tool)}")
            for context in filter(None, given):
                self.window.add(context, given=True)
                self.turns[-1].append(context)
            self.window.sent.append(self.window.text())

    def sub_agent(self, task: str, tools: Sequence[Tool], answer: str) -> None:
        """Another agent with a window of its own does a part of the work."""
        agent = {"agent_id": f"a{self._number()}", "agent_type": "general-purpose"}
        self._tell("SubagentStart", agent)
        for tool in tools:
            self.batch([tool], agent)
        stopped = {"stop_hook_active": False, "last_assistant_message": answer}
        self._tell("SubagentStop", {**agent, **stopped})
        self._say(f"<call Agent>\n{task}\n<result>\n{answer}")

    def task(self, subject: str) -> None:
        """Something on the host's list is begun and done."""
        about = {"task_id": self._number(), "task_subject": subject}
        self._tell("TaskCreated", about)
        self._tell("TaskCompleted", about)

    # ---- small things ----------------------------------------------------------------------

    def _use(self, tool: Tool, number: str, agent: Json) -> str:
        named = dict(tool.given)
        if "file_path" in named:
            named["file_path"] = os.path.join(self.machine.root, named["file_path"])
        about = {"tool_name": tool.name, "tool_input": named, "tool_use_id": number, **agent}
        given = self._tell("PreToolUse", about).context
        if tool.error:
            self._tell("PostToolUseFailure", {**about, "error": tool.error, "is_interrupt": False})
        else:
            self._tell("PostToolUse", {**about, "tool_response": tool.response})
        return given

    def _tell(self, event: str, about: Json, *, safe: bool = False) -> Call:
        said = {
            "session_id": self.session,
            "transcript_path": f"{self.machine.place}/{self.session}.jsonl",
            "cwd": self.machine.root,
            "hook_event_name": event,
            **about,
        }
        dies = not safe and self.kills.random() < self.killed
        return self.machine.call(said, self.kills if dies else None)

    def _say(self, text: str) -> None:
        self.window.add(text)
        self.transcript.append(text)

    def _number(self) -> str:
        self._numbers += 1
        return f"toolu_{self._numbers:05d}_{self.session[:8]}"


def _result(tool: Tool) -> str:
    return tool.error or str(tool.response)


def session_id(name: str) -> str:
    """As the host names sessions; the same for the same name."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))
