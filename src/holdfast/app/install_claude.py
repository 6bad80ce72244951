"""Claude Code: which of its events Holdfast listens to, and which files say so.

`EVENTS` is the whole list. What is not on it is left out for a reason: a hook on WorktreeCreate replaces
what the host does there itself, and a hook on a permission event decides for the person; Holdfast does
neither. Display events repeat what other events say.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any, Literal

import msgspec

from holdfast.capture.place import CACHE
from holdfast.errors import Invalid, Unavailable

from .install_files import current
from .install_parts import SERVER, Block, Hooks, Part, Server, Skill
from .install_words import AGENT, Speech, skills

Scope = Literal["project", "user"]
HOST = "claude-code"
#: seconds; the scripts leave by themselves after half of one, so this is for a machine that hangs
TIMEOUT = 5
#: where the package lies
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: how CLAUDE.md takes in all that the other file says
_IMPORT = b"@AGENTS.md"
#: characters that end a quoted command within a skill or that the host replaces there
_TROUBLE = frozenset("`$\n\r\0")
#: files whose change from outside says that the project is another now; names in the session's folder,
#: because the host watches no patterns
_WATCHED = "|".join(
    (
        "CLAUDE.md",
        "AGENTS.md",
        "README.md",
        ".holdfast.toml",
        "pyproject.toml",
        "package.json",
        "Cargo.toml",
        "go.mod",
        "Makefile",
    )
)


class Event(msgspec.Struct, frozen=True):
    """One event of the host and the script that is called for it."""

    name: str
    script: Literal["claude_capture.py", "claude_inject.py"]
    #: which of its occurrences: of tools by name, of files by name; None where all are meant
    matcher: str | None = None


_CAPTURE: Literal["claude_capture.py"] = "claude_capture.py"
_INJECT: Literal["claude_inject.py"] = "claude_inject.py"

EVENTS = (
    Event("SessionStart", _INJECT),
    Event("UserPromptSubmit", _INJECT),
    Event("PreToolUse", _INJECT, "*"),
    Event("PostToolUse", _CAPTURE, "*"),
    Event("PostToolUseFailure", _CAPTURE, "*"),
    Event("PreCompact", _CAPTURE),
    Event("PostCompact", _CAPTURE),
    Event("Stop", _CAPTURE),
    Event("StopFailure", _CAPTURE),
    Event("SubagentStart", _CAPTURE),
    Event("SubagentStop", _CAPTURE),
    Event("TaskCreated", _CAPTURE),
    Event("TaskCompleted", _CAPTURE),
    Event("CwdChanged", _CAPTURE),
    Event("FileChanged", _CAPTURE, _WATCHED),
    Event("DirectoryAdded", _CAPTURE),
    Event("SessionEnd", _CAPTURE),
)


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What the commands name: this interpreter, these scripts, this home."""

    python: str
    scripts: str
    home: str

    def script(self, name: str) -> str:
        """Where a script lies."""
        return os.path.join(self.scripts, name)


def this_machine(home: str) -> Machine:
    """The machine this runs on; Invalid where its paths cannot stand in a command."""
    if not sys.executable:
        raise Unavailable("this Python does not say where it lies; start holdfast with another")
    scripts = os.path.join(PACKAGE, "doors", "hooks")
    for path in (sys.executable, scripts, home):
        if _TROUBLE & set(path):
            raise Invalid(
                f"{path!r} has a character that cannot stand in a host's command; move it"
            )
    return Machine(python=sys.executable, scripts=scripts, home=home)


def hooks(machine: Machine, shorten: int | None) -> dict[str, dict[str, Any]]:
    """The group of each event, as the host's settings say it."""
    return {event.name: _group(event, machine, shorten) for event in EVENTS}


def _group(event: Event, machine: Machine, shorten: int | None) -> dict[str, Any]:
    script, more = event.script, []
    if shorten is not None and event.name == "PostToolUse":
        script, more = _INJECT, ["--shorten", str(shorten)]
    words = [machine.python, "-I", "-S", machine.script(script)]
    command = shlex.join([*words, os.path.join(machine.home, CACHE), *more])
    matcher = {} if event.matcher is None else {"matcher": event.matcher}
    return {**matcher, "hooks": [{"type": "command", "command": command, "timeout": TIMEOUT}]}


def server(machine: Machine) -> dict[str, Any]:
    """How the host starts the memory server."""
    # -P: the folder a project is in is no place to take programs from
    words = ["-P", "-m", "holdfast", "mcp", "--agent", AGENT, "--home", machine.home]
    return {"type": "stdio", "command": machine.python, "args": words}


def server_command(machine: Machine) -> str:
    """What a person runs to add the server for all projects."""
    said = server(machine)
    added = ["claude", "mcp", "add", "--scope", "user", SERVER, "--"]
    return shlex.join([*added, said["command"], *said["args"]])


SERVER_REMOVED = f"claude mcp remove --scope user {SERVER}"


def speech(machine: Machine, tools: str = f"mcp__{SERVER}__") -> Speech:
    """How skills call this machine's Holdfast."""
    return Speech(
        program=shlex.join([machine.python, "-P", "-m", "holdfast"]),
        home=shlex.quote(machine.home),
        tools=tools,
    )


def parts(
    machine: Machine, scope: Scope, root: str, *, shorten: int | None, memory_file: bool
) -> list[Part]:
    """What belongs into which file of a project, or of a person."""
    folder = os.path.join(root, ".claude") if scope == "project" else root
    settings = "settings.local.json" if scope == "project" else "settings.json"
    found: list[Part] = [Hooks(path=os.path.join(folder, settings), groups=hooks(machine, shorten))]
    if scope == "project":
        found.append(Server(path=os.path.join(root, ".mcp.json"), server=server(machine)))
    found += [
        Skill(path=os.path.join(folder, "skills", name, "SKILL.md"), text=text)
        for name, text in skills(speech(machine)).items()
    ]
    return found + ([Block(path=path) for path in _told_in(scope, root)] if memory_file else [])


def memory_files(scope: Scope, root: str) -> list[str]:
    """The files of instructions a block may stand in."""
    names = ("CLAUDE.md", "AGENTS.md") if scope == "project" else ("CLAUDE.md",)
    return [os.path.join(root, name) for name in names]


def _told_in(scope: Scope, root: str) -> list[str]:
    """Where agents are told, once: in each file there is, in CLAUDE.md when there is none."""
    there: dict[str, str] = {}
    for path in memory_files(scope, root):
        if os.path.exists(path):
            there.setdefault(os.path.realpath(path), path)
    first, *others = there.values() or memory_files(scope, root)[:1]
    return others if others and _IMPORT in (current(first) or b"") else [first, *others]
