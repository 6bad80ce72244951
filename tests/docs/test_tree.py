"""Mechanical limits: small files, small functions, no host of a registry, no path of a machine."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def test_files_stay_near_400_lines_and_functions_near_50() -> None:
    for path in SOURCES:
        text = path.read_text("utf-8")
        assert text.count("\n") <= 450, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                assert length <= 60, f"{path}:{node.name} has {length} lines"


def test_every_module_begins_with_a_docstring() -> None:
    for path in SOURCES:
        assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), path


def test_requirements_are_hashed_and_name_no_host() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text("utf-8")
        assert "://" not in text
        assert "--index-url" not in text
        for package in re.findall(r"^[A-Za-z0-9_.\[\]-]+==.*$", text, re.MULTILINE):
            assert package.endswith("\\"), f"{path.name}: {package} has no hash"


#: settings; who sits at the machine; what a host says about itself to its hooks, and hands on
ASKS_THE_ENVIRONMENT = (
    "/settings.py",
    "/capture/origin.py",
    "/doors/hooks/claude.py",
    "/capture/resident.py",
)


def test_nothing_unpickles_evaluates_or_reads_the_environment_outside_its_place() -> None:
    for path in SOURCES:
        text = path.read_text("utf-8")
        assert not re.search(r"\b(pickle|marshal|shelve)\b|\beval\(|\bexec\(|yaml\.load\(", text), (
            path
        )
        if not str(path).endswith(ASKS_THE_ENVIRONMENT):
            assert "os.environ" not in text, path


def test_no_file_of_the_tree_names_the_machine_it_was_made_on() -> None:
    here = str(ROOT) + "/"
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    for name in listed:
        path = ROOT / name
        if path.is_file():
            assert here.encode() not in path.read_bytes(), name
