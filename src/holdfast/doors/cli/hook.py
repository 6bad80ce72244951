"""`holdfast hook`: what any host calls at each step, with JSON on standard input."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from holdfast.doors import start

from .program import app

Verb = Literal[
    "message-received",
    "pre-response",
    "post-response",
    "session-end",
    "log_tool_call",
    "log_tool_result",
    "log_message",
    "trigger_memory_generation",
]


@app.command
def hook(
    verb: Verb,
    /,
    *,
    home: Annotated[
        str | None, Parameter(help="Where everything is kept. Default: HOLDFAST_HOME.")
    ] = None,
) -> None:
    """Tell what happens in a host that has no integration of its own: JSON on standard input.

    The object says `session_id`, `agent` and `cwd`, and what it is about: `text` and `role` of a
    message; `tool`, `input`, `output`, `call_id` and `is_error` of a call. `pre-response` answers with
    {"context": …} when something is worth knowing. It always ends with 0 and within its deadline; what
    cannot be recorded at once waits in the spool.
    """
    start.hook(verb, home)
