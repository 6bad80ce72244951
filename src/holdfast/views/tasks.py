"""Tasks: what is being worked on, and what is done.

A task opens when a to-do tool lists it and closes when `task_completed` names it or the tool says so.
Those the scratchpad names are added where state is read (`state.py`): whether a scratchpad's change
counts is for its own view to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from holdfast.model.events import Event
from holdfast.model.sessions import Task

from .view import NOTHING, PerSession, Rows, brief

#: finished ones are kept up to here, the latest; open ones always
MOST_DONE = 50
MOST_OPEN = 200
LONGEST = 500


class Tasks(msgspec.Struct, frozen=True, kw_only=True):
    """A session's tasks in the order they came up."""

    tasks: tuple[Task, ...] = ()


class TaskView(PerSession):
    """One row for each session."""

    name = "tasks"
    version = 1
    kinds = frozenset({"task_completed", "tool_call"})
    row = Tasks

    def apply(self, rows: Rows, event: Event) -> Rows:
        """Open what is new, close what is done."""
        said = list(_said(event))
        if not said:
            return NOTHING
        (key,) = self.keys(event)
        tasks = {plain(task.text): task for task in (rows[key].tasks if rows[key] else ())}
        for text, done in said:
            name = plain(text)
            task = tasks.get(name) or Task(
                text=brief(text, LONGEST), at=event.timestamp, event_seq=event.event_seq
            )
            finished = (task.done_at or event.timestamp) if done else None
            tasks[name] = msgspec.structs.replace(task, done_at=finished)
        return {key: Tasks(tasks=_bounded(list(tasks.values())))}


def _said(event: Event) -> Iterator[tuple[str, bool]]:
    """Each task an event names, and whether it is done."""
    if event.kind == "task_completed":
        if event.text:
            yield event.text, True
    else:
        yield from _todos(event.payload)


def _todos(payload: Any) -> Iterator[tuple[str, bool]]:
    """The list a to-do tool keeps, as hosts write it: content and status."""
    given = payload.get("input") if isinstance(payload, dict) else None
    todos = given.get("todos") if isinstance(given, dict) else None
    for todo in todos[:MOST_OPEN] if isinstance(todos, list) else ():
        if isinstance(todo, dict) and isinstance(todo.get("content"), str):
            yield todo["content"], todo.get("status") == "completed"


def plain(text: str) -> str:
    """Equal for texts that differ in case and spacing only."""
    return " ".join(brief(text, LONGEST).casefold().split())


def _bounded(tasks: list[Task]) -> tuple[Task, ...]:
    done = [task for task in tasks if task.done_at is not None]
    still = [task for task in tasks if task.done_at is None]
    gone = {id(task) for task in (*done[:-MOST_DONE], *still[:-MOST_OPEN])}
    return tuple(task for task in tasks if id(task) not in gone)
