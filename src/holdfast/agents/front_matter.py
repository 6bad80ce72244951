"""Reading the front matter of a workflow's prompt file.

What always holds: nothing but plain values is read (a safe loader, no tags); a file without front matter
says nothing; whatever is wrong is named with the file and the line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

from holdfast.errors import Invalid
from holdfast.model.compact import Strategy
from holdfast.model.workflows import SCOPES, TRIGGERS, Workflow

_MARK = "---"
_LARGEST = 1 << 20
_KNOWN: dict[str, frozenset[str]] = {
    "session": frozenset({"type", "compaction"}),
    "session.compaction": frozenset({"strategy", "checkpoint_on"}),
    "memory": frozenset({"generation", "retrieval"}),
    "memory.generation": frozenset({"trigger", "extract_topics"}),
    "memory.retrieval": frozenset({"proactive", "scopes"}),
}
_T = TypeVar("_T")


def workflow(name: str, text: str, path: str) -> Workflow:
    """What a prompt file says; Invalid names the file and the line of what it cannot say."""
    lines = text[:_LARGEST].splitlines()
    if not lines or lines[0].strip() != _MARK:
        return Workflow(name=name)
    end = next((n for n, line in enumerate(lines[1:], 1) if line.strip() == _MARK), None)
    if end is None:
        raise Invalid(f"{path}:1: the front matter is never closed; a line of --- ends it")
    return _Reader(path, "\n".join(lines[1:end])).workflow(name)


class _Reader:
    """One table of plain values, and in which line each stands."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._lines: dict[str, int] = {}
        self._values = self._composed(text)

    def workflow(self, name: str) -> Workflow:
        """The values, each of its kind."""
        for table, known in _KNOWN.items():
            self._check(table, known)
        on = self._get("session.compaction.checkpoint_on", self._triggers)
        trigger = self._get("memory.generation.trigger", self._triggers)
        return Workflow(
            name=name,
            title=self._get("title", self._text) or "",
            strategy=self._get("session.compaction.strategy", self._strategy),
            triggers=on,
            generation=trigger[0] if trigger else None,
            topics=self._get("memory.generation.extract_topics", self._texts) or (),
            proactive=self._get("memory.retrieval.proactive", self._yes) is not False,
            scopes=self._get("memory.retrieval.scopes", self._scopes),
        )

    # ---- values of a kind ------------------------------------------------------------------

    def _get(self, name: str, kind: Callable[[str, Any], _T]) -> _T | None:
        value: Any = self._values
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return None if value is None else kind(name, value)

    def _text(self, name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self._wrong(name, f"is a text, not {value!r}")
        return value

    def _texts(self, name: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._wrong(name, f"is a list of texts, not {value!r}")
        return tuple(value)

    def _yes(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self._wrong(name, f"is true or false, not {value!r}")
        return value

    def _strategy(self, name: str, value: Any) -> Strategy:
        return self._one(name, value, {one: one for one in get_args(Strategy)})

    def _triggers(self, name: str, value: Any) -> tuple[Any, ...]:
        every = value if isinstance(value, list) else [value]
        return tuple(self._one(name, one, TRIGGERS) for one in every)

    def _scopes(self, name: str, value: Any) -> tuple[Any, ...]:
        every = value if isinstance(value, list) else [value]
        return tuple(self._one(name, one, SCOPES) for one in every)

    def _one(self, name: str, value: Any, known: Mapping[str, _T]) -> _T:
        if not isinstance(value, str) or value not in known:
            raise self._wrong(name, f"is one of {', '.join(known)}, not {value!r}")
        return known[value]

    # ---- YAML ------------------------------------------------------------------------------

    def _check(self, table: str, known: frozenset[str]) -> None:
        value = self._get(table, lambda _, found: found)
        if value is None:
            return
        if not isinstance(value, Mapping):
            raise self._wrong(table, "is a table of names and values")
        for name in value:
            if name not in known:
                told = ", ".join(sorted(known))
                raise self._wrong(f"{table}.{name}", f"is not known; {table} has {told}")

    def _wrong(self, name: str, what: str) -> Invalid:
        return Invalid(f"{self._path}:{self._lines.get(name, 1)}: {name} {what}")

    def _composed(self, text: str) -> Any:
        import yaml

        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
            return {} if root is None else self._plain(root, "")
        except (yaml.YAMLError, ValueError, RecursionError) as exc:
            mark = getattr(exc, "problem_mark", None)
            line = mark.line + 2 if mark is not None else 1
            said = getattr(exc, "problem", None) or "it cannot be read"
            raise Invalid(f"{self._path}:{line}: not valid YAML: {said}") from exc

    def _plain(self, node: Any, name: str) -> Any:
        """The value of a node; remembers in which line of the file it stands."""
        import yaml

        self._lines[name] = node.start_mark.line + 2
        if isinstance(node, yaml.MappingNode):
            found = {}
            for key, value in node.value:
                below = f"{name}.{key.value}".lstrip(".")
                found[str(key.value)] = self._plain(value, below)
                self._lines[below] = key.start_mark.line + 2
            return found
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(one, name) for one in node.value]
        return yaml.constructor.SafeConstructor().construct_object(node)
