"""What is put into one file, how it is recognised there, and how it is taken out again.

Taking out goes three ways, the surest first: where the file is as it was left, by place; where the texts
that were put in are all still there, by text; else by what the entries are. The first two give back the
bytes the person had, with whatever else was edited meanwhile.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import msgspec

from holdfast.errors import Invalid

from . import install_json as js
from .install_files import digest
from .install_json import Added, Node, Path
from .install_words import BEGIN, BLOCK, END

_SCRIPT = re.compile(r"holdfast[\\/]+doors[\\/]+hooks[\\/]+claude_(?:capture|inject)\.py")
_NAMED = (b"claude_capture.py", b"claude_inject.py")
_BLOCK = re.compile(
    rb"(?:(?<=\n)\r?\n)?" + BEGIN.encode() + rb"(.*?)" + END.encode() + rb"(?:\r?\n)?", re.DOTALL
)
_SEAL = re.compile(rb"<!-- holdfast:skill ([0-9a-f]{16}) -->\n\Z")
#: how many characters of what stands around a text are asked for: an edit may be close by
_AROUND = (40, 12, 4, 1, 0)
_A = {"object": "an object, {…}", "list": "a list, […]"}
SERVER = "holdfast"


class Put(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to one file."""

    path: str
    kind: str
    #: there was no such file before
    made: bool
    #: the texts that were put in, and where each begins in the file's bytes
    added: tuple[Added, ...] = ()
    #: SHA-256 of the file without them and with them; None for no file, or for one nobody saw
    before: str | None = None
    after: str | None = None


class Part(Protocol):
    """What belongs into one file."""

    @property
    def path(self) -> str:
        """The file."""

    @property
    def kind(self) -> str:
        """Which of the kinds of this module it is."""

    def holds(self, data: bytes, /) -> bool:
        """Does the file hold all of it, as it should be, and once?"""

    def blocked(self, data: bytes | None, /) -> str:
        """Why it cannot be put there; empty when it can."""

    def put(self, data: bytes | None, /) -> tuple[bytes, tuple[Added, ...]]:
        """The file with it, and what was added where; Invalid when the file is not what it should be."""

    def cut(self, data: bytes, /) -> bytes | None:
        """The file without anything of its kind, whoever put it there; None when nothing is left."""


def taken_out(part: Part, data: bytes, put: Put | None) -> bytes | None:
    """The file as it would be had nothing been put in; None when there would be none."""
    if put is not None and digest(data) == put.after and put.added:
        back = _by_place(data, put.added)
        if put.before is not None and digest(back) == put.before:
            return back
        if put.made and not back:
            return None
    rest = _by_text(part, data, put.added) if put is not None else None
    if rest is None:
        rest = part.cut(data)
    if rest is None or rest == data:
        return rest
    ours = put is None or put.made or put.after is None
    return None if ours and rest.strip() in (b"", b"{}") else rest


def _by_place(data: bytes, added: Sequence[Added]) -> bytes:
    for one in sorted(added, key=lambda one: one.at, reverse=True):
        data = data[: one.at] + data[one.at + len(one.text.encode()) :]
    return data


def _by_text(part: Part, data: bytes, added: Sequence[Added]) -> bytes | None:
    """Without texts that stand there exactly as often as they were put in; None when they do not."""
    for around in _AROUND:
        found = _in_context(data, added, around) if around else _anywhere(data, added)
        if found is None:
            continue
        rest = _unjoined(data, found, added[0]) if isinstance(part, Block) else found
        try:
            if part.cut(rest) == rest:
                return rest
        except Invalid:
            continue
    return None


def _in_context(data: bytes, added: Sequence[Added], around: int) -> bytes | None:
    """Found by what stands around them too, so many characters of it."""
    places: list[Added] = []
    counted = Counter((one.before[-around:], one.text, one.behind[:around]) for one in added)
    for (before, text, behind), times in counted.items():
        found = _places(data, before + text + behind)
        if len(found) != times:
            return None
        places += [Added(at + len(before.encode()), text) for at in found]
    return _by_place(data, places) if places else None


def _anywhere(data: bytes, added: Sequence[Added]) -> bytes | None:
    """Found by themselves; the longest go first, because one of them may hold another."""
    texts = Counter(one.text for one in added)
    for text in sorted(texts, key=len, reverse=True):
        found = _places(data, text)
        if len(found) != texts[text]:
            return None
        data = _by_place(data, [Added(at, text) for at in found])
    return data if texts else None


def _places(data: bytes, text: str) -> list[int]:
    return [at.start() for at in re.finditer(b"(?=" + re.escape(text.encode()) + b")", data)]


def _unjoined(data: bytes, rest: bytes, block: Added) -> bytes:
    """Two lines that only the block kept apart stay two lines."""
    at = data.find(block.text.encode())
    before, behind = rest[:at], rest[at:]
    if before and behind and not before.endswith(b"\n") and not behind.startswith((b"\n", b"\r")):
        return before + (b"\r\n" if b"\r\n" in data else b"\n") + behind
    return rest


def _spliced(text: str, added: Sequence[Added]) -> tuple[bytes, tuple[Added, ...]]:
    """A text with others in it, and where those begin in its bytes."""
    new, places, at = "", [], 0
    for one in sorted(added, key=lambda one: one.at):
        new += text[at : one.at]
        places.append((len(new), one.text))
        new += one.text
        at = one.at
    new += text[at:]
    try:
        data = new.encode()
    except UnicodeEncodeError as exc:
        raise Invalid("a path of this installation is not UTF-8; install under another") from exc
    return data, tuple(
        Added(
            len(new[:begin].encode()),
            said,
            new[max(0, begin - _AROUND[0]) : begin],
            new[begin + len(said) : begin + len(said) + _AROUND[0]],
        )
        for begin, said in places
    )


def _document(data: bytes, name: str) -> tuple[str, Node]:
    try:
        text = data.decode()
    except UnicodeDecodeError as exc:
        line = data[: exc.start].count(b"\n") + 1
        raise Invalid(f"{name}, line {line}: this is not UTF-8; correct it and try again") from exc
    root = js.read(text, name)
    if root.kind != "object":
        line = js.line_of(text, root.start)
        raise Invalid(
            f"{name}, line {line}: settings are an object, {{…}}; correct it and try again"
        )
    return text, root


def _inner(text: str, node: Node, name: str, kind: str, file: str) -> Node | None:
    """The member of this name, which must be of this kind when it is there."""
    found = node.member(name)
    if found is not None and found.kind != kind:
        line = js.line_of(text, found.start)
        raise Invalid(f"{file}, line {line}: {name} must be {_A[kind]}; correct it and try again")
    return found


class Hooks(msgspec.Struct, frozen=True, kw_only=True):
    """The hooks of a settings file, one group for each event."""

    path: str
    groups: dict[str, dict[str, Any]]
    kind: ClassVar[str] = "hooks"

    def holds(self, data: bytes, /) -> bool:
        if not data.strip():
            return False
        text, root = _document(data, self.path)
        hooks = js.value_of(text, root).get("hooks")
        found = {
            event: [group for group in groups if any(map(_ours, _handlers(group)))]
            for event, groups in (hooks.items() if isinstance(hooks, dict) else ())
            if isinstance(groups, list)
        }
        return {event: groups for event, groups in found.items() if groups} == self._lists()

    def _lists(self) -> dict[str, list[dict[str, Any]]]:
        return {event: [group] for event, group in self.groups.items()}

    def blocked(self, _: bytes | None, /) -> str:
        return ""

    def put(self, data: bytes | None, /) -> tuple[bytes, tuple[Added, ...]]:
        if data is None or not data.strip():
            return _alone(data, [("hooks", self._lists())])
        text, root = _document(data, self.path)
        style = js.style_of(text, root)
        hooks = _inner(text, root, "hooks", "object", self.path)
        if hooks is None:
            return _spliced(text, [js.added(text, root, [("hooks", self._lists())], style)])
        added, fresh = [], []
        for event, group in self.groups.items():
            known = _inner(text, hooks, event, "list", self.path)
            if known is None:
                fresh.append((event, [group]))
            else:
                added.append(js.added(text, known, [(None, group)], style))
        if fresh:
            added.append(js.added(text, hooks, fresh, style))
        return _spliced(text, added)

    def cut(self, data: bytes, /) -> bytes | None:
        if not any(name in data for name in _NAMED):
            return data
        text, root = _document(data, self.path)
        return js.without(text, root, _our_hook).encode()


def _handlers(group: object) -> list[Any]:
    found = group.get("hooks") if isinstance(group, dict) else None
    return found if isinstance(found, list) else []


def _ours(handler: object) -> bool:
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and _SCRIPT.search(command) is not None


def _our_hook(path: Path, value: Any) -> bool:
    if not path or path[0] != "hooks":
        return False
    if len(path) == 3:
        handlers = _handlers(value)
        return bool(handlers) and all(map(_ours, handlers))
    return len(path) == 5 and path[3] == "hooks" and _ours(value)


def _alone(
    data: bytes | None, entries: list[tuple[str | None, Any]]
) -> tuple[bytes, tuple[Added, ...]]:
    """A document where there was none, or nothing but white space."""
    return _spliced((data or b"").decode(), [Added(0, js.whole(entries))])


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """The entry of the memory server in a file of servers."""

    path: str
    server: dict[str, Any]
    kind: ClassVar[str] = "server"

    def holds(self, data: bytes, /) -> bool:
        return bool(self._there(data) == self.server)

    def blocked(self, data: bytes | None, /) -> str:
        known = self._there(data or b"")
        return f"a server of yours is named {SERVER}; rename it and install again" if known else ""

    def _there(self, data: bytes) -> Any:
        if not data.strip():
            return None
        text, root = _document(data, self.path)
        servers = _inner(text, root, "mcpServers", "object", self.path)
        known = servers.member(SERVER) if servers else None
        return js.value_of(text, known) if known else None

    def put(self, data: bytes | None, /) -> tuple[bytes, tuple[Added, ...]]:
        if data is None or not data.strip():
            return _alone(data, [("mcpServers", {SERVER: self.server})])
        text, root = _document(data, self.path)
        style = js.style_of(text, root)
        servers = _inner(text, root, "mcpServers", "object", self.path)
        if servers is None:
            entry = ("mcpServers", {SERVER: self.server})
            return _spliced(text, [js.added(text, root, [entry], style)])
        return _spliced(text, [js.added(text, servers, [(SERVER, self.server)], style)])

    def cut(self, data: bytes, /) -> bytes | None:
        if b"mcpServers" not in data or b"holdfast" not in data:
            return data
        text, root = _document(data, self.path)
        return js.without(text, root, _our_server).encode()


def _our_server(path: Path, value: Any) -> bool:
    if path != ("mcpServers", SERVER) or not isinstance(value, dict):
        return False
    words = value.get("args")
    return isinstance(words, list) and words[:4] in (["-P", "-m", "holdfast", "mcp"],)


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """The duties of an agent, at the end of a file of instructions."""

    path: str
    kind: ClassVar[str] = "block"

    def holds(self, data: bytes, /) -> bool:
        said = [inner.replace(b"\r\n", b"\n") for inner in _BLOCK.findall(data)]
        wanted = BLOCK.removeprefix(BEGIN).removesuffix(END).encode()
        return said == [wanted]

    def blocked(self, _: bytes | None, /) -> str:
        return ""

    def put(self, data: bytes | None, /) -> tuple[bytes, tuple[Added, ...]]:
        old = data or b""
        newline = "\r\n" if b"\r\n" in old else "\n"
        apart = "" if not old else newline if old.endswith(b"\n") else newline * 2
        text = apart + BLOCK.replace("\n", newline) + newline
        return old + text.encode(), (Added(len(old), text),)

    def cut(self, data: bytes, /) -> bytes | None:
        rest = _BLOCK.sub(b"", data)
        for mark in (BEGIN, END):
            at = rest.find(mark.encode())
            if at >= 0:
                line = data[: data.find(mark.encode())].count(b"\n") + 1
                raise Invalid(
                    f"{self.path}, line {line}: {mark} has lost its other half; remove that part by hand"
                )
        return rest


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill: a file of its own that says whether somebody changed it."""

    path: str
    text: str
    kind: ClassVar[str] = "skill"

    def holds(self, data: bytes, /) -> bool:
        return data == self._sealed()

    def blocked(self, data: bytes | None, /) -> str:
        if data is None:
            return ""
        if _SEAL.search(data):
            return "you changed this skill, so it stays as it is; remove it to get the new one"
        return "a skill of yours has this name; rename it and install again"

    def put(self, _: bytes | None, /) -> tuple[bytes, tuple[Added, ...]]:
        sealed = self._sealed()
        return sealed, (Added(0, sealed.decode()),)

    def cut(self, data: bytes, /) -> bytes | None:
        seal = _SEAL.search(data)
        untouched = seal and digest(data[: seal.start()])[:16].encode() == seal[1]
        return None if untouched else data

    def _sealed(self) -> bytes:
        said = self.text.encode()
        return said + f"<!-- holdfast:skill {digest(said)[:16]} -->\n".encode()
