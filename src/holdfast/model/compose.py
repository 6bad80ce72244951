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
    #: candidates of recall that are weighed; a question is shared among sixty
    candidates: Some = 60
    #: what is less likely than this what was asked for is left out
    floor: Share = 0.002
    #: a memory this important is offered whatever the question is
    important: Share = 0.8
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
    #: one event of the conversation longer than this is shown in short, with a handle
    event_tokens: Tokens = 4_000
    #: your own beginnings of model names and their windows; the longest wins, yours before ours
    windows: dict[str, Tokens] = {}
    #: by the name of an agent
    agents: dict[str, AgentDefaults] = {}


#: beginnings of model names and how many tokens they take in, as their makers say
_WINDOWS = {
    "claude": 200_000,
    "claude-2": 100_000,
    "claude-2.1": 200_000,
    "claude-instant": 100_000,
    "gpt-3.5": 16_385,
    "gpt-4": 8_192,
    "gpt-4-turbo": 128_000,
    "gpt-4-1106": 128_000,
    "gpt-4-0125": 128_000,
    "gpt-4o": 128_000,
    "chatgpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4.5": 128_000,
    "gpt-5": 272_000,
    "gpt-oss": 131_072,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o1-preview": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "codex-mini": 200_000,
    "gemini-1.5-pro": 2_097_152,
    "gemini-1.5": 1_048_576,
    "gemini-2": 1_048_576,
    "gemini-3": 1_048_576,
    "gemma-2": 8_192,
    "gemma-3": 131_072,
    "grok-3": 131_072,
    "grok-4": 256_000,
    "llama-3": 8_192,
    "llama3": 8_192,
    "llama-3.1": 131_072,
    "llama3.1": 131_072,
    "llama-3.2": 131_072,
    "llama3.2": 131_072,
    "llama-3.3": 131_072,
    "llama3.3": 131_072,
    "mistral-large": 131_072,
    "mistral-small": 131_072,
    "mixtral-8x7b": 32_768,
    "mixtral-8x22b": 65_536,
    "deepseek-chat": 131_072,
    "deepseek-reasoner": 131_072,
    "deepseek-v3": 131_072,
    "deepseek-r1": 131_072,
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
