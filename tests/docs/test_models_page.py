"""docs/models.md names settings that exist, and its example is one."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from holdfast.model.complete import CompleteSettings
from holdfast.settings import load

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")


def test_its_example_is_a_settings_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_LLM", raising=False)
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(block)
    chosen = load().complete
    assert (chosen.provider, chosen.model) == ("openai", "qwen3:4b")


def test_every_setting_of_its_table_exists() -> None:
    rows = re.findall(r"^\| (`.+?) \|", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named <= set(CompleteSettings.__struct_fields__)
    assert {"tokens_per_day", "money_per_day", "rest_s"} <= named
