"""What a text defines: found in Python by its tree, in anything by its lines, and the same by both."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text import outline as module
from holdfast.text.outline import columns, is_import, is_table, outline
from tests.text.strange import texts

ROOT = Path(__file__).parents[2]
_PIECES = [
    *(
        "def f(a, b=(1, 2)):",
        "    def g(self): return 1",
        "class A:",
        "    x = 1",
        "@wraps",
        ")",
        "(",
        "",
    ),
    *(
        "async def h(",
        "        a,",
        "    ) -> int:",
        '    """Says it."""',
        "'''",
        "if x:",
        "}",
        "\\",
    ),
    *("function f(a) {", "const g = (x) => {", "void Foo::bar(int x) {", "CREATE TABLE t (", "end"),
]
sources = st.lists(st.sampled_from(_PIECES), max_size=25) | texts.map(str.splitlines)


@given(sources)
def test_definitions_lie_in_the_text_in_order(lines: list[str]) -> None:
    found = outline(lines)
    for one in found:
        assert 0 <= one.first <= one.named <= one.last < one.end <= len(lines)
        assert one.name in lines[one.named]
        assert one.doc == "" or any(one.doc in line for line in lines)
    firsts = [one.first for one in found]
    assert firsts == sorted(firsts)


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("src/holdfast/*/*.py")), ids=lambda path: path.stem
)
def test_tree_and_lines_agree_on_our_own_sources(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    by_tree = module._by_tree(lines)
    if by_tree is not None:
        assert by_tree == module._by_lines(lines)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("def area(side):", "area"),
        ("    async def load(self):", "load"),
        ("export default class Store extends Base {", "Store"),
        ("pub(crate) fn parse(input: &str) -> Result<()> {", "parse"),
        ("func (s *Server) Serve(port int) error {", "Serve"),
        ("const add = (a, b) => a + b;", "add"),
        ("export const load = async (id) => {", "load"),
        ("public static void main(String[] args) throws Exception {", "main"),
        ("int Shop::price(int id) const {", "Shop::price"),
        ("interface Priced {", "Priced"),
        ("deploy() {", "deploy"),
        ("CREATE OR REPLACE FUNCTION total() RETURNS int AS $$", "total"),
        ("create table if not exists orders (", "orders"),
        ("type Price = number;", "Price"),
        ("module Shop", "Shop"),
    ],
)
def test_what_a_line_defines(line: str, name: str) -> None:
    assert [one.name for one in outline([line, "  body"])] == [name]


@pytest.mark.parametrize(
    "line",
    [
        *(
            "if (x) {",
            "} else if (y) {",
            "for (const a of b) {",
            "while (true) {",
            "switch (kind) {",
        ),
        *("return foo(a, {", "app.get('/x', (a, b) => {", "x = define(a)", "assert set(a) == {"),
        *("type(x)", "class", "# def of it", "the class of 1999"),
    ],
)
def test_what_defines_nothing(line: str) -> None:
    assert outline([line, "  body"]) == []


def test_a_definition_in_a_string_is_none_in_python() -> None:
    lines = ["def f():", '    x = """', "def g():", "    pass", '    """', "    return x"]
    assert [one.name for one in outline(lines)] == ["f"]


def test_a_signature_over_several_lines_and_what_decorates_it() -> None:
    lines = [
        "@cached",
        "def f(",
        "    a,",
        "    b,",
        ") -> int:",
        '    """Adds."""',
        "    return a + b",
    ]
    (found,) = outline(lines)
    assert (found.first, found.named, found.last, found.end) == (0, 1, 4, 7)
    assert found.doc == "Adds."


@pytest.mark.parametrize(
    "source",
    ['def f():\n    return "\\d\\."', "def f():\n    return 1if x else 0x1for", "def f(): \\"],
)
def test_nothing_is_warned_of(source: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [one.name for one in outline(source.splitlines())] == ["f"]


def test_columns_are_the_names_before_their_types() -> None:
    statement = [
        "CREATE TABLE users (",
        "    \"id\" INTEGER, name TEXT DEFAULT 'a', price DECIMAL(10, 2),",
        "    PRIMARY KEY (id), [when] TIMESTAMP);",
        "INSERT INTO users (x, y) VALUES (1, 2);",
    ]
    assert is_table(statement[0])
    assert columns(statement) == ["id", "name", "price", "when"]
    assert columns(["CREATE TABLE t"]) == []


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "from a.b import c",
        "#include <stdio.h>",
        "const x = require('x')",
        "use std::io;",
    ],
)
def test_what_comes_from_elsewhere(line: str) -> None:
    assert is_import(line)
    assert not is_import(f"x = {line}")
