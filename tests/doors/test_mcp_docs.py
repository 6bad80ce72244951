"""The page about MCP says what the server offers today, and its settings for hosts can be pasted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from holdfast.app.toolbox_graph_tools import offered
from holdfast.app.toolbox_pages import PROMPTS, RESOURCES, TEMPLATES
from holdfast.app.toolbox_tools import MOST_TOKENS, Context, Tool
from holdfast.doors.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")


def rows(head: str) -> list[list[str]]:
    """The rows of the table that begins so."""
    table = PAGE[PAGE.index(f"| {head} |") :].partition("\n\n")[0]
    return [
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.split("\n")[2:]
    ]


def hint(of: Tool) -> str:
    return "reads" if of.reads_only else "destroys" if of.destroys else "writes"


def test_the_table_of_tools_is_the_toolbox() -> None:
    listed = [(cells[0].strip("`"), cells[2]) for cells in rows("tool")]
    assert listed == [(name, hint(one)) for name, one in offered().items()]


def test_the_tables_of_addresses_and_prompts_are_whole() -> None:
    addresses = [cells[0].strip("`") for cells in rows("address")]
    templates = [one["uriTemplate"] for one in TEMPLATES]
    assert sorted(addresses) == sorted([*(one["uri"] for one in RESOURCES), *templates])
    assert [cells[0].strip("`") for cells in rows("prompt")] == [one["name"] for one in PROMPTS]


def test_the_nine_names_and_the_figures_of_a_context_are_right() -> None:
    named = re.findall(r"`(\w+)`", PAGE.partition("answers: ")[2].partition(". ")[0])
    assert named == list(offered(compat=True))
    assert f"up to {MOST_TOKENS:,} tokens ({Context().budget:,} unless" in PAGE


@pytest.mark.parametrize("block", re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
def test_settings_for_hosts_are_json_and_start_the_server(block: str) -> None:
    (servers,) = json.loads(block).values()
    started = servers["holdfast"]
    assert [started["command"], started["args"][0]] == ["holdfast", "mcp"]


def test_every_option_the_page_names_exists() -> None:
    given = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE)) - {"--header", "--transport"}
    known = {name for option in app["mcp"].assemble_argument_collection() for name in option.names}
    assert given - known == set()
