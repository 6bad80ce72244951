"""Two people with two agents each, in one project: what they do, and every way one of them can ask.

Everything Ana says and learns for herself holds a word that nobody else uses. What Ben is answered may
not hold it, and may not be other for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from holdfast.app.holdfast import Holdfast
from holdfast.app.session import Session
from holdfast.errors import NotFound
from holdfast.model.memories import Memory
from holdfast.model.recall import Found
from tests.recall.replays import plain_answer, plain_memory

#: only Ana says this; "deploy", "database" and the others below are said by both
CANARY = "zyzzogeton"
PROJECTS = ("p", "~user/ana", "~user/ben", "~system")
AGENTS = ("coder", "critic")
SCOPES = (None, "all", "session", "user", "project", "system", "app", "user-private")
QUERIES = (f"{CANARY} deploy", "how do we deploy the database?")
_WORDS = ("deploy", "database", "retry", "login", "cache", "token", "queue", "red", "blue", "green")

sentences = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=6).map(" ".join)


class Deed(NamedTuple):
    """What somebody does."""

    user: str
    agent: str
    what: str
    text: str


#: what a person keeps to themselves, and what is for everybody (Ben alone does that here)
PRIVATE = (
    *("user", "assistant", "tool", "decision", "error", "item", "session", "own"),
    *("revise", "search"),
)
SHARED = ("project", "everybody")


def deeds(user: str, kinds: tuple[str, ...], most: int) -> st.SearchStrategy[list[Deed]]:
    """Some of what one person does."""
    return st.lists(
        st.builds(Deed, st.just(user), st.sampled_from(AGENTS), st.sampled_from(kinds), sentences),
        min_size=2,
        max_size=most,
    )


@st.composite
def lives(draw: st.DrawFn) -> list[Deed]:
    """What both did, in some order."""
    hers = draw(deeds("ana", PRIVATE, 14))
    his = draw(deeds("ben", PRIVATE + SHARED, 10))
    order = draw(st.permutations([0] * len(hers) + [1] * len(his)))
    ways = (iter(hers), iter(his))
    return [next(ways[whose]) for whose in order]


def session_of(hf: Holdfast, user: str, agent: str) -> Session:
    """The one session of an agent for a user."""
    return hf.session(agent=agent, user=user, session_id=f"ses-{user}-{agent}")


def live(hf: Holdfast, done: list[Deed]) -> None:
    """Let them do it."""
    for deed in done:
        secret = f" {CANARY}" if deed.user == "ana" else ""
        _do(hf, session_of(hf, deed.user, deed.agent), deed, deed.text + secret)


def _do(hf: Holdfast, s: Session, deed: Deed, text: str) -> None:
    tags = ["work", CANARY] if deed.user == "ana" else ["work"]
    said: Mapping[str, Callable[[], Any]] = {
        "user": lambda: s.user(text),
        "assistant": lambda: s.assistant(text),
        "tool": lambda: s.tool_result("Bash", text),
        "decision": lambda: s.decision(text),
        "error": lambda: s.error(text),
        "item": lambda: s.items.save(text, type="TASK", tags=tags),
        "session": lambda: s.remember(text, scope="session", tags=tags),
        "own": lambda: s.remember(text, scope="user", tags=tags, category="preferences"),
        "project": lambda: s.remember(text, tags=tags),
        "everybody": lambda: s.remember(text, scope="system", tags=tags),
        "revise": lambda: _revise(hf, deed, text),
        "search": lambda: _search(s, text),
    }
    said[deed.what]()


def _revise(hf: Holdfast, deed: Deed, text: str) -> None:
    mine = [m for m in hf.list(user=deed.user, agent=deed.agent) if m.scope in ("session", "user")]
    for memory in mine[:1]:
        hf.revise(memory.id, text=text, user=deed.user, agent=deed.agent)


def _search(s: Session, text: str) -> None:
    """Look for something of one's own, and say what was found."""
    s.recall(text, scope="session")
    s.assistant(text)


# ---- how Ben can ask ----------------------------------------------------------------------------


def asked_widely(hf: Holdfast) -> Iterator[tuple[str, Found]]:
    """Everything Ben can ask recall for."""
    narrowed: list[dict[str, Any]] = [{"scope": scope} for scope in SCOPES]
    narrowed += [{"agent": agent} for agent in ("*", *AGENTS)]
    narrowed += [{"session_id": f"ses-{user}-coder"} for user in ("ana", "ben")]
    narrowed += [{"category": "preferences"}, {"kind": "fact"}, {"tags": ["work"]}]
    narrowed += [{"tags": [CANARY]}, {"as_of": "2090-01-01T00:00:00Z"}]
    for query in QUERIES:
        for filters in narrowed:
            found = hf.recall(query, 50, user="ben", min_relevance=0, **filters)
            yield f"{query} {filters}", found


def memories(found: list[Memory]) -> list[dict[str, Any]]:
    """Memories to compare."""
    return [plain_memory(memory) for memory in found]


def answered(hf: Holdfast) -> dict[str, Any]:
    """All that Ben can find out about what is remembered."""
    told: dict[str, Any] = {name: plain_answer(found) for name, found in asked_widely(hf)}
    for agent in (None, "*", *AGENTS):
        told |= {
            f"list {agent}": memories(hf.list(user="ben", agent=agent, state="all")),
            f"tags {agent}": memories(
                hf.retrieve_by_tags(["work", CANARY], 50, user="ben", agent=agent)
            ),
            f"recent {agent}": memories(hf.retrieve_recent(24e4, 50, user="ben", agent=agent)),
        }
    told["notices"] = hf.notices
    for agent in AGENTS:
        s = session_of(hf, "ben", agent)
        for scope in ("user", "session", "app", "all"):
            arguments = {"query": QUERIES[0], "scope": scope, "limit": 50}
            told[f"tool {agent} {scope}"] = s.call_tool("memory_search", arguments)
        told[f"session {agent}"] = plain_answer(s.recall(QUERIES[1], 50, min_relevance=0))
    return told


def refused(call: Callable[[], Any]) -> Any:
    """What somebody is told who asks for what is not theirs."""
    try:
        return call()
    except NotFound as exc:
        return f"NotFound: {exc}"


def said_whole(answer: Any) -> str:
    """Everything an answer holds, as text that can be searched."""
    return msgspec.json.encode(answer, enc_hook=repr).decode()
