"""Recall: what is asked, what is found and why, and every constant that decides it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, overload

import msgspec

from .events import Event
from .items import ContextItem
from .memories import Memory, Usage

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Bonus = Annotated[float, msgspec.Meta(ge=0, le=0.15)]
Weight = Annotated[float, msgspec.Meta(ge=0, le=100)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Profile = Literal["default", "seed"]


class RecallSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How memories are found and ranked. `docs/recall.md` tells how each figure was come by."""

    #: a larger file is not read in as a document: such are made by machines more often than by people
    document_bytes: Annotated[int, msgspec.Meta(ge=1, le=1 << 30)] = 1 << 20
    #: long texts are matched by pieces of this size, or one fitting sentence would drown in a page
    passage_chars: Annotated[int, msgspec.Meta(ge=80, le=4_000)] = 400
    #: a shorter passage borrows the words said before it until it has so many: an answer of three
    #: words is found by its question, and a long text needs no help
    context_words: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 100
    #: from so many turns before it at most; further back the subject has usually changed
    context_turns: Annotated[int, msgspec.Meta(ge=0, le=10)] = 2
    #: a borrowed word counts a little less than one's own
    context_weight: Share = 0.7
    #: BM25's own constants, as everybody sets them; other values gave nothing
    bm25_k1: Annotated[float, msgspec.Meta(ge=0, le=5)] = 1.2
    #: the same
    bm25_b: Share = 0.75

    # Each signal is put on one scale by its mean and spread among the best passages of the question,
    # then all count alike: weights fitted to one set of conversations were worse on the other.
    #: words in common, rare ones more
    lexical: Weight = 0.35
    #: meaning, by the best embedder there is
    vector: Weight = 0.35
    #: meaning, by the static vectors, which see names and rare words the model does not
    static: Weight = 0.35
    #: meaning of the turn that followed: the answer to a question names what the question asked
    following: Weight = 0.35
    #: the best words of the whole conversation: it is about the subject
    session: Weight = 0.35
    #: letters in common, four at a time: other forms of a word, compounds, misspellings
    letters: Weight = 0.35

    # What the signals cannot see, in units of log odds.
    #: the question names who said it
    speaker: Weight = 2.5
    #: said by a person, decided or learnt: questions ask for that more often than for what a model or
    #: a tool answered
    person: Weight = 2.0
    #: the question names a date, and this was said about then
    date: Weight = 4.0
    #: a standing instruction of a person holds for every later question
    instruction: Weight = 2.5
    #: of that, so much for a question it shares no word with: it still holds, and is not what is asked
    instruction_elsewhere: Share = 0.4
    #: what a person prefers bears on more than it names
    preference: Weight = 0.7
    #: full sentences say more than "yes, great"; counted up to thirty words
    length: Weight = 1.0
    #: something was decided: half of a person's prior, so that it settles ties and little more
    decision: Weight = 1.0
    #: an unanswered question, an unresolved error, an open task: what is still open matters as much
    open_thread: Weight = 1.0
    #: the question holds the fact's key, or names a file, an identifier, an error code it holds
    exact: Weight = 2.0

    #: the best so many of each kind set the scale; the same number in every store, or the scale
    #: would drift with the store's size
    pool: Count = 100
    #: and so many of each kind are ranked
    candidates: Count = 200
    #: an arm that looks for something in particular (decisions, dates, instructions) adds so many at
    #: most, so that it cannot crowd out what the question's own words find
    particular: Count = 50
    #: a spread below this share of what a signal could be at most is noise and is not blown up
    least_spread: Share = 0.05
    #: the best so many passages say what a conversation is about, and whether there is an answer:
    #: one may be a chance, more say the same again
    best_passages: Count = 3
    #: letters are compared in the best so many only, as they cost the most
    letters_pool: Count = 200
    #: words are searched from the rarest on until so many passages are touched; the others count when
    #: the found ones are ranked
    searched_passages: Count = 10_000
    #: a store says how rare a word is once it holds a few hundred passages; so many are imagined
    #: beside it, in which only words like "which" occur
    imagined_passages: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 200
    #: and in this share of them each of those words; three of ten is what conversations show
    imagined_share: Share = 0.3
    #: up to so many passages of one owner every vector is compared; beyond, a coarse look comes first
    exact_passages: Count = 200_000

    #: of two equally relevant hits the newer first; more than this cost recall on both sets
    recency: Bonus = 0.05
    #: the more important first; bounded, so that importance never outweighs relevance
    importance: Bonus = 0.15
    #: the more useful first: cited and useful up, wrong and ignored again and again down; bounded too
    usage: Bonus = 0.15
    #: how quickly use counts: two citations, or one `useful`, give three quarters of the most it can
    usage_step: Share = 0.5
    #: so often may one be ignored for each citation before it counts: a silence alone says little
    usage_patience: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 3
    #: and what each time after that moves down
    usage_ignored: Share = 0.15
    #: recency falls to a third in so many days
    recency_days: Annotated[float, msgspec.Meta(gt=0, le=3_650)] = 30.0

    # Relevance: how likely a hit is what was asked for. The first factor shares one answer among the
    # hits, the second says whether there is an answer at all.
    #: hits among which one answer is shared; those behind them hold next to nothing of it
    answer_among: Count = 60
    #: turns the share of one answer into the chance of a hit: questions have 1.6 hits on average
    relevance_share: float = 0.9
    #: the odds that there is an answer when nothing speaks for it
    answer_base: float = -2.0
    #: how much of the question's words the best three hits hold, rare ones more
    answer_coverage: float = 6.0
    #: the best cosine
    answer_cosine: float = 2.0
    #: the share of the question's words nobody ever said
    answer_unseen: float = -4.0
    #: confidence in the whole answer: the same with a base of its own, and how widely it is spread
    confidence_base: float = -3.0
    #: an answer spread over several hits is there more often than one that hangs on one
    confidence_spread: float = 0.5
    #: a question about a whole development wants many conversations: each further hit of one counts
    #: less, in units of log odds
    breadth: Weight = 0.6
    #: hits below this are noise: of two hundred like them one is what was asked for
    min_relevance: Share = 0.005

    # Automatic citation: does what a model said next show what it was given? Chosen for precision, on
    # answers of LoCoMo and BEAM alike.
    #: information, in nats, that repeated words carry together: a chance of about one in eight thousand
    cited_information: Weight = 9.0
    #: one word is enough when it holds a digit and carries this much: a number, a version, a date
    cited_alone: Weight = 4.5
    #: else at least so many words, as one may be a coincidence
    cited_words: Count = 2
    #: a hit that shows less than this share of what the best one shows was hardly the source
    cited_beside_best: Share = 0.9
    #: unless the reply repeats this share of all it says
    cited_of_itself: Share = 0.5
    #: words that more than this share of the hits hold tell none of them apart
    cited_shared: Share = 0.5
    #: seed: additive, relevance 0.4, recency 0.3, importance 0.3
    profile: Profile = "default"


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was found, and why it stands where it stands."""

    #: of the memory, of the item, of the event or of the part of a document
    id: str
    #: what would be shown: all of a short text, the best passage of a long one, a part of a document
    text: str
    #: what it is ranked by
    score: float
    #: how likely it is what was asked for, 0 to 1; means the same in every store
    relevance: float
    #: every part of the score that is not zero
    parts: dict[str, float]
    #: where it lies: a project, and who said it when
    project: str
    at: str
    speaker: str = ""
    event: Event | None = None
    memory: Memory | None = None
    #: of something an agent saved; its event holds the text
    item: ContextItem | None = None
    trust: int = 0
    #: how it was used before
    usage: Usage = Usage()
    #: ids of what belongs to it: the turns beside it, what it was learnt from, what it replaced
    related: tuple[str, ...] = ()
    #: of a part of a document: its file below the project's root, its first and last line there, and the
    #: headings or the definition it stands under
    path: str = ""
    line: int = 0
    line_end: int = 0
    title: str = ""

    @property
    def full(self) -> str:
        """The whole text; of a document the whole part."""
        if self.memory is not None:
            return self.memory.text
        if self.path:
            return self.text
        if self.item is not None and self.event is not None:
            return self.event.text
        return self.event.words if self.event is not None else self.text


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: hits, best first, and how far the whole of it can be relied on."""

    hits: tuple[Hit, ...]
    #: how likely the answer is among them, 0 to 1
    confidence: float
    query: str = ""
    #: what a person should know: an embedder that failed, vectors still to come
    notices: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, at: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[at]

    def __bool__(self) -> bool:
        return bool(self.hits)
