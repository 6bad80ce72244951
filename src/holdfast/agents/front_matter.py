"""Reading the front matter of a workflow's prompt file.

What always holds: nothing but texts, numbers, yes and no is read, no tags, no aliases, nothing long or
deep; a file without front matter says nothing; whatever is wrong is named with the file and the line.
Names that are not ours belong to other tools, unless they are nearly ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

from holdfast.errors import Invalid
from holdfast.model.compact import Strategy
from holdfast.model.workflows import SCOPES, TRIGGERS, Workflow

_MARK = "---"
_LARGEST = 1 << 20
#: the line of the file in which the front matter begins, behind its mark
_FIRST = 2
#: beginnings, ends and values in front matter, and how deep it is nested; ours has a few dozen
_MOST_PARTS, _DEEPEST = 2_000, 20
_KINDS = ("str", "int", "float", "bool", "null")
_KNOWN: dict[str, frozenset[str]] = {
    "session": frozenset({"type", "compaction"}),
    "session.compaction": frozenset({"strategy", "checkpoint_on"}),
    "memory": frozenset({"generation", "retrieval"}),
    "memory.generation": frozenset({"trigger", "extract_topics"}),
    "memory.retrieval": frozenset({"proactive", "scopes"}),
}
#: what may stand at the top, and what somebody may write there that belongs below
_OURS = ("title", "session", "memory")
_BELOW = tuple(f"{table}.{name}" for table, known in _KNOWN.items() for name in sorted(known))
#: how much of a name of ours another name may be without being taken for it; up to 1
_NEAR = 0.85
#: where a value stands: the names that lead to it
_Path = tuple[str, ...]
_T = TypeVar("_T")


def workflow(name: str, text: str, path: str) -> Workflow:
    """What a prompt file says; Invalid names the file and the line of what it cannot say."""
    lines = text[:_LARGEST].removeprefix("\ufeff").split("\n")
    if lines[0].strip() != _MARK:
        return Workflow(name=name)
    end = next((n for n, line in enumerate(lines[1:], 1) if line.strip() == _MARK), None)
    if end is None:
        raise Invalid(f"{path}:1: the front matter is never closed; a line of --- ends it")
    return _Reader(path, "\n".join(lines[1:end])).workflow(name)


class _Reader:
    """One table of plain values, and in which line each stands."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        table = _Table(text, path)
        self._lines, self._values = table.lines, table.values

    def workflow(self, name: str) -> Workflow:
        """The values, each of its kind."""
        if not isinstance(self._values, Mapping):
            raise Invalid(f"{self._path}:2: front matter is a table of names and values")
        self._check_names(self._values)
        for table, known in _KNOWN.items():
            self._check(table, known)
        self._get("session.type", self._kind)
        on = self._get("session.compaction.checkpoint_on", self._triggers)
        trigger = self._get("memory.generation.trigger", self._triggers)
        if trigger is not None and len(trigger) != 1:
            raise self._wrong("memory.generation.trigger", "is one of them, not several")
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

    def _kind(self, name: str, value: Any) -> str:
        """There is one; another may mean something one day, and then not what is done today."""
        return self._one(name, value, {"workflow": "workflow"})

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

    # ---- tables ----------------------------------------------------------------------------

    def _check_names(self, names: Iterable[str]) -> None:
        """Refuse what is nearly a name of ours: it was meant to be one, and would say nothing."""
        for name in names:
            near = get_close_matches(name.lower(), (*_OURS, *_BELOW), 1, _NEAR)
            if name not in _OURS and near:
                table, _, last = near[0].rpartition(".")
                told = f"{last} below {table}" if table else last
                raise self._wrong((name,), f"is not known; {told} was meant")

    def _check(self, table: str, known: frozenset[str]) -> None:
        value = self._get(table, lambda _, found: found)
        if value is None:
            return
        if not isinstance(value, Mapping):
            raise self._wrong(table, "is a table of names and values")
        for name in value:
            if name not in known:
                told = ", ".join(sorted(known))
                raise self._wrong((*table.split("."), name), f"is not known; {table} has {told}")

    def _wrong(self, name: str | _Path, what: str) -> Invalid:
        place = tuple(name.split(".")) if isinstance(name, str) else name
        return Invalid(f"{self._path}:{self._lines.get(place, 1)}: {'.'.join(place)} {what}")


class _Table:
    """Plain values out of YAML, and the line of the file in which each stands."""

    def __init__(self, text: str, path: str) -> None:
        self.lines: dict[_Path, int] = {}
        self._text = text
        self._path = path
        self.values = self._read()

    def _read(self) -> Any:
        import yaml

        try:
            self._check(yaml.parse(self._text, Loader=yaml.SafeLoader))
            root = yaml.compose(self._text, Loader=yaml.SafeLoader)
            return {} if root is None else self._plain(root, ())
        except yaml.reader.ReaderError as exc:
            told = "not valid YAML: a character that may not be there"
            raise self._wrong(exc.position, told) from exc
        except yaml.YAMLError as exc:
            mark = getattr(exc, "problem_mark", None)
            said = getattr(exc, "problem", None) or "it cannot be read"
            raise self._wrong(mark.index if mark else 0, f"not valid YAML: {said}") from exc

    def _check(self, events: Iterable[Any]) -> None:
        """Refuse what is no plain value before anything is made of it, and too much of anything."""
        depth = 0
        for n, event in enumerate(events):
            place = event.start_mark.index
            name = type(event).__name__
            depth += name.endswith("StartEvent") - name.endswith("EndEvent")
            if n > _MOST_PARTS or depth > _DEEPEST:
                raise self._wrong(place, "this is more than front matter says; keep it short")
            if name == "AliasEvent" or getattr(event, "anchor", None) is not None:
                raise self._wrong(place, "anchors (&) and aliases (*) are not read; write it out")
            if getattr(event, "tag", None) is not None:
                raise self._wrong(place, "tags (!) are not read; write the value alone")

    def _plain(self, node: Any, path: _Path) -> Any:
        import yaml

        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(one, path) for one in node.value]
        return self._scalar(node)

    def _mapping(self, node: Any, path: _Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            place = key.start_mark.index
            if not isinstance(key.value, str):
                raise self._wrong(place, "a name is a text")
            if key.value in found:
                raise self._wrong(place, f"{key.value} is there twice; keep one")
            below = (*path, key.value)
            self.lines[below] = self._line(place)
            found[key.value] = self._plain(value, below)
        return found

    def _scalar(self, node: Any) -> Any:
        import yaml

        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind not in _KINDS:
            raise self._wrong(node.start_mark.index, f"a {kind} is not read; put it in quotes")
        try:
            return yaml.constructor.SafeConstructor().construct_object(node)
        except (ArithmeticError, LookupError, ValueError) as exc:
            told = "this number cannot be read; put it in quotes"
            raise self._wrong(node.start_mark.index, told) from exc

    def _wrong(self, place: int, what: str) -> Invalid:
        return Invalid(f"{self._path}:{self._line(place)}: {what}")

    def _line(self, place: int) -> int:
        """The line of a character; YAML itself takes more signs for the end of one than editors do."""
        return self._text.count("\n", 0, place) + _FIRST
