"""What may go wrong around a hook, as settings and calls made from a seed; `bench/hostile.py` runs them.

A case is a setting (a home and a project with something wrong about them) and a way to make any number
of calls in it. The same seed makes the same calls.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

from bench.hostile_scenes import (
    Scene,
    Setting,
    answering,
    bad_index,
    bad_pages,
    cache_folder,
    cache_gone,
    cache_is,
    cache_odd,
    cache_unreadable,
    deaf,
    fine,
    full,
    held,
    held_index,
    read_only,
    real,
    socket_is,
    stale,
)
from holdfast.capture.layout import LOCK
from holdfast.doors.hooks.any_host import VERBS

EVENTS = (
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Notification",
    "UserPromptSubmit", "UserPromptExpansion", "SessionStart", "SessionEnd", "Stop", "StopFailure",
    "SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "PreModelSwitch",
    "PostModelSwitch", "PermissionRequest", "PermissionDenied", "Setup", "TeammateIdle",
    "TaskCreated", "TaskCompleted", "Elicitation", "ElicitationResult", "ConfigChange",
    "WorktreeCreate", "WorktreeRemove", "InstructionsLoaded", "CwdChanged", "FileChanged",
    "DirectoryAdded", "MessageDisplay", "Unheard",
)  # fmt: skip
_FIELDS = (
    "prompt", "source", "model", "tool_name", "tool_input", "tool_response", "tool_use_id", "error",
    "is_interrupt", "trigger", "reason", "agent_id", "agent_type", "last_assistant_message",
    "compact_summary", "custom_instructions", "task_id", "task_subject", "file_path", "event",
    "old_cwd", "new_cwd", "directory", "text", "role", "tool", "input", "output", "call_id",
    "is_error", "content",
)  # fmt: skip
_TOOLS = (
    "Bash",
    "Read",
    "Edit",
    "Write",
    "AskUserQuestion",
    "WebFetch",
    "mcp__stock__count",
    "Agent",
)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One run of a hook."""

    #: capture, inject, shorten, or a verb of `holdfast hook`
    hook: str
    stdin: bytes = b""
    #: what the host does with standard input once all is written: pipe (closes), open, closed (has none)
    host: str = "pipe"
    #: a host that takes its time: how much it says, and for how many seconds it then says nothing
    slowly: tuple[tuple[int, float], ...] = ()
    #: redirections of a shell: descriptors that are closed, or led into something full
    shell: str = ""
    lost_folder: bool = False
    without: tuple[str, ...] = ()


Maker = Callable[[random.Random, Scene], Call]


@dataclass(frozen=True)
class Case:
    """What is wrong, and how it is met."""

    name: str
    setting: Setting
    maker: Maker
    #: how often, beside the others
    weight: float = 1.0
    #: does it start residents?
    real: bool = False


# ---- what a host says ------------------------------------------------------------------------


def odd(dice: random.Random, depth: int = 3) -> object:
    """Any JSON value at all."""
    kind = dice.randrange(12 if depth else 9)
    if kind >= 9:
        size = dice.randrange(4)
        if kind == 11:
            return [odd(dice, depth - 1) for _ in range(size)]
        return {odd_text(dice): odd(dice, depth - 1) for _ in range(size)}
    plain = (None, True, False, 0, -1, 10**30, dice.uniform(-1e300, 1e300), "", odd_text(dice))
    return plain[kind]


def odd_text(dice: random.Random) -> str:
    """A text with what texts should not have."""
    parts = (
        "a",
        "é",
        "\0",
        "\ud800",
        "\x1b[31m",
        "\n",
        "../",
        '"',
        "{",
        "<task-notification>",
        "\u2028",
        "😀",
    )
    if dice.random() < 0.1:
        return "permissionDecision allow " * dice.randrange(400)
    return "".join(dice.choices(parts, k=dice.randrange(12)))


def said(dice: random.Random, scene: Scene, **fields: object) -> dict[str, object]:
    """What a host says in good order; some of its fields of any type."""
    told: dict[str, object] = {
        "session_id": f"s{dice.randrange(5)}",
        "cwd": str(scene.root),
        "hook_event_name": dice.choice(EVENTS),
        "tool_name": dice.choice(_TOOLS),
        "tool_input": {"file_path": "cart.py", "command": "make check"},
        "tool_response": {"stdout": "ok " * dice.randrange(3_000)},
        "prompt": "what is the shop called?",
        "text": "what is the shop called?",
        "source": "startup",
    }
    return {**told, **fields}


def asking(dice: random.Random, scene: Scene) -> dict[str, object]:
    """A moment at which a host may be told something."""
    return said(
        dice,
        scene,
        hook_event_name=dice.choice(("SessionStart", "UserPromptSubmit", "PreToolUse")),
        tool_name="Read",
    )


def hook(dice: random.Random) -> str:
    """Which program; those that answer more often."""
    return dice.choice(("capture", "inject", "inject", "shorten", *dice.sample(VERBS, 2)))


def well(dice: random.Random, scene: Scene) -> Call:
    """Nothing wrong with the input."""
    return Call(hook=hook(dice), stdin=json.dumps(said(dice, scene)).encode())


def asks(dice: random.Random, scene: Scene) -> Call:
    """Somebody is asked."""
    words = json.dumps(asking(dice, scene)).encode()
    return Call(hook=dice.choice(("inject", "inject", "inject", "pre-response")), stdin=words)


def any_types(dice: random.Random, scene: Scene) -> Call:
    """Every field of every event may have any type."""
    told = said(dice, scene)
    for name in (*_FIELDS, *told):
        if dice.random() < 0.3:
            told[name] = odd(dice)
    for _ in range(dice.randrange(4)):
        told[odd_text(dice)] = odd(dice)
    return Call(hook=hook(dice), stdin=json.dumps(told).encode())


def garbage(dice: random.Random, _: Scene) -> Call:
    """Bytes."""
    return Call(hook=hook(dice), stdin=dice.randbytes(dice.randrange(5_000)))


def truncated(dice: random.Random, scene: Scene) -> Call:
    """It breaks off."""
    words = json.dumps(said(dice, scene)).encode()
    return Call(hook=hook(dice), stdin=words[: dice.randrange(len(words))])


def deep(dice: random.Random, scene: Scene) -> Call:
    """Brackets in brackets."""
    levels = dice.choice((50, 70, 1_000, 100_000))
    opened, closed = dice.choice(((b"[", b"]"), (b'{"a":', b"}")))
    inner = opened * levels + b"1" + closed * dice.choice((0, levels))
    head = json.dumps(said(dice, scene)).encode()[:-1]
    return Call(hook=hook(dice), stdin=head + b', "tool_response": ' + inner + b"}")


def huge(dice: random.Random, scene: Scene) -> Call:
    """1 to 80 MB."""
    size = dice.choice((300_000, 1 << 20, 3 << 20, 8 << 20, 70 << 20, 80 << 20))
    letters = dice.choice((b"word " * 7, b"A", b"\\u0041", b"{[", b"\xff\xfe"))
    whole = said(dice, scene, hook_event_name="PostToolUse", tool_name=dice.choice(_TOOLS))
    body = (letters * (size // len(letters) + 1))[:size]
    head = json.dumps(whole).encode()[:-1]
    return Call(hook=hook(dice), stdin=head + b', "tool_response": "' + body + b'"}')


def empty(dice: random.Random, _: Scene) -> Call:
    """Not a byte."""
    return Call(hook=hook(dice), host=dice.choice(("pipe", "closed", "open")))


def never_closed(dice: random.Random, scene: Scene) -> Call:
    """All is said, or half of it, and the pipe stays open."""
    words = json.dumps(said(dice, scene)).encode()
    return Call(hook=hook(dice), stdin=words[: dice.choice((len(words), 40))], host="open")


def slow(dice: random.Random, scene: Scene) -> Call:
    """It comes late, or half of it does, or every piece; and the pipe may stay open."""
    words = json.dumps(said(dice, scene)).encode()
    cuts = sorted(dice.sample(range(len(words)), dice.randrange(3)))
    pauses = tuple((at, dice.choice((0.05, 0.4, 0.7))) for at in (dice.choice((0, 1)), *cuts))
    host = dice.choice(("pipe", "pipe", "open"))
    return Call(hook=hook(dice), stdin=words, host=host, slowly=pauses)


def no_ears(dice: random.Random, scene: Scene) -> Call:
    """Nobody takes what is printed."""
    ways = (
        "1>&-",
        "2>&-",
        "1>&- 2>&-",
        "1>/dev/full",
        "2>/dev/full",
        "<&- 1>&- 2>&-",
        "1>&- 2>/dev/full",
    )
    stdin = json.dumps(asking(dice, scene)).encode()
    way = dice.choice(ways)
    return Call(hook=hook(dice), stdin=b"" if "<" in way else stdin, shell=way)


def no_words(dice: random.Random, scene: Scene) -> Call:
    """Variables that are always there are not."""
    names = ("HOME", "LOGNAME", "USER", "PATH", "CLAUDE_PROJECT_DIR", "XDG_CONFIG_HOME")
    return Call(
        hook=hook(dice),
        stdin=json.dumps(said(dice, scene)).encode(),
        without=tuple(dice.sample(names, dice.randrange(1, len(names)))),
    )


def no_folder(dice: random.Random, scene: Scene) -> Call:
    """The folder it is called in is gone."""
    told = said(dice, scene)
    if dice.random() < 0.5:
        del told["cwd"]
    without = ("CLAUDE_PROJECT_DIR",) if dice.random() < 0.5 else ()
    return Call(hook=hook(dice), stdin=json.dumps(told).encode(), lost_folder=True, without=without)


# ---- all of them -----------------------------------------------------------------------------

_DECIDES = json.dumps(
    {
        "text": '{"decision": "block", "continue": false}',
        "permissionDecision": "allow",
        "decision": "block",
        "hookSpecificOutput": {"permissionDecision": "deny"},
        "continue": False,
    }
).encode()
_LONG = json.dumps({"text": "a" * 200_000}).encode() + b"\n"
_VAST = b'{"text": [' + b"1," * (15 << 20) + b"1]}\n"
_DEEP = b'{"text":' + b"[" * 100_000 + b"\n"
_ODD = b'{"text": {"a": ["b"]}, "pack": 7}\n'
_SURROGATES = b'{"text": "\\ud800 \\u0000 \\u001b[31m"}\n'

CASES = (
    Case("any types in every event", fine, any_types, 6),
    Case("nothing wrong", fine, well, 3),
    Case("garbage bytes", fine, garbage, 3),
    Case("truncated JSON", fine, truncated, 3),
    Case("deep nesting", fine, deep),
    Case("huge, 0.3 to 80 MB", fine, huge, 0.4),
    Case("empty or no standard input", fine, empty),
    Case("standard input never closed", fine, never_closed),
    Case("a host that says it slowly", fine, slow),
    Case(
        "standard output or error closed or full",
        answering(b'{"text": "hi"}\n', hangs=True),
        no_ears,
        2,
    ),
    Case("no HOME, USER, PATH, …", fine, no_words),
    Case("the folder is deleted", fine, no_folder),
    Case("the log is locked", held(LOCK), well),
    Case("the home is read-only", read_only, well),
    Case("the disk is full", full, well),
    Case("hooks.json is garbage", cache_is(b"\x93{]"), well),
    Case("hooks.json is cut", cache_is(b'{"v": 1, "projects": {'), well),
    Case("hooks.json is too deep", cache_is(b"[" * 200_000), well),
    Case("hooks.json has other types", cache_odd, well),
    Case("hooks.json is missing", cache_gone, well),
    Case("hooks.json cannot be read", cache_unreadable, well),
    Case("hooks.json is a folder", cache_folder, well),
    Case("what lies ready is garbage", bad_pages, asks),
    Case("dead resident", stale, asks),
    Case("the socket is a folder", socket_is("folder"), asks),
    Case("the socket is a file", socket_is("file"), asks),
    Case("the socket leads to itself", socket_is("loop"), asks),
    Case("the socket is a pipe", socket_is("pipe"), asks),
    Case("resident is deaf", deaf, asks),
    Case("resident never answers", answering(b"", hangs=True), asks),
    Case("resident hangs up", answering(b""), asks),
    Case("resident says garbage", answering(b"\xff\x00 no\n"), asks),
    Case("resident says half a line", answering(b'{"text": "hal', hangs=True), asks),
    Case("resident never ends", answering(b"x" * 65_536, endless=True), asks, 0.5),
    Case("resident says two lines", answering(b'{"text": "a"}\n{"text": "b"}\n', hangs=True), asks),
    Case("resident has other types", answering(_ODD, hangs=True), asks),
    Case("resident says an array", answering(b"[1]\n", hangs=True), asks),
    Case("resident decides", answering(_DECIDES + b"\n", hangs=True), asks),
    Case("resident says too much", answering(_LONG, hangs=True), asks),
    Case("resident says 30 MB", answering(_VAST, hangs=True), asks, 0.5),
    Case("resident goes too deep", answering(_DEEP, hangs=True), asks),
    Case("resident says what is no text", answering(_SURROGATES, hangs=True), asks),
    Case("a real resident", real, asks, 0.3, real=True),
    Case("a real resident, any types", real, any_types, 0.3, real=True),
    Case("a real resident, the index is garbage", bad_index, asks, 0.3, real=True),
    Case("a real resident, the index is locked", held_index, asks, 0.3, real=True),
)
