"""A session's context as a page: what an agent needs to go on where it, or another one, stopped.

The most needed comes first, and the page is filled until the budget is: what is open, what was decided,
what failed and how it went on, then as much of the conversation as fits. Everything a session holds is
shown as data: one line each, its origin beside it, nothing that could pass for a heading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from holdfast.model.events import Event
from holdfast.model.sessions import Failure, Restored, SessionState
from holdfast.ports.tokens import TokenCounter

_LONGEST_LINE = 400
_SPEAKERS = {
    "user_message": "user",
    "model_message": "assistant",
    "tool_call": "call",
    "tool_result": "result",
    "task_completed": "done",
}


def written(
    state: SessionState, latest: Sequence[Event], counter: TokenCounter, tokens: int
) -> Restored:
    """The page, of no more than so many tokens."""
    head = list(_head(state))
    talk = [_spoken(event) for event in latest]
    kept = _fitting([*head, *_work(state)], counter, tokens)
    shown = 0
    if len(kept) == len(head) + sum(1 for _ in _work(state)) and talk:
        kept, shown = _with_talk(kept, talk, counter, tokens)
    text = "\n".join(kept)
    return Restored(
        state=state,
        recent=tuple(event.event_id for event in latest[len(latest) - shown :]),
        text=text,
        tokens=counter.count(text),
    )


def _head(state: SessionState) -> Iterator[str]:
    info = state.info
    yield f"# Continuing session {_line(info.id)} of {_line(info.agent or 'nobody')}"
    about = [
        f"{name} {_line(str(value))}"
        for name, value in (
            ("workflow", info.workflow),
            ("skill", info.skill),
            ("branch", info.git_branch),
            ("workspace", info.workspace),
        )
        if value
    ]
    turns = "1 turn" if info.turns == 1 else f"{info.turns} turns"
    since = f"{info.events} events in {turns}, {info.started_at} to {info.last_at}"
    yield "; ".join([since, *about])
    if state.checkpoints:
        last = state.checkpoints[-1]
        yield f"Last checkpoint: {_line(last.why)} (event {last.event_seq}, {last.at})"


def _work(state: SessionState) -> Iterator[str]:
    pad = state.scratchpad
    if pad.content:
        yield f"## Scratchpad, version {pad.version}"
        for name, value in sorted(pad.content.items()):
            yield f"- {_line(name)}: {_line(_plain(value))}"
    yield from _section("Open", [f"{t.what}: {_line(t.text)}" for t in state.threads])
    yield from _section("Decided", [_line(d.text) for d in reversed(state.decisions)])
    yield from _section(
        "Gates", [f"{_line(g.gate)}: {'passed' if g.passed else 'FAILED'}" for g in state.gates]
    )
    yield from _section("Errors and what followed", map(_failure, reversed(state.errors)))
    yield from _section("Done", [_line(t.text) for t in state.tasks if t.done_at is not None])
    changed = [f.path for f in reversed(state.files) if f.changed]
    yield from _section("Files changed, latest first", map(_line, changed))


def _section(title: str, lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield f"## {title}"
        yield from (f"- {line}" for line in found)


def _failure(error: Failure) -> str:
    said = _line(error.text)
    if error.resolved_by is None:
        return f"{said} (open)"
    told = [
        step
        for kind in ("decision", "model_message")
        for step in error.followed
        if step.kind == kind
    ]
    fix = (told or list(error.followed))[:1]
    then = "".join(f"; then: {_line(step.text)}" for step in fix)
    return f"{said}{then} (settled by event {error.resolved_by})"


def _spoken(event: Event) -> str:
    who, words = _SPEAKERS.get(event.kind, event.kind), event.words
    if event.kind == "validation_gate" and isinstance(event.payload, dict):
        verdict = "passed" if event.payload.get("passed") is True else "FAILED"
        who, words = "gate", f"{event.payload.get('gate')} {verdict} {event.text}"
    return f"- [{event.event_seq}] {who}: {_line(words)}"


def _with_talk(
    kept: list[str], talk: list[str], counter: TokenCounter, tokens: int
) -> tuple[list[str], int]:
    """As much of the end of the conversation as fits below the rest."""
    low, high = 0, len(talk)
    while low < high:  # more lines never take fewer tokens
        middle = (low + high + 1) // 2
        if counter.count("\n".join([*kept, "## Said last", *talk[-middle:]])) <= tokens:
            low = middle
        else:
            high = middle - 1
    return ([*kept, "## Said last", *talk[-low:]], low) if low else (kept, 0)


def _fitting(lines: list[str], counter: TokenCounter, tokens: int) -> list[str]:
    """The first lines that fit; no heading is left without a line below it."""
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count("\n".join(lines[:middle])) <= tokens:
            low = middle
        else:
            high = middle - 1
    while low and low < len(lines) and lines[low - 1].startswith("## "):
        low -= 1
    return lines[:low]


def _line(text: str) -> str:
    """A text on one line, cut with a mark where it is too long for one."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST_LINE else flat[: _LONGEST_LINE - 2] + " …"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()
