"""What Claude Code is told, and how: one JSON object, never a decision about what it may do."""

from __future__ import annotations

import json

from holdfast.capture.origin import person
from holdfast.capture.redact import cut

from . import ask, claude, run
from .caught import Json, text
from .told import Told

#: a longer text is put into a file by the host, of which the model sees the beginning only
_MOST_CHARS = 9_900
#: tools that read or change a file, and where they say which
_FILES = {
    "Read": "file_path",
    "Edit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
}
#: of a prompt and of a file's name, what is asked about
_MOST_ASKED, _LONGEST_NAME = 8_000, 1_000
#: of a long output, what stays
_EDGE = 1_500


def say(told: Told) -> None:
    """Ask what is worth knowing at this moment, and say it."""
    event = text(told.said.get("hook_event_name"))
    wanted = _wanted(event, told.said)
    if wanted is None:
        return
    if "do" in wanted:
        words = ask.words(told.place, wanted, told.seconds, _MOST_CHARS)
    else:
        words = ask.too_late(told.place, wanted)
    if words and len(words.encode("utf-16-le")) // 2 <= _MOST_CHARS:
        _print(event, {"additionalContext": words})


def _wanted(event: str, said: Json) -> Json | None:
    """What the resident is asked; only whose it is, where what came too late may still be said."""
    session, agent = claude.who(said)
    whose: Json = {"session": session, "agent": agent, "user": person()}
    if session is None or event not in ("SessionStart", "UserPromptSubmit", "PreToolUse"):
        return None
    if event == "SessionStart":
        return {**whose, "do": "inject", "at": "start", "source": text(said.get("source"))}
    if event == "UserPromptSubmit":
        prompt = cut(text(said.get("prompt")), _MOST_ASKED)
        return {**whose, "do": "inject", "at": "prompt", "text": prompt}
    given, tool = said.get("tool_input"), text(said.get("tool_name"))
    file = given.get(_FILES.get(tool, "")) if isinstance(given, dict) else None
    if not isinstance(file, str) or not file:
        return whose
    return {**whose, "do": "inject", "at": "file", "file": cut(file, _LONGEST_NAME)}


def shorten(told: Told, most: int) -> None:
    """Put a reference in the place of a tool's long output, when all of it can be had from the log."""
    response = told.said.get("tool_response")
    event = next((event for event in told.events if event.kind == "tool_result"), None)
    if event is None or told.said.get("hook_event_name") != "PostToolUse":
        return
    whole = text(event.payload.get("text"))
    if len(whole) <= max(most, 2 * _EDGE):
        return
    if not claude.is_whole(text(told.said.get("tool_name")), response) or not told.kept(event):
        return
    left = len(whole) - 2 * _EDGE
    note = f"\n[{left} characters left out; memory tool expand {event.event_id} shows them]\n"
    short = whole[:_EDGE] + note + whole[-_EDGE:]
    if isinstance(response, dict) and "stdout" in response:
        kept = {n: v for n, v in response.items() if not n.startswith("persistedOutput")}
        _print("PostToolUse", {"updatedToolOutput": {**kept, "stdout": short, "stderr": ""}})
    elif text(told.said.get("tool_name")).startswith("mcp__"):
        _print("PostToolUse", {"updatedToolOutput": short})


def _print(event: str, what: Json) -> None:
    run.say(json.dumps({"hookSpecificOutput": {"hookEventName": event, **what}}))
