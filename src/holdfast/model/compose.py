"""How a context is composed, and how large the windows of models are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from .recall import Share
from .tokens import longest_beginning

Tokens = Annotated[int, msgspec.Meta(ge=0, le=100_000_000)]
Some = Annotated[int, msgspec.Meta(ge=1, le=100_000)]

#: the parts of a context, from the most stable to the most volatile
SECTIONS = ("system", "background", "index", "history", "critical", "relevant", "scratchpad")
#: those that share the budget
SHARED = ("critical", "relevant", "background", "index")
#: how much of something is shown
LEVELS = ("full", "summary", "compressed", "index")


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """How the budget is divided; what one section leaves, another may take."""

    #: what must not be overlooked: open errors, decisions, corrections
    critical: Share = 0.25
    #: what the question is about
    relevant: Share = 0.375
    #: rules, preferences and habits of the project
    background: Share = 0.25
    #: what else there is to ask for
    index: Share = 0.125


class AgentDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is given when the caller names nothing else."""

    #: its instructions
    system: str = ""
    #: its tools, as JSON schema
    tools: tuple[dict[str, Any], ...] = ()


class ComposeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How memories, history and notes become a context."""

    #: tokens of all that memory adds to a context; a week of work in a page or two
    budget: Tokens = 8_000
    #: how the budget is divided
    shares: Shares = Shares()
    #: the same by activity, your own before ours; ours knows debugging, where errors come first
    profiles: dict[str, Shares] = {}
    #: a section may take this much of its share when others leave room
    stretch: Annotated[float, msgspec.Meta(ge=1, le=10)] = 1.5
    #: of the budget, so much at most goes to the scratchpad
    scratchpad: Share = 0.1
    #: new tokens a turn once an epoch has begun: whatever changes at the end of a prompt is paid for
    #: in full each time, so a turn adds little and nothing twice
    new_tokens: Tokens = 500
    #: the same for the turn an epoch begins with, beside background and index; None for all that the
    #: budget leaves: nothing of that prompt is cached yet
    first_tokens: Tokens | None = None
    #: candidates of recall that are weighed; a question is shared among sixty
    candidates: Some = 60
    #: what is less likely than this what was asked for is left out
    floor: Share = 0.003
    #: the same once a conversation is under way and the person asks: what left the window is found by
    #: this alone, and costs little, for a turn adds little (`bench/compact.py`, `bench/economy.py`)
    floor_asked: Share = 0.003
    #: the same for a step of the model's own work: what is put in is paid for at every step that follows
    floor_step: Share = 0.15
    #: when the budget is full, and what a turn could add holds what was asked for with this likelihood,
    #: the context begins anew
    renew: Share = 0.3
    #: if what it takes in anew then is no more than this share of all that was sent since it began
    renew_anew: Share = 0.03
    #: errors and decisions of so many hours count as recent
    recent_hours: Annotated[float, msgspec.Meta(gt=0, le=87_600)] = 24.0
    #: what each level is worth beside the full text, about what it keeps of its key terms
    value_summary: Share = 0.7
    #: the same
    value_compressed: Share = 0.45
    #: a name tells that there is something to ask for, and hardly more
    value_index: Share = 0.15
    #: without a window, so many tokens of the conversation at most
    history_tokens: Tokens = 50_000
    #: when it does not fit, it begins anew with this share of the room, so that it can grow again
    history_refill: Share = 0.5
    #: one event of the conversation longer than this, or than a quarter of the room, is shown in short,
    #: with a handle; what a person says may take half of the room
    event_tokens: Tokens = 20_000
    #: your own beginnings of model names and their windows; the longest wins, yours before ours
    windows: dict[str, Tokens] = {}
    #: by the name of an agent
    agents: dict[str, AgentDefaults] = {}


#: names of models, or their beginnings, and how many tokens they take in, as their makers say; where
#: they differ within a family, the members are named, and no family that is still to come is guessed
_WINDOWS = {
    **dict.fromkeys(("claude-2", "claude-v2", "claude-instant"), 100_000),
    **dict.fromkeys(("claude-2.1", "claude-v2:1", "claude-3", "claude-4"), 200_000),
    **dict.fromkeys(("claude-opus-4", "claude-sonnet-4", "claude-haiku-4"), 200_000),
    **dict.fromkeys(("gpt-3.5-turbo-0301", "gpt-3.5-turbo-0613", "gpt-3.5-turbo-instruct"), 4_096),
    **dict.fromkeys(("gpt-3.5-turbo", "gpt-35-turbo-16k"), 16_385),
    **dict.fromkeys(("gpt-4", "gpt-4-0314", "gpt-4-0613"), 8_192),
    "gpt-4-32k": 32_768,
    **dict.fromkeys(("gpt-4-turbo", "gpt-4-1106", "gpt-4-0125", "gpt-4-vision"), 128_000),
    **dict.fromkeys(("gpt-4o", "chatgpt-4o", "gpt-4.5", "o1-mini", "o1-preview"), 128_000),
    **dict.fromkeys(
        ("gpt-4o-transcribe", "gpt-4o-mini-transcribe", "gpt-4o-mini-realtime"), 16_000
    ),
    **dict.fromkeys(("gpt-4o-realtime", "gpt-realtime"), 32_000),
    "gpt-4o-mini-tts": 2_000,
    "gpt-4.1": 1_047_576,
    # 400,000 with what it says itself
    "gpt-5": 272_000,
    **dict.fromkeys(("gpt-5-chat", "gpt-5.1-chat", "gpt-5.2-chat", "gpt-5.3-chat"), 128_000),
    "gpt-oss": 131_072,
    **dict.fromkeys(("o1", "o3", "o3-mini", "o4-mini", "codex-mini"), 200_000),
    "gemini-1.5-pro": 2_097_152,
    **dict.fromkeys(("gemini-1.5-flash", "gemini-2.0-flash", "gemini-2.5-pro"), 1_048_576),
    **dict.fromkeys(("gemini-2.5-flash", "gemini-3-pro", "gemini-3-flash"), 1_048_576),
    **dict.fromkeys(("gemini-3.1-pro", "gemini-3.1-flash-lite"), 1_048_576),
    **dict.fromkeys(("gemini-2.5-flash-image", "gemini-2.0-flash-preview-image"), 32_768),
    **dict.fromkeys(("gemini-3-pro-image", "gemini-3.1-flash-lite-image"), 65_536),
    **dict.fromkeys(("gemini-2.5-flash-preview-tts", "gemini-2.5-pro-preview-tts"), 8_192),
    **dict.fromkeys(("gemini-2.5-flash-tts", "gemini-2.5-pro-tts"), 8_192),
    **dict.fromkeys(("gemini-2.5-flash-native-audio", "gemini-2.5-flash-live"), 131_072),
    **dict.fromkeys(("gemma-2", "gemma2"), 8_192),
    **dict.fromkeys(("gemma-3-1b", "gemma-3-270m", "gemma3:1b", "gemma3:270m"), 32_768),
    **dict.fromkeys(("gemma-3n", "gemma3n"), 32_768),
    **dict.fromkeys(("gemma-3-4b", "gemma-3-12b", "gemma-3-27b"), 131_072),
    **dict.fromkeys(("gemma3:4b", "gemma3:12b", "gemma3:27b"), 131_072),
    "grok-3": 131_072,
    **dict.fromkeys(("grok-4", "grok-code-fast-1"), 256_000),
    **dict.fromkeys(("llama-3", "llama3", "meta-llama-3"), 8_192),
    **dict.fromkeys(("llama-3.1", "llama3.1", "meta-llama-3.1"), 131_072),
    **dict.fromkeys(("llama-3.2", "llama3.2", "llama-3.3", "llama3.3"), 131_072),
    **dict.fromkeys(("mistral-large-2402", "mistral-small-2402", "mistral-small-2409"), 32_768),
    **dict.fromkeys(("mistral-small-2501", "mistral-small-24b", "mixtral-8x7b"), 32_768),
    "mixtral-8x22b": 65_536,
    **dict.fromkeys(("mistral-large-2407", "mistral-large-2411", "mistral-large-2512"), 131_072),
    **dict.fromkeys(("mistral-small-2503", "mistral-small-2506", "mistral-small-3.1"), 131_072),
    **dict.fromkeys(("mistral-small-3.2", "mistral-small-latest"), 131_072),
    "mistral-large-latest": 131_072,
    **dict.fromkeys(("deepseek-chat", "deepseek-reasoner", "deepseek-v3", "deepseek-r1"), 131_072),
}


#: by activity: when something is broken, errors and their fixes come first
_PROFILES = {"debugging": Shares(critical=0.375, relevant=0.3125, background=0.1875, index=0.125)}


def shares_for(activity: str, settings: ComposeSettings) -> Shares:
    """How the budget is divided for an activity."""
    own = settings.profiles.get(activity) or _PROFILES.get(activity)
    return settings.shares if own is None else own


def window_of(model: str, own: Mapping[str, int]) -> int | None:
    """How many tokens a model takes in; None for one that neither the table nor the settings know."""
    for table in (own, _WINDOWS):
        found = longest_beginning(model, table)
        if found is not None:
            return table[found]
    return None
