"""The front matter of a prompt file: read as it is meant, refused with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agents.front_matter import workflow
from holdfast.errors import Invalid
from holdfast.model.workflows import Workflow

SEED = """---
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


def test_the_front_matter_of_the_design_is_understood() -> None:
    assert workflow("create-service", SEED, "w.md") == Workflow(
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
    ],
)
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, told: str) -> None:
    assert old in SEED
    with pytest.raises(Invalid, match=told):
        workflow("w", SEED.replace(old, new, 1), "w.md")


@given(st.text(max_size=300))
def test_whatever_stands_there_it_is_read_or_refused(text: str) -> None:
    for given_ in (text, f"---\n{text}\n---\n"):
        refused = ""
        try:
            assert workflow("w", given_, "w.md").name == "w"
        except Invalid as exc:
            refused = str(exc)
        assert not refused or refused.startswith("w.md:")
