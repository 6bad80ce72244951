"""Documents in parts: nothing is lost, every line is where it is said to be, structure is kept."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.documents.split import LEAST, MOST, parts
from holdfast.model.documents import Part, part_id, place_of, shown
from tests.property.effort import examples
from tests.text.strange import HOSTILE, texts

ENDINGS = ["md", "py", "sql", "json", "yaml", "toml", "ts", "rs", "txt", "", "Makefile"]
#: what the cutters look for, so that most texts hold some of it
_PIECES = (
    """
# ## ### ``` ~~~ === --- def class @x: return """
    + ''' """ '''
    + """ { } [ ] ( ) ; , : " ' ` $$ -- /* */ // key: - [table]
[[list]] "a": {"b": function fn end if else CREATE TABLE ; a=1 … é \\ \\" | > 12. <!-- -->
"""
)
lines = st.lists(st.sampled_from(_PIECES.split()), max_size=4).map(" ".join)
indented = st.tuples(st.sampled_from(["", "", "", "    ", "\t"]), lines, st.integers(0, 30))
structured = st.lists(indented.map(lambda one: one[0] + one[1] * one[2]), max_size=60).map(
    "\n".join
)
anything = structured | texts | st.text("ab \n\r.", max_size=4_000)


def check(path: str, text: str) -> list[Part]:
    """What always holds of the parts of a document."""
    found = parts(path, text)
    assert "".join(part.text for part in found) == text
    at, rows = 0, text.split("\n")
    for part in found:
        assert 0 < len(part.text) <= MOST
        said = shown(part.text)
        first = at + len(part.text) - len(part.text.lstrip()) if said else at
        assert part.line == text.count("\n", 0, first) + 1
        assert part.line_end == part.line + said.count("\n")
        if not part.column and said:
            whole = "\n".join(rows[part.line - 1 : part.line_end])
            assert whole.rstrip().startswith(said)
        at += len(part.text)
    ids = [part_id("evt_1", part) for part in found if part.text.strip()]
    assert len(set(ids)) == len(ids)
    assert [place_of(one) for one in ids] == [
        ("evt_1", part.line, part.line_end) for part in found if part.text.strip()
    ]
    return found


@settings(max_examples=examples(300))
@given(st.sampled_from(ENDINGS), anything)
@example("md", "a" * 5_000)
@example("txt", "\n\n\n")
@example("txt", " ")
def test_joined_the_parts_are_the_text_and_lines_are_right(ending: str, text: str) -> None:
    check(f"docs/a.{ending}", text)


@pytest.mark.parametrize("ending", ["md", "py", "sql", "json", "yaml", "toml", "ts", "txt"])
@pytest.mark.parametrize("name", HOSTILE)
def test_half_a_million_characters_of_anything(ending: str, name: str) -> None:
    text = HOSTILE[name][:500_000]
    assert sum(len(part.text) for part in parts(f"a.{ending}", text)) == len(text)


# ---- Markdown ----------------------------------------------------------------------------------

words = st.lists(st.sampled_from(["alpha", "beta", "gamma"]), min_size=1, max_size=250).map(
    " ".join
)
sections = st.lists(st.tuples(st.integers(1, 6), st.booleans(), words), min_size=1, max_size=25)


def headings(text: str) -> list[int]:
    return [len(found) for found in re.findall(r"^(#{1,6}) title", text, re.MULTILINE)]


@settings(max_examples=examples(150))
@given(sections, st.booleans())
def test_no_part_of_markdown_goes_beyond_its_own_heading(
    said: list[tuple[int, bool, str]], preamble: bool
) -> None:
    fence = "```\n# not a heading\n```\n"
    text = "before it all\n\n" * preamble + "".join(
        f"{'#' * level} title {n}\n\n{fence if fenced else ''}{body}\n\n"
        for n, (level, fenced, body) in enumerate(said)
    )
    found = check("a.md", text)
    own = 0
    for part in found:
        inside = headings(part.text)
        begins = part.text.startswith("#") or (own == 0 and inside)
        own = inside[0] if begins and inside else own
        assert all(level > own for level in inside[1 if begins else 0 :])
    assert [len(part.text) < LEAST for part in found].count(True) <= len(said) + preamble


def test_a_part_of_markdown_is_called_by_its_headings() -> None:
    long = "Words that say something. " * 15
    text = (
        f"---\ntitle: x\n---\n# Guide\n\n{long}\n\n## Install ##\n\n{long}\n\n### Linux\n\n{long}\n\n"
        f"Use\n===\n\n{long}\n\nOptions\n---\n\n{long}\n"
    )
    found = [(part.title, part.line) for part in check("a.md", text)]
    assert found == [
        ("Guide", 1),
        ("Guide > Install", 8),
        ("Guide > Install > Linux", 12),
        ("Use", 16),
        ("Use > Options", 21),
    ]


def test_what_looks_like_a_heading_in_a_comment_or_in_code_is_none() -> None:
    long = "Words that say something. " * 15
    text = (
        f"# One\n\n{long}\n\n<!-- a note\n# Not one\n```\nNor this\n===\n-->\n\n## Two\n\n{long}\n\n"
        f"```md\n<!--\n# Not one\n```\n\n<!-- # short -->\n## Three\n\n{long}\n"
    )
    found = [(part.title, part.line) for part in check("a.md", text)]
    assert found == [("One", 1), ("One > Two", 12), ("One > Three", 22)]


def test_a_long_section_is_cut_between_paragraphs_into_even_pieces() -> None:
    body = "\n\n".join(f"Paragraph {n} " + "says this and that. " * 20 for n in range(6))
    found = check("a.md", f"# One\n\n{body}\n")
    assert {part.title for part in found} == {"One"}
    assert all(part.text.startswith(("# One", "Paragraph")) for part in found)
    assert min(len(part.text) for part in found) >= 2 * LEAST


# ---- code and data -----------------------------------------------------------------------------


def filler(comment: str = "#") -> str:
    return "\n".join(f"    {comment} a remark that makes it longer, number {n}" for n in range(6))


def test_python_is_cut_by_definitions_and_methods() -> None:
    text = dedent('''\
        """A module."""
        import os
        {0}

        # about one
        @cached
        def one():
        {0}
            return 1


        class Two:
            """Says something."""
        {0}

            async def three(self):
        {0}
                return 3

            def four(self):
        {0}
                return 4

        LAST = 5
        {0}
        ''').format(filler())
    cut = check("a.py", text)
    assert [part.title for part in cut] == ["", "one", "Two", "Two.three", "Two.four", ""]
    found = {part.title: part for part in cut}
    assert found["one"].text.startswith("# about one\n@cached\ndef one")
    assert "def three" not in found["Two"].text
    assert "return 3" in found["Two.three"].text


@pytest.mark.parametrize(
    "text",
    ["def broken(:\n    pass\n" * 40, "x = 1\r" * 400, "é" * 3_000, "(" * 5_000, "-" * 9_000],
)
def test_what_is_not_python_after_all_is_cut_by_its_layout(text: str) -> None:
    check("a.py", text)


CASES: dict[str, tuple[str, list[str]]] = {
    "a.ts": (
        f"// about one\nexport function one(a: number) {{\n{filler('//')}\n}}\n"
        f"export class Two {{\n{filler('//')}\n\n  go() {{}}\n}}\n\n"
        f"int three (int a) {{\n{filler('//')}\n}}\n",
        ["one", "Two", "three"],
    ),
    "a.sql": (
        f"-- people; all of them\nCREATE TABLE users (\n  note text DEFAULT 'a;b',\n{filler('--')}\n);\n"
        f"\nCREATE FUNCTION f() AS $$\n  SELECT 1;\n{filler('--')}\n$$;\nDROP VIEW v;\n"
        f"INSERT INTO users VALUES (\n{filler('--')}\n1);\n",
        ["CREATE TABLE users", "CREATE FUNCTION f", "INSERT INTO users VALUES"],
    ),
    "b.sql": (
        "INSERT INTO a VALUES (1);\nINSERT INTO a VALUES (2);\n\n"
        f"CREATE FUNCTION f() RETURNS int AS $$\nBEGIN\n{filler('--')}\nEND;\n$$ LANGUAGE plpgsql;\n",
        ["CREATE FUNCTION f"],
    ),
    "a.proto": (
        f'syntax = "proto3";\n\n// One person.\nmessage User {{\n{filler("//")}\n}}\n\n'
        f"service Users {{\n  rpc Get (User) returns (User);\n{filler('//')}\n}}\n",
        ["User", "Users"],
    ),
    "a.graphql": (
        f'"""\nOne person.\n"""\ntype User implements Node {{\n{filler()}\n}}\n\n'
        f'input NewUser {{\n{filler()}\n}}\n"All."\nextend type Query {{\n{filler()}\n}}\n',
        ["User", "NewUser", "Query"],
    ),
    "a.json": (
        '{\n  "one": {"x": "%s"},\n  "two": [\n    {"three": "%s"}\n  ],\n  "four": "%s"\n}\n'
        % (("a" * 250,) * 3),
        ["one", "two", "four"],
    ),
    "b.json": (
        '[\n  {"id": 1, "x": "%s"},\n  {"id": 2, "x": "%s"}\n]\n' % (("a" * 250,) * 2),
        ["", ""],
    ),
    "a.yaml": (
        f"# about one\none:\n{filler()}\n  two: 2\n'three': |\n{filler()}\n---\nfour:\n{filler()}\n",
        ["one", "three", "four"],
    ),
    "a.toml": (f"top = 1\n# of a\n[a.b]\n{filler()}\nx = 1\n[[c]]\n{filler()}\n", ["a.b", "c"]),
    "a.txt": ("\n\n".join(["words of a paragraph " * 12] * 3), ["", "", ""]),
}


@pytest.mark.parametrize("path", CASES)
def test_each_kind_of_file_is_cut_where_something_begins(path: str) -> None:
    text, titles = CASES[path]
    assert [part.title for part in check(path, text)] == titles


def test_small_neighbours_are_joined() -> None:
    found = check("a.py", "\n\n".join(f"def f{n}():\n    return {n}" for n in range(60)) + "\n")
    assert all(LEAST <= len(part.text) < 2 * LEAST for part in found[:-1])


def test_the_files_of_this_project_are_cut_into_parts_of_a_readable_size() -> None:
    root = Path(__file__).parents[2]
    for path in [
        *root.glob("*.md"),
        *root.glob("docs/**/*.md"),
        *root.glob("src/holdfast/a*/*.py"),
    ]:
        found = check(str(path), path.read_text("utf-8"))
        small = [part for part in found if len(part.text) < LEAST]
        assert len(small) <= max(2, len(found) // 3), path
