"""The page about levels says what the code does: its blocks are one program."""

from __future__ import annotations

import re
from pathlib import Path

from bench.retention import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "levels.md"


def test_the_code_in_the_page_about_levels_runs() -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert len(blocks) == 8
    exec(compile("".join(blocks), PAGE.name, "exec"), {})


def test_the_page_has_a_figure_for_every_kind() -> None:
    rows = re.findall(
        r"^\| (\w+) \| [\d.]+ / [\d.]+ / [\d.]+ \|", PAGE.read_text("utf-8"), re.MULTILINE
    )
    assert tuple(rows) == KINDS
