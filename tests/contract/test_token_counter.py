"""Token counts: the same as an independent implementation gives, for every text, without a network."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rs_bpe.bpe import openai

from holdfast.engines.tokenizers import vocabulary
from holdfast.engines.tokenizers.vocabulary import counter
from holdfast.errors import Invalid
from holdfast.model.tokens import _TABLE, UNKNOWN, Counted, TokenSettings, resolve
from holdfast.ports.tokens import TokenCounter
from tests.property.effort import examples

REFERENCE = {"o200k_base": openai.o200k_base(), "cl100k_base": openai.cl100k_base()}
ENCODINGS = sorted({encoding for encoding, _ in _TABLE.values()})
ROOT = Path(__file__).parents[2]

FRAGMENTS = (
    *(
        "<|endoftext|>",
        "<|im_start|>",
        "<s>",
        "[INST]",
        "<bos>",
        "\r\n",
        "\n",
        "\r",
        "\t",
        " ",
        "  ",
    ),
    *("\x00", "\x0b", "\x1f", "\x85", "\xa0", "\u2028", "\u3000", "\ufeff", "\u200d", "\u180e"),
    *("'s", "'LL", "'Re", "’s", "İ", "ı", "\u212a", "é", "e\u0301", "\u0345", "ǅ", "ʰ", "ª"),
    *("漢字", "ひら", "한글", "ไทย", "ह", "्", "ا", "😀", "👨‍👩‍👧", "🇩🇪", "\ue000", "\U0010ffff"),
    *("123", "4567890", "٣", "Ⅷ", "²", "½", "_", "/", "!", "...", "'", '"', "abc", "ABC", "aBC"),
)
RUNS = st.builds(lambda part, times: part * times, st.sampled_from(FRAGMENTS), st.integers(1, 400))
TEXTS = st.lists(
    st.sampled_from(FRAGMENTS) | st.text(max_size=8) | RUNS | st.text("abc XYZ'\n", max_size=40),
    max_size=12,
).map("".join)
ODD = TEXTS | st.text(st.characters(codec=None, exclude_categories=()))

HAND_MADE = (
    "Hello, world!",
    "def f(x):\n    return x  # 42\n\n\n",
    '{"event_seq": 17, "crc": "9f86d081884c7d65"}',
    "Die Würde des Menschen ist unantastbar.\r\n人人生而自由。",
    "<|endoftext|><|fim_prefix|><|endofprompt|>",
    "a" * 100_000,
    " " * 100_000,
    "😀" * 30_000,
    "x" + "\u0301" * 30_000,
    "\n \t" * 30_000,
)


def _counter(encoding: str, factor: float = 1.0) -> TokenCounter:
    return counter(Counted(encoding, factor, True))


def _like_the_reference(encoding: str, text: str) -> None:
    expected = REFERENCE[encoding].encode(text)
    assert vocabulary._load(encoding).encode(text) == expected
    assert _counter(encoding).count(text) == len(expected)


@pytest.mark.parametrize("encoding", REFERENCE)
@given(text=TEXTS.filter(lambda text: "'ſ" not in text))
@settings(max_examples=examples(300), deadline=None)
def test_the_reference_finds_the_same_tokens(encoding: str, text: str) -> None:
    _like_the_reference(encoding, text)


@pytest.mark.parametrize("encoding", REFERENCE)
def test_the_reference_finds_the_same_tokens_in_known_texts(encoding: str) -> None:
    for text in HAND_MADE:
        _like_the_reference(encoding, text)


@pytest.mark.parametrize("encoding", REFERENCE)
def test_the_reference_finds_the_same_tokens_in_this_repository(encoding: str) -> None:
    paths = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("*.md"), *ROOT.glob("tests/golden/*")])
    assert len(paths) > 50
    for path in paths:
        if path.is_file():
            _like_the_reference(encoding, path.read_text(errors="replace"))


def test_a_long_s_behind_an_apostrophe_shifts_the_count_by_one_at_most() -> None:
    for text in ("X'ſ'LLe", "I'ſ!", "abc'ſ'Rex", "漢'ſ"):
        difference = _counter("o200k_base").count(text) - len(REFERENCE["o200k_base"].encode(text))
        assert abs(difference) <= 1


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=ODD)
@example(text="\ud800")
@example(text="a\udfff b\ud83d\ude00")
@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_text_has_a_count(encoding: str, text: str) -> None:
    count = _counter(encoding).count(text)
    assert count >= (1 if text else 0)
    assert count == _counter(encoding).count(text)


@pytest.mark.parametrize("encoding", [*ENCODINGS, "modernbert"])
def test_nothing_is_added_to_a_text(encoding: str) -> None:
    assert _counter(encoding).count("") == 0
    assert _counter(encoding, 1.35).count("") == 0
    assert _counter(encoding).count("a") == 1


def test_a_surrogate_pair_counts_as_its_character() -> None:
    counts = _counter("o200k_base")
    assert counts.count("\ud83d\ude00") == counts.count("😀")
    assert counts.count("\ud83d") == counts.count("\ufffd")


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=st.lists(st.sampled_from((*FRAGMENTS, "word", " word")), max_size=60).map("".join))
@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_pieces_of_a_text_add_up(encoding: str, text: str) -> None:
    whole = _counter(encoding).count(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "PIECE", 3)
        assert _counter(encoding).count(text) == whole


def test_a_text_of_many_pieces_counts_like_the_reference() -> None:
    text = "".join(
        f"line {n}: it isn't  over 'til\tnow,\n\n    漢 {n * n}\r\n" for n in range(25_000)
    )
    assert len(text) > 3 * vocabulary.PIECE
    _like_the_reference("o200k_base", text)


@given(text=TEXTS)
@settings(max_examples=examples(100), deadline=None)
def test_gemma_3_and_4_count_alike(text: str) -> None:
    assert _counter("gemma3").count(text) == _counter("gemma4").count(text)


def test_threads_agree() -> None:
    vocabulary._load.cache_clear()
    text = "one two\nthree 漢字 😀 " * 500
    with ThreadPoolExecutor(8) as pool:
        counts = set(pool.map(lambda _: _counter("o200k_base").count(text), range(64)))
    assert counts == {len(REFERENCE["o200k_base"].encode(text))}


def test_counting_needs_no_network_no_home_and_no_splintr_before_the_first_call() -> None:
    child = """
import socket, sys
def refuse(*_, **__): raise AssertionError("a network was asked for")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
import holdfast
from holdfast.engines.tokenizers.vocabulary import counter
from holdfast.model.tokens import Counted
assert "splintr" not in sys.modules
for name in sys.argv[1:]:
    assert counter(Counted(name, 1.0, True)).count("two words") > 1, name
print(counter(Counted("o200k_base", 1.0, True)).count("two words"))
"""
    done = subprocess.run(
        [sys.executable, "-c", child, *ENCODINGS],
        env={"HOME": "/nonexistent", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "2\n", done.stderr


@pytest.mark.parametrize(
    ("factor", "tokens", "expected"),
    [(1.1, 10, 11), (1.1, 100, 110), (1.35, 1, 2), (1.35, 100, 135), (0.5, 3, 2), (1.0, 7, 7)],
)
def test_a_factor_rounds_up_and_only_up(factor: float, tokens: int, expected: int) -> None:
    text = "a" + " a" * (tokens - 1)
    assert _counter("o200k_base").count(text) == tokens
    assert _counter("o200k_base", factor).count(text) == expected


def test_a_name_says_encoding_and_factor() -> None:
    assert _counter("o200k_base").name == "o200k_base"
    assert _counter("o200k_base", 1.35).name == "o200k_base*1.35"


@pytest.mark.parametrize("encoding", ["gpt-4o", "", "a\ud800"])
def test_an_encoding_that_is_not_there_is_refused(encoding: str) -> None:
    with pytest.raises(Invalid, match=r"tokens\.encoding"):
        _counter(encoding)


def test_the_refusal_says_what_there_is() -> None:
    with pytest.raises(Invalid, match="o200k_base"):
        _counter("p50k_base")


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), float("inf")])
def test_a_factor_that_is_none_is_refused(factor: float) -> None:
    with pytest.raises(Invalid, match=r"tokens\.factors"):
        _counter("o200k_base", factor)


@pytest.mark.parametrize(
    ("model", "encoding", "factor"),
    [
        ("gpt-4o-mini", "o200k_base", 1.0),
        ("gpt-4.1", "o200k_base", 1.0),
        ("openai/gpt-5-codex", "o200k_base", 1.0),
        ("azure/o3-mini", "o200k_base", 1.0),
        ("ft:gpt-4o-2024-08-06:someone::abc", "o200k_base", 1.0),
        ("GPT-4-Turbo", "cl100k_base", 1.0),
        ("azure/gpt-35-turbo", "cl100k_base", 1.0),
        ("text-embedding-3-large", "cl100k_base", 1.0),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama3", 1.0),
        ("accounts/fireworks/models/llama-v3p1-70b-instruct", "llama3", 1.0),
        ("ollama/llama3.2:3b", "llama3", 1.0),
        ("bedrock/meta.llama3-70b-instruct-v1:0", "llama3", 1.0),
        ("deepseek-chat", "deepseek_v3", 1.0),
        ("deepseek/deepseek-r1-distill-llama-70b", "llama3", 1.0),
        ("qwen2.5-coder:7b", "qwen3", 1.0),
        ("mistral-large-latest", "mistral_v3", 1.0),
        ("mistral.mistral-large-2402-v1:0", "mistral_v2", 1.0),
        ("qwen2.5-coder", "qwen3", 1.0),
        ("google/gemma-2-9b-it", "gemma2", 1.0),
        ("models/gemini-2.5-pro", "gemma4", 1.0),
        ("phi-4-mini-instruct", "o200k_base", 1.0),
        ("moonshotai/kimi-k2", "kimi_k2", 1.0),
        ("z-ai/glm-4.6", "glm4", 1.0),
        ("claude-3-5-sonnet-20241022", "o200k_base", 1.35),
        ("bedrock/us.anthropic.claude-3-haiku-20240307-v1:0", "o200k_base", 1.35),
        ("openrouter/anthropic/claude-opus-4.7", "o200k_base", 1.75),
        ("vertex_ai/claude-opus-4@20250514", "o200k_base", 1.35),
        ("anthropic/claude-sonnet-5", "o200k_base", 1.75),
        ("x-ai/grok-4", "o200k_base", 1.35),
        ("cohere.command-r-v1:0", "o200k_base", 1.3),
    ],
)
def test_a_model_is_known_by_the_longest_beginning(
    model: str, encoding: str, factor: float
) -> None:
    assert resolve(model, TokenSettings()) == Counted(encoding, factor, True)


def test_no_model_counts_with_the_encoding_as_it_is() -> None:
    assert resolve("", TokenSettings()) == Counted("o200k_base", 1.0, True)
    assert resolve(" ", TokenSettings(encoding="qwen3")) == Counted("qwen3", 1.0, True)


def test_the_model_of_the_settings_counts_when_none_is_named() -> None:
    assert resolve("", TokenSettings(model="gpt-4")) == Counted("cl100k_base", 1.0, True)
    assert resolve("gpt-5", TokenSettings(model="gpt-4")) == Counted("o200k_base", 1.0, True)


def test_an_unknown_model_counts_a_little_more_and_says_so() -> None:
    assert resolve("someone/new-9", TokenSettings()) == Counted("o200k_base", UNKNOWN, False)
    assert resolve("o3de", TokenSettings()) == Counted("o200k_base", UNKNOWN, False)
    assert resolve("new", TokenSettings(encoding="llama3")) == Counted("llama3", UNKNOWN, False)


def test_the_settings_win_over_the_table_and_the_longer_beginning_among_them() -> None:
    mine = TokenSettings(
        encodings={"gpt-4": "llama3", "House/": "qwen3", "claude-3": "glm4"},
        factors={"Claude": 1.2, "gpt-4o": 1.5, "house/big": 2.0, "new": 1.3},
    )
    assert resolve("gpt-4-turbo", mine) == Counted("llama3", 1.0, True)
    assert resolve("gpt-4.1", mine) == Counted("llama3", 1.0, True)
    assert resolve("gpt-4o", mine) == Counted("o200k_base", 1.5, True)
    assert resolve("gpt-5", mine) == Counted("o200k_base", 1.0, True)
    assert resolve("claude-next", mine) == Counted("o200k_base", 1.2, True)
    assert resolve("claude-opus-4-7", mine) == Counted("o200k_base", 1.2, True)
    assert resolve("claude-3-opus", mine) == Counted("glm4", 1.2, True)
    assert resolve("house/small", mine) == Counted("qwen3", 1.0, True)
    assert resolve("HOUSE/big-1", mine) == Counted("qwen3", 2.0, True)
    assert resolve("new-1", mine) == Counted("o200k_base", 1.3, True)


@given(model=st.text(), settings_=st.builds(TokenSettings, encodings=st.just({"": "qwen3"})))
@settings(max_examples=examples(100))
def test_every_name_resolves(model: str, settings_: TokenSettings) -> None:
    assert resolve(model, TokenSettings()).factor > 0
    assert resolve("no " + model, settings_).known
