"""A plugin for Claude Code: hooks, server and skills in one folder, loaded as a whole."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from typing import Any

import msgspec

from holdfast.errors import Conflict

from . import install_claude as claude
from .install_claude import Machine
from .install_files import Change, current
from .install_parts import SERVER, Skill
from .install_words import skills

NAME = "holdfast"
_MANIFEST = os.path.join(".claude-plugin", "plugin.json")
_ABOUT = "Long-term memory for this project: what happens is recorded, what matters comes back."

_README = """# Holdfast for Claude Code

What happens in a session is recorded by itself: prompts, answers, tool calls and their results,
failures, compactions. What is known about the project comes back when a session starts, with a prompt,
and before a file is read. Skills: `/holdfast:session-status`, `/holdfast:memory-recall`,
`/holdfast:context-debug`, `/holdfast:restore`, `/holdfast:end-session`.

Load it with `claude --plugin-dir` and the path of this folder. It calls the Python that made it, on this
machine; after moving or upgrading Holdfast, make it again with `holdfast install claude-code --plugin`.
Nothing is sent anywhere: memory lies in files of your own.
"""


def changes(folder: str, machine: Machine, shorten: int | None) -> list[Change]:
    """What makes a folder the plugin; Conflict when it is there and not ours."""
    _must_be_ours(folder)
    return [
        Change(path=path, before=current(path), after=text.encode())
        for path, text in sorted(_files(folder, machine, shorten).items())
    ]


def _must_be_ours(folder: str) -> None:
    if not os.path.lexists(folder):
        return
    if os.path.isdir(folder) and not os.listdir(folder):
        return
    try:
        said = msgspec.json.decode(current(os.path.join(folder, _MANIFEST)) or b"{}")
    except msgspec.DecodeError:
        said = {}
    known = said if isinstance(said, dict) else {}
    if (known.get("name"), known.get("description")) != (NAME, _ABOUT):
        raise Conflict(f"{folder} is there and is not a plugin of Holdfast; name another folder")


def _files(folder: str, machine: Machine, shorten: int | None) -> dict[str, str]:
    manifest = {
        "name": NAME,
        "version": version("holdfast"),
        "description": _ABOUT,
        "author": {"name": "Holdfast"},
        "license": "MIT",
        "keywords": ["memory", "context"],
    }
    hooks = {"description": _ABOUT, "hooks": _listed(machine, shorten)}
    files = {
        _MANIFEST: _page(manifest),
        os.path.join("hooks", "hooks.json"): _page(hooks),
        "README.md": _README,
        ".mcp.json": _page({"mcpServers": {SERVER: claude.server(machine)}}),
    }
    speech = claude.speech(machine, f"mcp__plugin_{NAME}_{SERVER}__")
    for name, text in skills(speech).items():
        path = os.path.join("skills", name, "SKILL.md")
        files[path] = Skill(path=path, text=text).put(None)[0].decode()
    return {os.path.join(folder, name): text for name, text in files.items()}


def _listed(machine: Machine, shorten: int | None) -> dict[str, list[Any]]:
    return {event: [group] for event, group in claude.hooks(machine, shorten).items()}


def _page(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
