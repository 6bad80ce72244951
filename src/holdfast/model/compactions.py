"""A compaction: what of a window stays, what stands in the place of the rest, and why."""

from __future__ import annotations

from typing import Literal

import msgspec

Verdict = Literal["keep", "summarize", "drop"]
#: the strategy of a compaction that goes back to a checkpoint
RESTORE = "restore"
#: what the end of a session leaves cold as well, though its window stays as it is
ARCHIVED = "session_end"
#: the bands of a window, from the emptiest to the fullest
BANDS = ("calm", "curate", "compact", "flash", "full")
Band = Literal["calm", "curate", "compact", "flash", "full"]


class Facts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What of something that left stays visible: exact names, each once, the most telling first."""

    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    #: what the person told to be done from then on
    rules: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


class Summed(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk that a summary stands for: what is cold once the summary leaves."""

    #: of its first event
    id: str
    seqs: tuple[int, ...]
    tokens: int
    score: float = 0.0
    parts: dict[str, float] = {}


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the place of the events from one to another."""

    first: int
    last: int
    #: what the events took
    tokens: int
    #: a summary, or the names a line shows
    text: str = ""
    #: who wrote it: rule, or the name of a model
    by: str = "rule"
    facts: Facts = Facts()
    #: of a summary, what it leaves out and nothing else in the window names
    names: str = ""
    #: of a summary, what it stands for; records of earlier versions do not say it
    chunks: tuple[Summed, ...] = ()
    #: of a summary that does not leave, why: pinned, or asked until the person says something else
    stays: str = ""

    @property
    def told(self) -> str:
        """A summary and the names behind it."""
        return f"{self.text}\nalso: {self.names}" if self.names else self.text


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What a window shows of everything up to a compaction."""

    #: spans that left, a line each, the oldest first
    lines: tuple[Span, ...] = ()
    #: spans that are summarised
    shorts: tuple[Span, ...] = ()
    #: the places of events that stay as they are
    kept: tuple[int, ...] = ()


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """One chunk on the receipt of a compaction: what became of it and why."""

    #: of its first event, by which it is expanded and recovered
    id: str
    first: int
    last: int
    tokens: int
    verdict: Verdict
    #: what it was worth (relevant, between, low_relevance), or what decided instead: recent, pinned, …
    #: `summary_left` where it was summarised by an earlier compaction and the summary left now
    why: str
    score: float = 0.0
    #: similarity, recency and importance, each as it counts
    parts: dict[str, float] = {}


class Named(Decided, frozen=True, kw_only=True):
    """One of a receipt as it is read by people."""

    #: what shows it verbatim
    handle: str
    #: the beginning of what it says
    says: str = ""


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """What one compaction did, as its event says."""

    id: str
    event_seq: int
    at: str
    strategy: str
    trigger: str
    #: what was asked at that time
    prompt: str
    #: everything up to this event is as `past` says
    through: int
    #: the compaction before it
    after: str
    tokens_before: int
    tokens_after: int
    window: int | None
    past: Past
    decided: tuple[Decided, ...]
    #: why summaries are by rule though a model is set; empty where nothing stood in its way
    by_rule: str = ""
    #: what the settings and the room it was made for are known by; empty where nobody said
    terms: str = ""


class Curation(msgspec.Struct, frozen=True, kw_only=True):
    """What came of ranking anew what recall had put in."""

    query: str
    hits_found: int
    total_hits_before_curation: int
    token_savings: int
    drops_triggered: int


class Pressure(msgspec.Struct, frozen=True, kw_only=True):
    """How full a window is."""

    tokens: int
    limit: int
    band: Band
    #: tokens at which the next compaction begins, and how many more turns that is, if known
    next_at: int
    turns_left: int | None = None

    @property
    def pct(self) -> float:
        """The share of the limit that is used."""
        return self.tokens / self.limit if self.limit else 1.0


class SavedContext(msgspec.Struct, frozen=True, kw_only=True):
    """A whole working context, as a checkpoint holds it: everything by where it lies in the log."""

    id: str
    #: the last event it takes in
    position: int
    trigger: str
    tokens: int
    #: what the window showed, the conversation since among what is kept
    past: Past
    #: of each item what its content is known by, and its tier
    items: dict[str, str]
    tiers: dict[str, str]
    #: the version of the scratchpad
    scratchpad: int


class FlashSave(msgspec.Struct, frozen=True, kw_only=True):
    """What saving a whole working context came to."""

    checkpoint_id: str
    items_archived: int
    hot_items_retained: int
    tokens_before: int
    tokens_after: int
    #: the compaction that followed, empty when there was nothing to leave
    compaction: str = ""
