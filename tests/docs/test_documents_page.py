"""The page about documents is executed: its blocks are one program, run in a project's folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast.app.open import init

ROOT = Path(__file__).parents[2]


def test_the_code_in_the_page_about_documents_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    init(tmp_path, tmp_path / "home").close()
    for name, text in {
        "docs/logs.md": "# Logs\n\nLogs are kept for thirty days.\n",
        "src/app.py": "def main():\n    return 0\n",
    }.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    page = (ROOT / "docs" / "documents.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    exec(compile("".join(blocks), "documents.md", "exec"), {})
    said = capsys.readouterr().out
    assert said.startswith("docs/logs.md:1-3\nLogs\n# Logs")
    assert "thirty days" in said
