"""How a window is kept small: when, what leaves it, and what stays in its place."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from .compose import Tokens
from .recall import Share

Strategy = Literal["adaptive", "sliding_window", "token_truncation", "recursive_summarization"]
Trigger = Literal["tokens", "turns", "idle", "gate"]
Some = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Weight = Annotated[float, msgspec.Meta(ge=0, le=1)]
Hours = Annotated[float, msgspec.Meta(gt=0, le=87_600)]
Days = Annotated[float, msgspec.Meta(gt=0, le=36_500)]

#: what each kind of item is worth when it was just saved; a kind of one's own is worth the last. None
#: of those tried on coding work (`bench/items.py`) ranks better what is needed again. A section of a
#: specification is a rule of the task: hot, and not at the very edge of it
_TYPE_WEIGHTS = {
    "TASK": 1.0,
    "PRD_SECTION": 0.9,
    "CODE": 0.7,
    "ERROR": 0.6,
    "TEST_RESULT": 0.5,
    "": 0.5,
}


class CompactSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When a conversation is compacted, and what of it stays."""

    #: how it is decided what leaves
    strategy: Strategy = "adaptive"
    #: what begins a compaction by itself; whatever is named here, one begins where the conversation has
    #: no room left in its own part of the window, and where everything is saved (`flash_at`)
    triggers: tuple[Trigger, ...] = ("tokens", "turns", "idle", "gate")
    #: of the window: from here on what recall put in is ranked anew against the present prompt
    curate_at: Share = 0.4
    #: when more than this share of what recall put in is beside the point of the present prompt
    curate_stale: Share = 0.5
    #: and the context, which begins anew then, takes in no more than this share of all that was sent
    #: since it began
    curate_anew: Share = 0.05
    #: of the window: from here on items leave
    compact_at: Share = 0.5
    #: what is left afterwards: the less it is, the less each step after it costs and the further away
    #: the next one is (`bench/economy.py`)
    compact_to: Share = 0.15
    #: of what a window is compacted at: what is worth keeping and came last may take so much together
    #: with what must stay, though it is more than that
    hold: Share = 0.5
    #: a prompt that begins anew is taken in anew: it may be so much of all that was sent since the last
    #: time; what is fuller than `flash_at` does not wait for it
    anew: Share = 0.02
    #: from here on the whole working context is saved
    flash_at: Share = 0.8
    #: the same as a number of tokens; None for the share alone
    flash_tokens: Tokens | None = None
    #: never passed
    most: Share = 0.85
    #: turns after which a window of the conversation slides
    turns: Some = 30
    #: without a word for so long, a session is summarised
    idle_hours: Hours = 1.0

    #: what likeness to the prompt counts
    similarity: Weight = 0.6
    #: what having been said lately counts
    recency: Weight = 0.2
    #: how fast that fades
    recency_hours: Hours = 6.0
    #: what being marked as important counts
    importance: Weight = 0.1
    #: an item with this score or more stays
    keep: Weight = 0.7
    #: an item with this score or less leaves; what lies between is summarised
    drop: Weight = 0.3
    #: the last so many items stay
    recent: Some = 10

    #: summarise what lies between, or keep it in short form by rule
    summarize: bool = True
    #: tokens of one summary
    summary_tokens: Some = 500
    #: summaries a model is asked for in one compaction, where one is set; the others are made by rule
    model_calls: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 8
    #: and how long that may take together
    model_seconds: Annotated[float, msgspec.Meta(ge=0, le=3_600)] = 60.0
    #: tokens of the lines that name what left: of the room after a compaction, this share at most
    lines: Share = 0.6
    #: words are added to what a line names exactly until it has so many tokens, on the average
    line_tokens: Some = 96
    #: and no line takes more than so many, whatever it could name
    line_most: Some = 400
    #: one line stands for so many tokens of what left at most, so that it can be shown whole on request
    span_tokens: Some = 2_000

    #: keep a copy of what left beside the log
    cold: bool = True
    #: for so long it is found by a search; afterwards by its handle
    cold_days: Days = 30.0


class ManagerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is written beside the log for people and their tools; all of it is made from the log."""

    #: where copies of what left lie, in a folder for each project; "" for cold-storage/ beside the log
    cold_path: str = ""
    #: where the five logs lie, likewise; "" for logs/ beside the log
    log_path: str = ""
    #: a line for each compaction, in compaction.jsonl
    log_compaction: bool = True
    #: for each curation, in curation.jsonl
    log_curation: bool = True
    #: for each chunk that left, in drops.jsonl
    log_drops: bool = True
    #: for each chunk that came back, in recovery.jsonl
    log_recovery: bool = True
    #: for each context, in context-health.jsonl
    log_health: bool = True
    #: `holdfast.manager` compacts by itself when that is due, instead of saying so
    auto_compact: bool = False
    #: it puts back what left and is about what is asked, before an answer, where there is room
    auto_recover: bool = True
    #: what a context still holds when its session ends is cold, too
    archive: bool = True
    #: what is less like the prompt than this is not like it at all; of `holdfast.manager`
    min_score: Weight = 0.05
    #: of `holdfast.manager`, which model `[complete]` is asked for; where that table names no provider
    #: nobody is asked, and summaries are written by rule
    summary_model: str = ""


class ItemSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How items that agents save are weighed."""

    #: what your own kinds are worth when they were just saved; yours before ours
    weights: dict[str, Weight] = {}
    #: days after which an item nobody reads is worth a third
    decay_days: Days = 7.0
    #: from here on an item is hot: always loaded
    hot: Weight = 0.8
    #: from here on warm: loaded on demand; below it is cold
    warm: Weight = 0.4


def type_weight(kind: str, settings: ItemSettings) -> float:
    """What an item of a kind is worth when it was just saved."""
    own = settings.weights.get(kind)
    return _TYPE_WEIGHTS.get(kind, _TYPE_WEIGHTS[""]) if own is None else own
