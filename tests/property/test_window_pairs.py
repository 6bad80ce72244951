"""A call of a tool and its result are in a window both or neither, whatever left it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.model.compact import Strategy
from tests.property.effort import examples
from tests.recall.replays import AS_FOUND, Ticking

_NAMED = re.compile(r"<hf:earlier.*?</hf:earlier>", re.DOTALL)


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")


class Step(NamedTuple):
    """What is asked, and the results of the tools that are called for it, as they come in."""

    asked: str
    results: tuple[int, ...]
    long: int


_words = st.sampled_from(
    ["deploy the cache", "the parser", "src/auth/login.ts", "KeyError: 'user'"]
)
_results = st.integers(0, 3).flatmap(lambda n: st.permutations(range(n)).map(tuple))
_steps = st.builds(Step, _words, _results, st.integers(1, 40))


def _take(s: holdfast.Session, n: int, step: Step) -> None:
    s.user(f"{step.asked}, please")
    for m in sorted(step.results):
        s.tool_call("Bash", {"command": f"run-{n}-{m}"}, call_id=f"c{n}-{m}")
    for m in step.results:
        s.tool_result("Bash", f"came-{n}-{m} {step.asked * step.long}", call_id=f"c{n}-{m}")
    s.assistant(f"I looked at {step.asked}.")


def _shown(messages: list[dict[str, Any]], word: str) -> set[str]:
    """The numbers behind a word wherever it stands, but for the lines that name what left."""
    text = _NAMED.sub("", "\n".join(str(one["content"] or "") for one in messages))
    calls = json.dumps([one.get("tool_calls") for one in messages])
    return set(re.findall(rf"{word}-(\d+-\d+)", text + calls))


@settings(max_examples=examples(40), phases=AS_FOUND)
@given(
    st.lists(_steps, min_size=3, max_size=20),
    st.sampled_from(get_args(Strategy)),
    st.integers(1_000, 8_000),
    st.integers(2, 8),
    _words,
)
def test_a_call_and_its_result_leave_together(
    steps: list[Step], strategy: Strategy, window: int, share: int, prompt: str
) -> None:
    with (
        TemporaryDirectory() as home,
        holdfast.open(Path(home), project="p", user="ana", now=Ticking()) as hf,
    ):
        s = hf.session(agent="coder", session_id="s")
        for n, step in enumerate(steps):
            _take(s, n, step)
        s.compact(prompt, to=window // share, window=window, strategy=strategy)
        for n in (len(steps), len(steps) + 1):
            messages = s.context(prompt, window=window, budget=0).messages
            assert _shown(messages, "run") == _shown(messages, "came")
            _take(s, n, Step(prompt, (1, 0), 40))
