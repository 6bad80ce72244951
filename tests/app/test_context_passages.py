"""Of something long a passage is shown: marked where it is cut, with a number that opens the rest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.text.markdown import is_closed
from tests.compose.marks import remembered
from tests.documents.projects import project, write
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND

CLAUSE = "clause number {n} holds under condition {n}, unless the zebra of case {n} objects"


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


def long_text(kind: str, count: int) -> str:
    """One endless line, sentences, or code between sentences."""
    clauses = [CLAUSE.format(n=n) for n in range(count)]
    if kind == "line":
        return ", ".join(clauses)
    if kind == "sentences":
        return " ".join(f"{clause.capitalize()}." for clause in clauses)
    code = "\n".join(f"    zebra_{n} = condition({n})" for n in range(count))
    return f"Here it is.\n\n```python\ndef conditions():\n{code}\n```\n\nThat was all of it."


def entries(text: str) -> list[tuple[str, bool, str]]:
    """Number, whether there is more, and what it says, of every entry."""
    found = []
    for block in remembered(text):
        for one in re.split(r"\n(?=\[\d+\+?\] )", block.body.strip("\n")):
            match = re.match(r"\[(\d+)(\+?)\] ([^:]*(?::\d+-\d+ [^:]*)?): (.*)", one, re.DOTALL)
            assert match is not None, one
            found.append((match[1], bool(match[2]), match[4].replace("\n  ", "\n")))
    return found


@settings(max_examples=examples(12), phases=AS_FOUND, deadline=None)
@given(
    st.sampled_from(["line", "sentences", "code"]),
    st.integers(0, 119),
    st.sampled_from(["turn", "tool", "document"]),
)
def test_what_is_cut_says_so_and_opens(
    tmp_path_factory: pytest.TempPathFactory, kind: str, wanted: int, where: str
) -> None:
    home: Path = tmp_path_factory.mktemp("home")
    whole = long_text(kind, 120)
    with project(home) as hf:
        with hf.session(agent="coder") as before:
            if where == "turn":
                before.user(whole)
            elif where == "tool":
                before.tool_call("Read", {"path": "a.txt"}, call_id="c")
                before.tool_result("Read", whole, call_id="c")
            else:
                write(hf, "a.md", whole)
                hf.documents.add("a.md")
        query = f"zebra_{wanted}" if kind == "code" else f"the zebra of case {wanted}"
        with hf.session(agent="coder") as s:
            pack = s.context(query, budget=1_200)
            shown = [one for one in entries(pack.text) if "zebra" in one[2]]
            assert shown
            for number, more, text in shown:
                assert is_closed(text)
                bare = " ".join(re.sub(r"`{3,}\w*|…", " ", text).split())
                ended = whole.strip().endswith(bare[-20:]) and "…" not in text[-4:]
                begun = whole.strip().startswith(bare[:20]) and "…" not in text[:20]
                assert more or (begun and ended) or where == "document"
                if kind == "line":
                    assert "…" in text
                assert s.expand(int(number)).text
