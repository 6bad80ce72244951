"""A toolbox: everything one client of a model host may do with a project, under one session.

What is said here is said by an agent: trust 2, never the person's 3, and nothing for everybody (scope
system). Whose memory it is comes from the project that was opened, never from arguments.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from holdfast.errors import Denied, NotFound
from holdfast.model.memories import Memory
from holdfast.model.sessions import SessionInfo
from holdfast.text.quoting import quoted_json
from holdfast.views import state as views

from . import context, memories, sessions, tool
from . import toolbox_graph as graph
from . import toolbox_graph_tools as graph_tools
from . import toolbox_pages as pages
from . import toolbox_tools as tools

if TYPE_CHECKING:
    from .holdfast import Holdfast
    from .session import Session

_LONGEST_CLIENT = 60


def agent_of(client: str) -> str:
    """The agent a client is known as: mcp, and the name it declares of itself."""
    kept = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in client)
    name = kept[:_LONGEST_CLIENT].strip("-.")
    return f"mcp/{name}" if name else "mcp"


class Toolbox:
    """The tools, resources and prompts of one client.

    Its session begins with the first call that leaves something in the log and ends with `close`; one
    that was named is joined instead, and left as it is. A client that had a session with another process
    goes on with it. One call at a time.
    """

    def __init__(
        self,
        hf: Holdfast,
        *,
        agent: str | None = None,
        session_id: str | None = None,
        user: str | None = None,
        resumed: str | None = None,
        compat: bool = False,
    ) -> None:
        self.hf = hf
        self.user = hf.user if user is None else sessions.one("user", user)
        self._joined = session_id
        self._tools = graph_tools.offered(compat=compat)
        self._session = self._found(agent, session_id)
        if resumed is not None and self._is_mine(resumed):
            self._session = self._found(agent, resumed)
        self._begun = False
        self._lock = threading.RLock()

    def _found(self, agent: str | None, session_id: str | None) -> Session:
        if session_id is not None and agent is None:
            known = (one for one in self.hf.sessions(user=self.user) if one.id == session_id)
            agent = next((one.agent for one in known), None)
        return self.hf.session(agent=agent or "mcp", user=self.user, session_id=session_id)

    def _is_mine(self, session_id: str) -> bool:
        """Is there such a session of this agent and person?"""
        try:
            return sessions.exists(self.hf, self.user, self.agent, session_id)
        except NotFound:
            return False

    @property
    def agent(self) -> str:
        """In whose name something is said."""
        return self._session.agent

    @property
    def session_id(self) -> str | None:
        """The session of this client; None before it has begun."""
        known = self._begun or self._joined is not None or self._info() is not None
        return self._session.id if known else None

    def _info(self) -> SessionInfo | None:
        """What is recorded of its session; nothing before it has begun."""
        whose = (self.user, self.agent, self._session.id)
        return self.hf.views.read(lambda reading: views.info(reading, *whose))

    def definitions(self) -> list[dict[str, Any]]:
        """The tools it offers."""
        return [one.definition() for one in self._tools.values()]

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run a tool; what it answers is data, made of JSON, with nothing hidden in its texts."""
        name = tools.ALIASES.get(name, name) if self._tools is tools.TOOLS else name
        with self._lock:
            if name not in self._tools:
                raise NotFound(f"there is no tool {name!r}; there are {', '.join(self._tools)}")
            if self._tools is graph_tools.TOOLS:
                return _shown(graph.call(self.hf, self._begin, name, arguments))
            asked = tools.parsed(name, self._tools[name].asks, arguments)
            return _shown(_RUNS[name](self, asked), name)

    def read(self, uri: str) -> dict[str, Any]:
        """What lies at an address."""
        with self._lock:
            return pages.read(self, uri)

    def prompt(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What a prompt says."""
        with self._lock:
            return pages.prompt(self, name, arguments)

    def search(self, query: str) -> dict[str, Any]:
        """What memory holds about a question, whichever tools are offered."""
        with self._lock:
            return _shown(self._begin().call_tool(tool.NAME, {"query": query}))

    def close(self) -> None:
        """The client is gone: its own session ends."""
        with self._lock:
            known = self._info() if self._joined is None else None
            if known is not None and known.open:
                self._session.end("client left")
            self._begun = False

    def _begin(self) -> Session:
        """The session, begun; NotFound when the one to join is somebody else's."""
        if not self._begun:
            known = self._info() if self._joined is None else None
            there = known is not None and known.open
            if self._joined is not None:
                there = sessions.exists(self.hf, self.user, self.agent, self._joined)
            if not there:
                self._session.start()
            self._begun = True
        return self._session

    # ---- what each tool does ---------------------------------------------------------------

    def _search(self, asked: tool.Arguments) -> dict[str, Any]:
        return self._begin().call_tool(tool.NAME, _given(asked))

    def _expand(self, asked: tool.Handle) -> dict[str, Any]:
        return self._session.call_tool(tool.EXPAND, _given(asked))

    def _context(self, asked: tools.Context) -> dict[str, Any]:
        whole = {"budget": asked.budget, "window": asked.budget}
        pack = context.context(self._begin(), asked.query, whole, compacts=False)
        return {"text": pack.text, "tokens": pack.tokens, "pack": pack.id}

    def _remember(self, asked: tools.Remember) -> dict[str, Any]:
        said = {name: value for name, value in _given(asked).items() if value not in ("", [], None)}
        made = self._begin().remember(**said)
        return _memory(made) | {"known_already": bool(made.revision)}

    def _decide(self, asked: tools.Decide) -> dict[str, Any]:
        more = {"because": asked.because} if asked.because else {}
        event = self._begin().decision(asked.text, **more)
        return {"id": event.event_id, "text": event.words, "session": self.session_id}

    def _used(self, asked: tools.Used) -> dict[str, Any]:
        self._begin().used(asked.ids, asked.verdict, action=asked.action or None)
        return {"noted": list(dict.fromkeys(asked.ids)), "verdict": asked.verdict}

    def _forget(self, asked: tools.Forget) -> dict[str, Any]:
        author = self._begin()._author()
        memory = memories.get(self.hf, author, asked.id, None)
        if memory.scope == "system":
            raise Denied("what everybody knows is not an agent's to forget; ask the person")
        memories.not_the_persons(memory)
        gone = memories.forget(self.hf, author, asked.id, asked.reason)
        return {
            "forgotten": gone.id,
            "text": gone.summary,
            "reason": gone.forgotten_because,
            "undo": f"holdfast restore {gone.id}",
        }

    def _status(self, asked: tools.Status) -> dict[str, Any]:
        return pages.status(self, asked.session_id)


#: tools whose text is written by `compose`, quoted where it quotes; its marks are marks
_WRITTEN = (tools.CONTEXT, tools.EXPAND)


def _shown(answer: dict[str, Any], name: str = "") -> dict[str, Any]:
    """An answer as a model may read it: nothing is hidden in its texts, no mark in them is one."""
    quoted: dict[str, Any] = quoted_json(answer)
    return {**quoted, "text": answer["text"]} if name in _WRITTEN else quoted


def _given(asked: Any) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in asked.__struct_fields__}


def _memory(made: Memory) -> dict[str, Any]:
    """A memory as the agent that made it reads it."""
    names = ("id", "text", "kind", "category", "scope", "subject", "key", "value", "applies_to")
    said: dict[str, Any] = {name: getattr(made, name) for name in names}
    said |= {"tags": list(made.tags), "supersedes": list(made.supersedes), "trust": made.trust}
    return {name: value for name, value in said.items() if value not in ("", [])}


_RUNS: dict[str, Callable[[Toolbox, Any], dict[str, Any]]] = {
    tools.SEARCH: Toolbox._search,
    tools.EXPAND: Toolbox._expand,
    tools.CONTEXT: Toolbox._context,
    tools.REMEMBER: Toolbox._remember,
    tools.DECIDE: Toolbox._decide,
    tools.USED: Toolbox._used,
    tools.FORGET: Toolbox._forget,
    tools.STATUS: Toolbox._status,
}
