"""Standing instructions: what opens as one is one, wherever it stands; talk and questions are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.instructions import standing
from tests.text.strange import HOSTILE, texts

_TOLD = [
    "Always use tabs.",
    "ALWAYS run the tests",
    "Never commit to main",
    "Never embed secrets",
    "From now on, answer in German.",
    "from here on use uv",
    "Going forward, keep answers short",
    "Please always run the tests",
    "Please never push to main.",
    "Don't ever do that",
    "Don’t ever do that",
    "Do not use that library again.",
    "You must always ask first",
    "Make sure to always ask",
    "Remember to never push",
    "Whenever you change code, run the tests",
    "Under no circumstances touch prod",
    "I'd prefer if you used tabs",
    "I want you to always ask first",
    "In the future, please ask me",
    "By default, use pnpm",
    "Always use tabs, ok?",
    "Immer zuerst die Tests laufen lassen",
    "Ab jetzt bitte auf Deutsch",
    "Künftig keine Emojis",
    "Bitte niemals auf main pushen",
    "À partir de maintenant, réponds en français",
    "Ne pousse jamais sur main",
    "Désormais, utilise pnpm",
    "Siempre usa tabuladores",
    "A partir de ahora responde en español",
    "Por favor, nunca uses npm",
    "请始终用中文回答",
    "以后请用中文",
    "从现在开始用中文",
    "今後は日本語で答えて",
]
_NOT_TOLD = [
    "",
    "Never mind",
    "Never heard of it.",
    "Never used Rust?",
    "Never felt better.",
    "Never give up!",
    "Always a pleasure!",
    "Always happy to help",
    "Have you always used tabs?",
    "I always run the tests",
    "She never commits to main",
    "It was fun, as always.",
    "I prefer tea",
    "Don't worry",
    "Use tabs here",
    "What should I do from now on?",
    "I went there every time",
    "我喜欢吃苹果",
    "Das war immer so",
]


@pytest.mark.parametrize("text", _TOLD)
@pytest.mark.parametrize(
    "around", ["{}", "Thanks for that.\n{}", "It works now! {}", "- {}", "  {}\n"]
)
def test_an_instruction_is_seen_at_the_start_of_a_text_and_of_a_sentence(
    text: str, around: str
) -> None:
    assert standing(around.format(text))


@pytest.mark.parametrize("text", _NOT_TOLD)
def test_talk_is_none(text: str) -> None:
    assert not standing(text)


@given(st.lists(st.sampled_from(_NOT_TOLD), max_size=6))
def test_much_talk_is_none(lines: list[str]) -> None:
    assert not standing("\n".join(lines))


@given(texts, st.sampled_from(_TOLD), texts)
def test_a_line_that_tells_tells_among_any_others(before: str, told: str, after: str) -> None:
    assert standing(f"{before}\n{told}\n{after}")


@given(st.text("abcdefghij .,\n", max_size=60))
def test_words_that_tell_nothing_tell_nothing(text: str) -> None:
    assert not standing(text)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_million_characters_of_anything(name: str) -> None:
    assert not standing(HOSTILE[name])
