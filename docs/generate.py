"""Makes the reference pages from the code they describe: `make docs`. A stale page fails a test."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from holdfast.capture.header import TYPE_ALIASES
from holdfast.doors.cli import app
from holdfast.model import settings
from holdfast.model.compact import CompactSettings, ItemSettings, ManagerSettings
from holdfast.model.complete import CompleteSettings
from holdfast.model.compose import AgentDefaults, ComposeSettings, Shares
from holdfast.model.embed import EmbedSettings
from holdfast.model.events import EVENT_TYPES
from holdfast.model.hooks import HookSettings
from holdfast.model.recall import RecallSettings
from holdfast.model.tokens import TokenSettings

HERE = Path(__file__).parent
_FIELD = re.compile(r"((?:    #: .*\n)+)    (\w+): (.+?)(?: = (.+))?\n")


def settings_page() -> str:
    """docs/settings.md."""
    lines = [
        "# Settings",
        "",
        "An argument wins over the environment, that over `.holdfast.toml` in the project, that over",
        "`config.toml` in your user configuration directory, that over the default. A repository's",
        "`.holdfast.toml` may set `project_id` and add to `record.deny_paths`, and nothing else.",
        "",
        "Environment: `HOLDFAST_HOME`; `HOLDFAST_EMBEDDER` for `embed.embedder`; `HOLDFAST_EMBED_KEY`,",
        "the key of an embedding endpoint; `HOLDFAST_LLM` (`openai:MODEL`, `anthropic:MODEL`, `off`),",
        "which model may be asked, and its key: `HOLDFAST_LLM_KEY`, else `OPENAI_API_KEY` or",
        "`ANTHROPIC_API_KEY`.",
    ]
    for table, kind in (
        ("log", settings.LogSettings),
        ("record", settings.RecordSettings),
        ("views", settings.ViewSettings),
        ("tokens", TokenSettings),
        ("recall", RecallSettings),
        ("embed", EmbedSettings),
        ("compose", ComposeSettings),
        ("compose.shares", Shares),
        ("compose.agents.NAME", AgentDefaults),
        ("hooks", HookSettings),
        ("compact", CompactSettings),
        ("items", ItemSettings),
        ("manager", ManagerSettings),
        ("complete", CompleteSettings),
    ):
        lines += ["", f"## [{table}]", "", "| setting | default | why |", "|---|---|---|"]
        for comment, name, _, default in _FIELD.findall(inspect.getsource(kind)):
            why = " ".join(part.strip().removeprefix("#: ") for part in comment.splitlines())
            lines.append(f"| `{name}` | `{default}` | {why} |")
    return "\n".join(lines) + "\n"


def events_page() -> str:
    """docs/events.md."""
    lines = [
        "# Events",
        "",
        "The types Holdfast writes. Unknown types and versions pass through untouched.",
        "",
        "| type | what it says |",
        "|---|---|",
        *(f"| `{name}` | {meaning} |" for name, meaning in EVENT_TYPES.items()),
        "",
        "Accepted on input under an older name: "
        + ", ".join(f"`{old}` as `{new}`" for old, new in TYPE_ALIASES.items())
        + ".",
    ]
    return "\n".join(lines) + "\n"


def cli_page() -> str:
    """docs/cli.md."""
    text = app.generate_docs(output_format="markdown")
    return "\n".join(line.rstrip() for line in text.splitlines()).strip() + "\n"


PAGES = {"settings.md": settings_page, "events.md": events_page, "cli.md": cli_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), "utf-8")
