"""Claude Code's hooks: what each of its events means as an event of ours.

An event or a field that is not known here is left alone. A sub-agent has a session of its own, so that
what it did does not stand in the conversation of the agent that sent it.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable

from .caught import Caught, Json, text

AGENT = "claude-code"
#: tools whose answer was made by strangers
_FROM_OUTSIDE = ("WebFetch", "WebSearch")
#: tools whose answer repeats what they were asked to write
_WRITERS = ("Edit", "MultiEdit", "NotebookEdit", "Write")
#: the window is not what it was before
_SHORTENED = ("compact", "clear")
#: what the host says in the person's place stands between these: notices of tasks, what commands said,
#: messages of other agents, and of strangers that reach it through a channel
_NOTICE = re.compile(
    r"""\s*<(bash-(?:input|stdout|stderr)|channel(?:-message)?|command-(?:args|contents|message|name)
    |cross-session-message|fork-boilerplate|ide_(?:diagnostics|opened_file|selection)
    |local-command-(?:caveat|stderr|stdout)|remote-review(?:-progress)?|system-reminder|task-notification
    |teammate-message|tick|ultraplan|user-prompt-submit-hook)(?=[\s/>]).*?</\1\s*>""",
    re.DOTALL | re.VERBOSE,
)
#: of an output the host keeps in a file because it is long, so much is read
_MOST_KEPT = 16 << 20


def events(said: Json) -> list[Caught]:
    """What one call of a hook says; nothing for what is not known here."""
    of = _EVENTS.get(text(said.get("hook_event_name")))
    return of(said) if of is not None else []


def who(said: Json) -> tuple[str | None, str]:
    """Whose session it is: the host's own, or that of a sub-agent."""
    session, sub = text(said.get("session_id")) or None, text(said.get("agent_id"))
    if not session or not sub:
        return session, AGENT
    return f"{session}/{sub}", f"{AGENT}/{text(said.get('agent_type')) or 'agent'}"


def folder(said: Json) -> str:
    """The project's folder: where the host was started, else where it is now."""
    return os.environ.get("CLAUDE_PROJECT_DIR") or text(said.get("cwd")) or os.getcwd()


def _caught(
    said: Json, kind: str, origin: str, payload: Json, beside: object = None
) -> list[Caught]:
    session, agent = who(said)
    return [Caught(kind, origin, session, agent, payload, beside)] if session else []


# ---- sessions --------------------------------------------------------------------------------


def _session_start(said: Json) -> list[Caught]:
    source = text(said.get("source"))
    begun: Json = {
        "host": AGENT,
        "source": source,
        "model": text(said.get("model")),
        "workspace": text(said.get("cwd")),
        "git_branch": _branch(folder(said)),
        "resumed": True if source in ("resume", "compact") else None,
    }
    found = _caught(said, "session_started", "system", begun)
    if source in _SHORTENED:
        found += _caught(said, "compacted", "system", {"by": "host", "why": source})
    return found


def _branch(root: str) -> str:
    """The branch that is checked out in the nearest repository, when it says so plainly."""
    here = os.path.abspath(root)
    while not os.path.exists(git := os.path.join(here, ".git")):
        here, below = os.path.dirname(here), here
        if here == below:
            return ""
    if not os.path.isdir(git):  # another worktree, or a submodule: the file says where it is
        git = os.path.join(here, _line(git).removeprefix("gitdir:").strip())
    head = _line(os.path.join(git, "HEAD"))
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""


def _line(path: str) -> str:
    return _read(path, 4_096).partition(b"\n")[0].decode("utf-8", "replace").strip()


def _session_end(said: Json) -> list[Caught]:
    return _caught(said, "session_ended", "system", {"reason": text(said.get("reason")) or "ended"})


def _sub_start(said: Json) -> list[Caught]:
    begun: Json = {
        "host": AGENT,
        "parent": said.get("session_id"),
        "workspace": text(said.get("cwd")),
    }
    return _caught(said, "session_started", "system", begun) if said.get("agent_id") else []


def _sub_stop(said: Json) -> list[Caught]:
    if not said.get("agent_id") or not said.get("agent_type"):
        return []  # without a type it is the host's own, which sums a conversation up
    ended = _caught(said, "session_ended", "system", {"reason": "done"})
    return _stop(said) + ended


# ---- what is said ----------------------------------------------------------------------------


def _prompt(said: Json) -> list[Caught]:
    words: Json = {"text": text(said.get("prompt"))}
    if said.get("agent_id"):  # what an agent asks of another
        return _caught(said, "user_message", "agent", words)
    if _NOTICE.match(text(said.get("prompt"))):
        return _caught(said, "system_event", "tool", {"what": "notice", **words})
    return _caught(said, "user_message", "user", words)


def _stop(said: Json) -> list[Caught]:
    answer = text(said.get("last_assistant_message"))
    return _caught(said, "model_message", "agent", {"text": answer}) if answer else []


def _stop_failure(said: Json) -> list[Caught]:
    told = [text(said.get(name)) for name in ("error", "error_details", "last_assistant_message")]
    return _caught(
        said, "error", "system", {"text": ": ".join(filter(None, told)), "tool": "model"}
    )


# ---- tools -----------------------------------------------------------------------------------


def _tool_call(said: Json) -> list[Caught]:
    payload = {**_called(said), "input": said.get("tool_input")}
    return _caught(said, "tool_call", "agent", payload)


def _tool_result(said: Json) -> list[Caught]:
    tool = text(said.get("tool_name"))
    answer = _whole(tool, said.get("tool_response")) or result(tool, said.get("tool_response"))
    payload = {**_called(said), "text": answer}
    if tool == "AskUserQuestion":
        return _caught(said, "tool_result", "tool", payload) + _answers(said)
    origin = "web" if tool.startswith(_FROM_OUTSIDE) else "tool"
    return _caught(said, "tool_result", origin, payload, beside=said.get("tool_input"))


def _answers(said: Json) -> list[Caught]:
    """What the person chose, in the words the agent offered, which is why they are not the person's."""
    response = said.get("tool_response")
    given = response.get("answers") if isinstance(response, dict) else None
    told = (
        [f"{asked} {chosen}" for asked, chosen in given.items()] if isinstance(given, dict) else []
    )
    return _caught(said, "user_message", "agent", {"text": "\n".join(told)}) if told else []


def _tool_failure(said: Json) -> list[Caught]:
    failed = {**_called(said), "text": _plain(said.get("error")), "is_error": True}
    if said.get("is_interrupt") is True:
        failed["interrupted"] = True
    return _caught(said, "tool_result", "tool", failed, beside=said.get("tool_input"))


def _called(said: Json) -> Json:
    return {"tool": text(said.get("tool_name")), "call_id": text(said.get("tool_use_id"))}


def _whole(tool: str, response: object) -> str:
    """An output of which the host gives the beginning and keeps the rest in a file."""
    kept = _kept(response)
    return _read(kept, _MOST_KEPT).decode("utf-8", "replace") if tool == "Bash" else ""


def is_whole(tool: str, response: object) -> bool:
    """Is an output all there: in the answer itself, or in a file that is read to its end?"""
    kept = _kept(response)
    try:
        return not kept or (tool == "Bash" and 0 < os.stat(kept).st_size <= _MOST_KEPT)
    except (OSError, ValueError):
        return False


def _kept(response: object) -> str:
    return text(response.get("persistedOutputPath")) if isinstance(response, dict) else ""


def _read(path: str, most: int) -> bytes:
    """The beginning of a file; nothing of what is none, such as a pipe that nobody writes to."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return b""
        with open(fd, "rb", closefd=False) as file:
            return file.read(most)
    except OSError:
        return b""
    finally:
        os.close(fd)


def result(tool: str, response: object) -> str:
    """What a tool answered, in words."""
    if isinstance(response, dict):
        if tool in _WRITERS:
            path = response.get("filePath") or response.get("notebook_path")
            return f"{response.get('type') or 'written'}: {path}" if path else _plain(response)
        streams = [text(response.get(name)) for name in ("stdout", "stderr")]
        if "stdout" in response or "stderr" in response:
            return "\n".join(stream for stream in streams if stream)
        file = response.get("file")
        if isinstance(file, dict):
            if "base64" in file:
                return f"[{file.get('type') or 'file'}, {file.get('originalSize')} bytes]"
            return text(file.get("content")) or _plain(file)
        for name in ("content", "result", "filenames"):
            if response.get(name):
                return result("", response[name])
    if isinstance(response, list):
        return "\n".join(_block(one) if isinstance(one, dict) else _plain(one) for one in response)
    return _plain(response)


def _block(block: Json) -> str:
    """A piece of an answer in parts; what is no text is named only."""
    kind = text(block.get("type"))
    if kind == "text" or (not kind and "text" in block):
        return text(block.get("text"))
    return f"[{kind}]" if "source" in block or "data" in block else _plain(block)


def _plain(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)


# ---- what happens around it ------------------------------------------------------------------


def _pre_compact(said: Json) -> list[Caught]:
    trigger = text(said.get("trigger"))
    saved: Json = {
        "why": f"before compaction ({trigger or 'by the host'})",
        "instructions": text(said.get("custom_instructions")),
    }
    return _caught(said, "checkpoint_saved", "system", saved)


def _post_compact(said: Json) -> list[Caught]:
    summary: Json = {"what": "the host's summary", "text": text(said.get("compact_summary"))}
    return _caught(said, "system_event", "agent", summary) if summary["text"] else []


def _task_created(said: Json) -> list[Caught]:
    begun: Json = {"what": "task created", "text": _task(said), "task_id": said.get("task_id")}
    return _caught(said, "system_event", "agent", begun)


def _task_completed(said: Json) -> list[Caught]:
    done: Json = {"text": _task(said), "task_id": said.get("task_id")}
    return _caught(said, "task_completed", "agent", done)


def _task(said: Json) -> str:
    return text(said.get("task_subject")) or text(said.get("task_description"))


def _signal(name: str, *fields: str) -> Callable[[Json], list[Caught]]:
    def seen(said: Json) -> list[Caught]:
        payload: Json = {"signal": name}
        payload |= {field: text(said.get(field)) for field in fields}
        return _caught(said, "signal_observed", "system", payload)

    return seen


_EVENTS: dict[str, Callable[[Json], list[Caught]]] = {
    "SessionStart": _session_start,
    "SessionEnd": _session_end,
    "SubagentStart": _sub_start,
    "SubagentStop": _sub_stop,
    "UserPromptSubmit": _prompt,
    "Stop": _stop,
    "StopFailure": _stop_failure,
    "PreToolUse": _tool_call,
    "PostToolUse": _tool_result,
    "PostToolUseFailure": _tool_failure,
    "PreCompact": _pre_compact,
    "PostCompact": _post_compact,
    "TaskCreated": _task_created,
    "TaskCompleted": _task_completed,
    "CwdChanged": _signal("directory changed", "old_cwd", "new_cwd"),
    "DirectoryAdded": _signal("directory added", "directory", "path"),
    "FileChanged": _signal("file changed", "file_path", "event"),
}
