"""How large a model's window is: from the caller, the settings or the table; else it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import holdfast
from holdfast.app.holdfast import Holdfast
from holdfast.errors import Invalid
from holdfast.model.compose import AgentDefaults, ComposeSettings, window_of
from holdfast.model.packs import Signals
from tests.recall.replays import Ticking

KNOWN = {
    "gpt-4o": 128_000,
    "gpt-4o-mini-2024-07-18": 128_000,
    "gpt-4-0613": 8_192,
    "gpt-4-turbo": 128_000,
    "openrouter/anthropic/claude-3.5-sonnet": 200_000,
    "us.anthropic.claude-3-haiku": 200_000,
    "claude-2.0": 100_000,
    "Claude-Sonnet-4-5": 200_000,
    "ft:gpt-3.5-turbo": 16_385,
}


@pytest.fixture
def hf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Holdfast]:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as made:
        yield made


def window(hf: Holdfast, **call: Any) -> int | None:
    """The window a context is asked with, as its receipt says."""
    return hf.session(agent="coder").context("deploy", **call).receipt.window


@pytest.mark.parametrize("model", KNOWN)
def test_a_known_model_has_the_window_its_maker_says(hf: Holdfast, model: str) -> None:
    assert window(hf, model=model) == KNOWN[model]


@pytest.mark.parametrize("model", ["acme-1", "my-own-model", "x"])
def test_an_unknown_model_is_refused_and_told_what_to_do(hf: Holdfast, model: str) -> None:
    with pytest.raises(Invalid, match=r"window=") as refused:
        window(hf, model=model)
    assert model in str(refused.value)
    assert "compose.windows" in str(refused.value)
    assert window(hf, model=model, window=700) == 700
    mine = replace(ComposeSettings(), windows={model.partition("-")[0]: 900})
    assert window(hf, model=model, settings=mine) == 900


def test_the_caller_s_own_window_comes_before_the_settings_and_those_before_the_table(
    hf: Holdfast,
) -> None:
    mine = replace(ComposeSettings(), windows={"gpt": 5_000, "gpt-4o": 6_000})
    assert window(hf, model="gpt-4o-mini", settings=mine) == 6_000
    assert window(hf, model="gpt-4", settings=mine) == 5_000
    assert window(hf, model="gpt-4o", settings=mine, window=7_000) == 7_000


def test_without_a_model_there_is_no_window(hf: Holdfast) -> None:
    assert window(hf) is None
    assert window(hf, window=300) == 300


def test_the_user_s_file_knows_windows_and_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    config = tmp_path / "config" / "holdfast"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(
        '[tokens]\nmodel = "acme-large"\n[compose.windows]\nacme = 4321\n'
    )
    with holdfast.open(tmp_path / "home", project="p", user="ana", now=Ticking()) as hf:
        assert window(hf) == 4_321
        assert window(hf, model="gpt-4o") == 128_000


NESTED: dict[str, Any] = {}
for _ in range(900):
    NESTED = {"deeper": NESTED}


@pytest.mark.parametrize(
    "call",
    [
        {"window": -1},
        {"window": "8000"},
        {"window": 1.5},
        {"window": True},
        {"budget": -1},
        {"budget": None, "new_tokens": -3},
        {"budget": 10**9},
        {"model": 4},
        {"system": b"x"},
        {"tools": "Bash"},
        {"tools": ["Bash"]},
        {"tools": [{"x": object()}]},
        {"format": "xml"},
        {"signals": "debugging"},
        {"signals": {"mood": 1, "activity": 3}},
        {"settings": {}},
        {"settings": "fast"},
        {"settings": ComposeSettings(floor="low")},  # type: ignore[arg-type]
        {"signals": Signals(errors="TypeError: x")},  # type: ignore[arg-type]
        {"tools": [NESTED]},
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(
    hf: Holdfast, call: dict[str, Any]
) -> None:
    s = hf.session(agent="coder").start()
    before = hf.log.head().event_seq
    with pytest.raises(Invalid):
        s.context("deploy", **call)
    assert hf.log.head().event_seq == before


def test_a_word_that_nobody_knows_is_refused(hf: Holdfast) -> None:
    with pytest.raises(TypeError, match="windows"):
        hf.session(agent="coder").context("deploy", windows=800)  # type: ignore[call-arg]


@pytest.mark.parametrize("query", [None, 5, b"deploy", ["deploy"]])
def test_a_question_is_a_text(hf: Holdfast, query: Any) -> None:
    with pytest.raises(Invalid):
        hf.session(agent="coder").context(query)


def test_an_agent_s_defaults_are_given_where_the_caller_says_nothing(hf: Holdfast) -> None:
    tools = ({"name": "Bash"},)
    mine = ComposeSettings(agents={"coder": AgentDefaults(system="You are a coder.", tools=tools)})
    s = hf.session(agent="coder")
    assert s.context("x", settings=mine).sections["system"].startswith("You are a coder.")
    assert '"Bash"' in s.context("x", settings=mine).text
    assert s.context("x", settings=mine, system="Be kind.").text.startswith("Be kind.")
    assert "Bash" not in s.context("x", settings=mine, tools=[]).text
    assert "coder" not in hf.session(agent="critic").context("x", settings=mine).text


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("gemma-3-1b-it", 32_768),
        ("google/gemma-3-27b-it", 131_072),
        ("gpt-3.5-turbo-0613", 4_096),
        ("gpt-3.5-turbo-0125", 16_385),
        ("gpt-4-32k-0613", 32_768),
        ("gpt-5-chat-latest", 128_000),
        ("claude-opus-4-1-20250805", 200_000),
        ("anthropic.claude-v2:1", 200_000),
        ("gemini-2.5-flash-lite", 1_048_576),
        ("gemini-2.5-flash-image", 32_768),
        ("mistral-large-2402", 32_768),
        ("openai/o3", 200_000),
    ],
)
def test_members_of_a_family_have_windows_of_their_own(model: str, takes: int) -> None:
    assert window_of(model, {}) == takes


@pytest.mark.parametrize(
    "model",
    [
        *(
            "claude",
            "claude-whatever-9",
            "claude-5",
            "o3de",
            "acme.o3thing",
            "o11",
            "gpt-4x",
            "gpt-45",
        ),
        *("gemini", "gemini-9-pro", "gemma-3", "mistral-large", "grok-40", "llama-30b", "gpt"),
    ],
)
def test_what_only_sounds_like_a_known_model_is_unknown(model: str) -> None:
    assert window_of(model, {}) is None


names = st.text("abgpt-4.:/", min_size=1, max_size=8)


@given(st.text(max_size=30) | names, st.dictionaries(names, st.integers(0, 9), max_size=3))
def test_any_name_gives_a_window_or_none(model: str, own: dict[str, int]) -> None:
    found = window_of(model, own)
    assert found is None or found >= 0


@given(names, st.dictionaries(names, st.integers(0, 9), max_size=3))
def test_the_longest_beginning_of_one_s_own_wins(model: str, own: dict[str, int]) -> None:
    assert window_of(model, {**own, model: 77}) == 77
    assert window_of(f"maker/{model}", {**own, model: 77}) == 77
