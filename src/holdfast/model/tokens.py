"""Which encoding counts the tokens of which model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

Factor = Annotated[float, msgspec.Meta(gt=0, le=100)]


class TokenSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How tokens are counted."""

    #: the model whose tokens count; empty: `encoding` as it is
    model: str = ""
    #: for no model or one that is not known; most models of today split text much like this one
    encoding: str = "o200k_base"
    #: your own beginnings of model names and their encoding; the longest wins, yours before ours
    encodings: dict[str, str] = {}
    #: your own beginnings of model names and their factor; the longest wins, yours before ours
    factors: dict[str, Factor] = {}


class Counted(msgspec.Struct, frozen=True):
    """How the tokens of one model are counted."""

    encoding: str
    #: what the count is multiplied with, rounded up; 1 where the encoding is the model's own
    factor: float
    #: False when a model was named that neither the table nor the settings know
    known: bool


#: a model nobody knows: most vocabularies of today count up to a tenth more on English and code
UNKNOWN = 1.1

#: beginnings of model names and the encoding that is theirs
_OWN = {
    "o200k_base": (
        *("gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-oss", "chatgpt-4o", "o1", "o3", "o4"),
        *("codex-mini", "computer-use", "phi-4-mini", "phi-4-multimodal"),
    ),
    "cl100k_base": (
        *("gpt-4", "gpt-3.5", "gpt-35", "text-embedding-3", "text-embedding-ada", "davinci-002"),
        *("babbage-002", "phi-3-small"),
    ),
    "llama3": (
        *("llama3", "llama-3", "llama-v3", "llama-v3p1", "llama-v3p2", "llama-v3p3"),
        *("meta-llama-3", "meta-llama3"),
        "deepseek-r1-distill-llama",
    ),
    "llama2": (
        *("llama2", "llama-2", "llama-v2", "meta-llama-2", "tinyllama", "vicuna", "phi-3", "phi3"),
    ),
    "codellama": ("codellama", "code-llama"),
    "deepseek_v3": ("deepseek",),
    "qwen3": ("qwen", "qwq", "qvq", "deepseek-r1-distill-qwen"),
    "glm4": ("glm", "chatglm"),
    "kimi_k2": ("kimi", "moonshot"),
    "phi4": ("phi-4", "phi4"),
    "olmo2": ("olmo-2", "olmo2", "olmo-3", "olmo3"),
    "gemma2": ("gemma-1", "gemma-2", "gemma2", "gemma-7b", "gemma:", "codegemma", "gemini-1"),
    # Gemini and Gemma 3 share a vocabulary; Gemma 4 has it too and counts the same, much faster
    "gemma4": ("gemma", "embeddinggemma", "gemini"),
    "mistral_v1": ("mistral-7b-v0.1", "mistral-7b-v0.2", "mixtral-8x7b", "open-mixtral-8x7b"),
    "mistral_v2": (
        *("mistral-7b", "mistral-tiny", "open-mistral-7b", "mixtral", "open-mixtral", "codestral"),
        *("mistral-small-2402", "mistral-small-2409", "mistral-medium-2312", "pixtral-large"),
        *("mistral-large-2402", "mistral-large-2407", "mistral-large-2411"),
    ),
    "mistral_v3": (
        *("mistral", "open-mistral", "ministral", "magistral", "devstral", "voxtral", "pixtral"),
    ),
}

#: beginnings of names of models whose vocabulary is not at hand: o200k_base times this
_NEAR = {
    # Claude 3.5 measured against GPT-4o: prose +16 %, mathematics +21 %, Python +30 %
    **dict.fromkeys(("claude-2", "claude-3", "claude-instant"), 1.35),
    **dict.fromkeys(("claude-opus-4", "claude-sonnet-4", "claude-haiku-4"), 1.35),
    # from Opus 4.7 on: prose 1.20 to 1.46, code 1.13 to 1.39 times the tokens of Claude before
    **dict.fromkeys(("claude-opus-4-7", "claude-opus-4-8", "claude-opus-4-9"), 1.75),
    **dict.fromkeys(("claude-opus-4.7", "claude-opus-4.8", "claude-opus-4.9", "claude"), 1.75),
    # published for the first two: 131k entries; Tekken, as large, counts 1.02 to 1.35 times o200k_base
    "grok": 1.35,
    # 255k entries, digits one by one; Gemma 2, alike in both, counts 1.05 to 1.27 times o200k_base
    **dict.fromkeys(("command", "c4ai", "aya"), 1.3),
    # not published and not measured: taken as wide as grok
    "nova": 1.35,
    # 65k entries, digits one by one; Mistral's 33k count 1.16 to 1.49 times o200k_base
    "jamba": 1.5,
    # 200k entries each, the size of o200k_base, other merges
    **dict.fromkeys(("llama-4", "llama4", "meta-llama-4", "minimax"), UNKNOWN),
}

_TABLE: dict[str, tuple[str, float]] = {
    **{prefix: (encoding, 1.0) for encoding, prefixes in _OWN.items() for prefix in prefixes},
    **{prefix: ("o200k_base", factor) for prefix, factor in _NEAR.items()},
}


def resolve(model: str, settings: TokenSettings) -> Counted:
    """How to count for a model, by the longest known beginning of its name.

    A provider may stand in front: `openrouter/anthropic/claude-3.5-sonnet`,
    `us.anthropic.claude-3-haiku`, `ft:gpt-4o`. A name is therefore looked at from its start and from
    behind every `/`, `:` and `.`, in whatever case it is written. An encoding of the user's own
    counts as it is, unless a factor of the user's own goes with it.
    """
    name = (model or settings.model).strip().lower()
    if not name:
        return Counted(settings.encoding, 1.0, True)
    built, own, factor = (
        longest_beginning(name, t) for t in (_TABLE, settings.encodings, settings.factors)
    )
    if own is not None:
        encoding, times, known = settings.encodings[own], 1.0, True
    elif built is not None:
        encoding, times, known = *_TABLE[built], True
    else:
        encoding, times, known = settings.encoding, UNKNOWN, False
    if factor is not None:
        times, known = settings.factors[factor], True
    return Counted(encoding, times, known)


def longest_beginning(model: str, known: Iterable[str]) -> str | None:
    """The longest of these names that a model's name begins with, a provider's name apart.

    A beginning ends where a word or a number does: `gpt-4` begins `gpt-4-turbo` and not `gpt-4o`, `o3`
    does not begin `o3de`; a word may be numbered, so `qwen` begins `qwen3`.
    """
    name = model.strip().lower()
    tails = [name, *(name[at + 1 :] for at, char in enumerate(name) if char in "/:.")]
    fitting = (one for one in known if any(_begins(tail, one.lower()) for tail in tails))
    return max(fitting, key=len, default=None)


def _begins(name: str, beginning: str) -> bool:
    if not name.startswith(beginning):
        return False
    last, following = beginning[-1:], name[len(beginning) : len(beginning) + 1]
    if not (last.isalnum() and following.isalnum()):
        return True
    return last.isalpha() and following.isdigit()
