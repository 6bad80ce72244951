"""The front matter of a prompt file: read as it is meant, refused with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agents.front_matter import workflow
from holdfast.errors import Invalid
from holdfast.model.workflows import Workflow

PROMPT = """---
title: Create New Service (Systematic Workflow)
session:
  type: workflow
  compaction:
    strategy: recursive_summarization
    checkpoint_on: validation_gate
memory:
  generation:
    trigger: validation_gate
    extract_topics:
      - implementation_decisions
      - test_coverage
  retrieval:
    proactive: true
    scopes: [user, app]
---
# Steps
"""


def test_front_matter_is_understood() -> None:
    assert workflow("create-service", PROMPT, "w.md") == Workflow(
        name="create-service",
        title="Create New Service (Systematic Workflow)",
        strategy="recursive_summarization",
        triggers=("gate",),
        generation="gate",
        topics=("implementation_decisions", "test_coverage"),
        proactive=True,
        scopes=("user", "project"),
    )


@pytest.mark.parametrize("text", ["", "# A prompt\n", "---\n---\n", "---\nother: 1\n---\nbody\n"])
def test_a_file_that_says_nothing_about_it_sets_nothing(text: str) -> None:
    assert workflow("w", text, "w.md") == Workflow(name="w")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("recursive_summarization", "shrink", "w.md:6: session.compaction.strategy is one of"),
        ("checkpoint_on: validation", "checkpoint_on: moon", "w.md:7: .*checkpoint_on is one of"),
        ("scopes: [user, app]", "scopes: [moon]", "w.md:16: memory.retrieval.scopes is one of"),
        ("proactive: true", "proactive: maybe", "w.md:15: .*proactive is true or false"),
        ("    strategy:", "    stategy:", "w.md:6: session.compaction.stategy is not known"),
        ("  compaction:\n", "  compaction: 7\n  x:\n", "w.md:[56]: session"),
        ("title: Create", "title: [Create", "w.md:.* not valid YAML"),
        (
            "title: Create New Service (Systematic Workflow)",
            "title: !!python/name:os.system",
            "w.md:2",
        ),
        ("---\n# Steps\n", "# Steps\n", "w.md:1: the front matter is never closed"),
        ("type: workflow", "type: chat", "w.md:4: session.type is one of workflow"),
        ("type: workflow", "type: 2020-13-45", "w.md:4: a timestamp is not read"),
        ("type: workflow", "<<: {a: 1}", "w.md:4: a merge|w.md:4: session.<<"),
        ("title: Create", "x: " + "9" * 6_000 + "\ntitle: Create", "w.md:2: this number"),
        ("title: Create", "x: 0b_\ntitle: Create", "w.md:2: this number"),
        ("title: Create", "title: a\ntitle: Create", "w.md:3: title is there twice"),
        ("title: Create", "x: &a [1]\ntitle: Create", "w.md:2: anchors"),
        ("title: Create", "x: *a\ntitle: Create", "w.md:2: anchors"),
        ("title: Create", "? [a]\n: 1\ntitle: Create", "w.md:2: a name is a text"),
        ("title: Create", "x: " + "[" * 400 + "]" * 400 + "\ntitle: C", "w.md:2: this is more"),
        ("title: Create", "x: [" + "1," * 9_000 + "]\ntitle: C", "w.md:2: this is more"),
        ("title: Create", "y: 1\nx: \x07\ntitle: Create", "w.md:3: not valid YAML"),
        ("title: Create", "# \x0c\ntitle: Create", "w.md:2: not valid YAML"),
        ("\nsession:", "\nsesion:", "w.md:3: sesion is not known; session was meant"),
        ("\nmemory:", "\nMemory:", "w.md:8: Memory is not known; memory was meant"),
        ("title: Create", "tittle: Create", "w.md:2: tittle is not known; title was meant"),
        (
            "title: Create",
            "session.compaction: x\ntitle: Create",
            "w.md:2: session.compaction is not known; compaction below session was meant",
        ),
        (
            "type: workflow",
            "compaction.stratgy: x",
            "w.md:4: session.compaction.stratgy is not known; session has compaction, type",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, told: str) -> None:
    assert old in PROMPT
    with pytest.raises(Invalid, match=told):
        workflow("w", PROMPT.replace(old, new, 1), "w.md")


@pytest.mark.parametrize("tag", ["bool", "int", "float", "null", "timestamp", "binary", "set"])
@pytest.mark.parametrize("value", ["foo", "''", "[1]", "{a: 1}"])
def test_no_tag_is_read(tag: str, value: str) -> None:
    with pytest.raises(Invalid, match=r"w\.md:3: tags"):
        workflow("w", f"---\na: 1\nx: !!{tag} {value}\n---\n", "w.md")


def test_a_few_lines_that_stand_for_very_many_are_refused_at_once() -> None:
    doubled = "".join(f"x{n}: &x{n} [*x{n - 1}, *x{n - 1}]\n" for n in range(1, 60))
    with pytest.raises(Invalid, match=r"w\.md:2: anchors"):
        workflow("w", f"---\nx0: &x0 [1]\n{doubled}---\n", "w.md")


@pytest.mark.parametrize("name", ["version", "memo", "subtitle", "permission", "mode", "tools.x"])
def test_names_of_other_tools_are_theirs(name: str) -> None:
    assert (
        workflow("w", PROMPT.replace("title:", f"{name}: 1\ntitle:"), "w.md").strategy is not None
    )


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85"])
@pytest.mark.parametrize("place", ["title: Create", "session:"])
def test_only_a_line_feed_ends_a_line(sign: str, place: str) -> None:
    wrong = PROMPT.replace("recursive_summarization", "shrink").replace(place, f"# {sign}\n{place}")
    with pytest.raises(Invalid, match=r"^w\.md:7: session\.compaction\.strategy is one of"):
        workflow("w", wrong, "w.md")
    windows = wrong.replace("\n", "\r\n")
    with pytest.raises(Invalid, match=r"^w\.md:7: session\.compaction\.strategy is one of"):
        workflow("w", windows, "w.md")


def test_a_byte_order_mark_hides_nothing() -> None:
    assert workflow("w", "\ufeff" + PROMPT, "w.md") == workflow("w", PROMPT, "w.md")


values = st.sampled_from(
    [
        "1",
        "0x",
        "0b_",
        ".",
        "1:2",
        "1e999",
        "-",
        "~",
        "!x y",
        "&a b",
        "*a",
        "<<",
        "=",
        "? a",
        "[",
        "{",
        "2020-1-1",
    ]
)
names = st.sampled_from(["a", "title", "session", "memory", "<<", "=", "on", "1", "? b", "!!str a"])


@given(st.lists(st.tuples(st.integers(0, 3), names, values), max_size=12))
def test_whatever_yaml_stands_there_it_is_read_or_refused(
    told: list[tuple[int, str, str]],
) -> None:
    text = "\n".join(f"{'  ' * depth}{name}: {value}" for depth, name, value in told)
    refused = ""
    try:
        workflow("w", f"---\n{text}\n---\n", "w.md")
    except Invalid as exc:
        refused = str(exc)
    assert not refused or refused.startswith("w.md:")


@given(st.text(max_size=300))
def test_whatever_stands_there_it_is_read_or_refused(text: str) -> None:
    for given_ in (text, f"---\n{text}\n---\n"):
        refused = ""
        try:
            assert workflow("w", given_, "w.md").name == "w"
        except Invalid as exc:
            refused = str(exc)
        assert not refused or refused.startswith("w.md:")
