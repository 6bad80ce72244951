"""Histories: what several users and agents did, told in every way a log can hold.

Each event is one a session would record, or one that nobody would: fields that are missing, of another
type, nested, huge, in any script, of a type that is not known. What is folded must not mind.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from holdfast.engines.reference.log import MemoryLog
from holdfast.model.events import EVENT_TYPES, Entry, Event
from holdfast.views.every import VIEWS
from holdfast.views.fold import Change, Fold
from holdfast.views.view import View, within
from tests.contract.entries import entry, events_of

Row = tuple[str, str, bytes]

USERS = ("ana", "bö", '"', None)
AGENTS = ("coder", "旅\u2028人", None)
SESSIONS = ("ses_1", "ses_2", 'ses","3', "")
FOLDED = (
    "session_started",
    "session_ended",
    "user_message",
    "model_message",
    "tool_call",
    "tool_result",
    "validation_gate",
    "system_event",
    "decision",
    "error",
    "state_updated",
    "task_completed",
    "checkpoint_saved",
    "memory_recall",
)
REMEMBERED = (
    "memory_learned",
    "memory_revised",
    "memory_superseded",
    "memory_merged",
    "memory_forgotten",
    "memory_restored",
    "trust_changed",
    "memory_used",
)
KEPT = ("item_saved", "item_accessed", "tiers_assigned")
MEMORIES = ("mem_1", "mem_2", "mem_3")
ITEMS = ("itm_1", "itm_2", "itm_3")

words = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["", "Build it", "build  IT", "ß", "\0", "x" * 4_500, "é" * 600, "\U0010ffff\u2028"]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([-0.0, 1e308, 5e-324, 1.0, 2**53, -(2**63), 2**64 - 1])
    | st.integers(2**64, 2**200).map(str)
    | words
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)

ids = st.sampled_from(MEMORIES) | st.sampled_from(["evt-1", "", "mem_", 'mem_"', "mem_4"]) | words
moments = st.sampled_from(
    ["2026-01-31T09:00:10.000Z", "2026-01-31T09:00:20.000Z", "2026-02-31", "9", "", None]
)
shares = st.floats(0, 1) | st.sampled_from([-1, 2, 1e308, True, "0.5", None])
short_words = st.sampled_from(["db", "DB ", "PostgreSQL", "typescript", "", " "]) | words


def some(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A few of them in a list."""
    return st.lists(of, max_size=4)


_MEMORY: dict[str, st.SearchStrategy[Any]] = {
    "scope": st.sampled_from(["session", "user", "project", "system", "all", ""]),
    "kind": st.sampled_from(["fact", "episode", "pattern", "workflow", "rumour"]),
    "category": st.sampled_from(["facts", "preferences", "rules", "skills", "context", "x"]),
    "text": words,
    "summary": words,
    "compressed": words,
    "index": words,
    "subject": short_words,
    "key": short_words,
    "value": short_words,
    "applies_to": short_words,
    "title": short_words,
    "steps": some(words),
    "trigger": short_words,
    "tags": some(words),
    "importance": shares,
    "confidence": shares,
    "source_type": st.sampled_from(["explicit", "implicit", "heard"]),
    "valid_from": moments,
    "valid_to": moments,
    "expires_at": moments,
    "supersedes": some(ids),
    "artifacts": some(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["commit", "pr", "adr", "file", "x"]), "ref": words}
        )
    ),
    "lineage": some(words),
}
#: a payload about memories, as it should be or with something else in some of its places
about_memories: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"memory": st.sampled_from(MEMORIES) | ids},
    optional={
        **_MEMORY,
        "changes": st.fixed_dictionaries({}, optional=_MEMORY),
        "by": ids,
        "from": some(ids),
        "reason": words,
        "trust": st.integers(-1, 4) | values,
        "slot": some(short_words) | st.just(["", "db", "", "project"]),
        **{verdict: some(ids) for verdict in ("cited", "ignored", "useful", "wrong", "ids")},
    },
)

tiers = st.sampled_from(["HOT", "WARM", "COLD", "hot", ""]) | values
millionths = st.integers(0, 1_000_000) | st.integers(-5, 2**60) | values
items = st.sampled_from(ITEMS) | ids
#: a payload about items
about_items: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "item": items,
        "item_type": st.sampled_from(["CODE", "TASK", "own", "", "a b"]) | values,
        "text": words,
        "index": words,
        "sha256": words,
        "importance": shares | values,
        "pinned": st.booleans() | values,
        "important": st.booleans(),
        "tags": some(words) | values,
        "tier": tiers,
        "score": millionths,
        "ids": some(items) | values,
        "tiers": values
        | st.dictionaries(
            items,
            values | st.fixed_dictionaries({}, optional={"tier": tiers, "score": millionths}),
            max_size=3,
        ),
    },
)

#: what views look at, and what they hope to find there
_EXPECTED: dict[str, st.SearchStrategy[Any]] = {
    "text": words,
    "tool": st.sampled_from(["Read", "Edit", "bash", "ls -l", ""]),
    "is_error": st.booleans(),
    "gate": st.sampled_from([1, "1", 2, "build", 1.5, None]),
    "passed": st.booleans(),
    "reason": words,
    "resumed": st.booleans(),
    "workflow": words,
    "skill": words,
    "git_branch": words,
    "workspace": words,
    "expect": st.none() | st.integers(0, 4),
    "state": st.dictionaries(
        st.sampled_from(["current_task", "tasks", "blockers", "a", "b", ""]), values, max_size=3
    ),
    "input": st.fixed_dictionaries(
        {},
        optional={
            "file_path": st.sampled_from(["a.py", "b.py", "ü/c.py", "", "x" * 1_001]) | words,
            "path": words,
            "file": values,
            "todos": st.lists(
                st.fixed_dictionaries(
                    {},
                    optional={
                        "content": words | values,
                        "status": st.sampled_from(["completed", "pending"]) | values,
                    },
                )
                | values,
                max_size=4,
            ),
        },
    ),
    "file_changes": st.lists(words | values, max_size=4),
    "more": values,
}
expected = st.fixed_dictionaries({}, optional=_EXPECTED)
_NAMES = sorted({*_EXPECTED, *_MEMORY, "memory", "changes", "by", "from", "slot", "cited"})
odd = st.dictionaries(st.sampled_from(_NAMES) | words, values | ids, max_size=5)
payloads = expected | expected | about_memories | about_items | odd | values
kinds = st.sampled_from(FOLDED) | st.sampled_from(sorted(EVENT_TYPES)) | st.just("moon_phase")
#: a type and a payload that mostly go together
told_events = (
    st.tuples(kinds, payloads)
    | st.tuples(st.sampled_from(REMEMBERED), about_memories)
    | st.tuples(st.sampled_from(KEPT), about_items)
)


@st.composite
def histories(draw: st.DrawFn, max_size: int = 40, min_size: int = 0) -> list[Entry]:
    """Entries in the order they are recorded."""
    told = draw(
        st.lists(
            st.tuples(
                told_events,
                st.sampled_from(USERS[:2]) | st.sampled_from(USERS),
                st.sampled_from(AGENTS[:1]) | st.sampled_from(AGENTS),
                st.sampled_from(SESSIONS[:2]) | st.sampled_from(SESSIONS) | st.none(),
                st.none() | st.integers(0, max_size),
            ),
            min_size=min_size,
            max_size=max_size,
        )
    )
    return [
        entry(
            event_id=f"evt-{n}",
            type=f"{kind}@{1 + n % 2}",
            payload=payload,
            user=user,
            agent=agent,
            session_id=session,
            timestamp=f"2026-01-31T09:{n // 60 % 60:02d}:{n % 60:02d}.000Z",
            trust=n % 4,
            sources=() if about is None else (f"evt-{about}", "evt-unknown"),
        )
        for n, ((kind, payload), user, agent, session, about) in enumerate(told)
    ]


def story(seed: int, count: int, sessions: int = 3) -> list[Entry]:
    """A plain history without Hypothesis: several sessions at work, some of them over."""
    dice = random.Random(seed)
    return [_told(dice, f"evt-{seed}-{n}", n, sessions) for n in range(count)]


def _told(dice: random.Random, event_id: str, n: int, sessions: int) -> Entry:
    kind = dice.choice(("user_message", "model_message", *FOLDED[:-2], *REMEMBERED))
    learned = kind == "memory_learned"
    payload: dict[str, Any] = {
        "memory": f"mem_{n if learned else dice.randrange(max(n, 1))}",
        "scope": dice.choice(("session", "user", "project", "system")),
        "key": dice.choice(("", "db", "editor")),
        "value": dice.choice(("", "pg", "sqlite")),
        "changes": {"text": f"now {n}", "importance": 0.9},
        "by": f"mem_{n}",
        "from": [f"mem_{dice.randrange(max(n, 1))}"],
        "trust": dice.randrange(4),
        "cited": [f"mem_{dice.randrange(max(n, 1))}"],
        "text": f"{kind} {n} of {event_id} " + "é" * dice.choice((0, 3, 300)),
        "tool": dice.choice(("Read", "Edit", "bash")),
        "is_error": dice.random() < 0.3,
        "input": {"file_path": f"{dice.randrange(9)}.py"},
        "gate": dice.randrange(3),
        "passed": dice.random() < 0.5,
        "state": {dice.choice("abc"): dice.choice((None, n, {"x": n}))},
        "expect": dice.choice((None, None, 0, 1, 2)),
        "reason": f"because {n}",
    }
    who = dice.randrange(sessions)
    return entry(
        event_id=event_id,
        type=f"{kind}@1",
        payload=payload,
        session_id=f"ses_{who}" if n % 17 else None,
        user=USERS[who % 2],
        agent="coder",
        timestamp=f"2026-01-31T09:{n // 60 % 60:02d}:{n % 60:02d}.000Z",
    )


def of_sessions(rows: Sequence[Row]) -> list[Row]:
    """The rows without those that belong to no session."""
    return [row for row in rows if not row[1].startswith(within(None, None, None))]


def recorded(entries: Sequence[Entry]) -> list[Event]:
    """The same as events of a log."""
    log = MemoryLog()
    log.append(list(entries))
    return events_of(log)


def changes(
    events: Sequence[Event], before: Sequence[Row] = (), views: tuple[View, ...] = VIEWS
) -> list[Change]:
    """What these events change in rows that are there."""
    there = {(view, key): row for view, key, row in before}
    fold = Fold(lambda view, key: there.get((view, key)), views)
    for event in events:
        fold.apply(event)
    return list(fold.changes())


def folded(
    events: Sequence[Event], before: Sequence[Row] = (), views: tuple[View, ...] = VIEWS
) -> list[Row]:
    """Every row after these events, as it is kept."""
    rows = {(view, key): row for view, key, row in before}
    for view, key, row in changes(events, before, views):
        rows.pop((view, key), None)
        if row is not None:
            rows[view, key] = row
    return sorted((view, key, row) for (view, key), row in rows.items())
