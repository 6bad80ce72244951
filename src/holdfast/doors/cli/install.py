"""`holdfast install claude-code` and `holdfast uninstall claude-code`."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.text import Text

from holdfast.app import installing
from holdfast.app.installing import Report, Wish

from . import show
from .program import app

Host = Annotated[Literal["claude-code"], Parameter(help="The host.")]

_STYLES = {"left": "yellow", "unchanged": "dim"}


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Where:
    """Where it is installed."""

    scope: Annotated[
        Literal["project", "user"], Parameter(help="For this project, or for all of yours.")
    ] = "project"
    dry_run: Annotated[
        bool,
        Parameter(help="Show what would change in each file, and change nothing.", negative=()),
    ] = False
    config_dir: Annotated[
        str | None,
        Parameter(
            env_var="CLAUDE_CONFIG_DIR",
            help="Where Claude Code keeps what is yours, for --scope user. Default: ~/.claude.",
        ),
    ] = None
    home: Annotated[
        str | None, Parameter(help="Where everything is kept. Default: HOLDFAST_HOME.")
    ] = None
    json: Annotated[bool, Parameter(help="Answer in JSON.", negative=())] = False


HERE = Where()


@app.command
def install(
    host: Host,
    /,
    *,
    plugin: str | None = None,
    shorten: int | None = None,
    memory_file: Annotated[bool, Parameter(name="--no-memory-file", negative=())] = False,
    where: Where = HERE,
) -> int:
    """Let a host record what happens by itself and get what is known, in every session.

    Hooks, the memory server, five skills and a paragraph of duties for the agent. Running it again
    changes nothing; `holdfast uninstall` gives back every file as it was.

    Parameters
    ----------
    plugin
        Write a plugin into this folder instead, and touch nothing else.
    shorten
        Replace tool output of more than so many characters by its ends and a reference.
    memory_file
        Leave CLAUDE.md and AGENTS.md alone.
    """
    wish = _wish(host, where, plugin=plugin, shorten=shorten, memory_file=not memory_file)
    _show(installing.install(wish), as_json=where.json, title="install")
    return 0


@app.command
def uninstall(host: Host, /, *, where: Where = HERE) -> int:
    """Take Holdfast out of a host: every file as it was before. What is remembered stays."""
    _show(installing.uninstall(_wish(host, where)), as_json=where.json, title="uninstall")
    return 0


def _wish(
    host: str,
    where: Where,
    *,
    plugin: str | None = None,
    shorten: int | None = None,
    memory_file: bool = True,
) -> Wish:
    return Wish(
        host=host,
        scope=where.scope,
        home=where.home,
        config_dir=where.config_dir,
        shorten=shorten,
        memory_file=memory_file,
        plugin=plugin,
        dry_run=where.dry_run,
    )


def _show(report: Report, *, as_json: bool, title: str) -> None:
    if as_json:
        show.as_json(report)
        return
    if report.dry_run:
        for step in report.steps:
            if step.diff:
                show.page(step.diff.rstrip("\n"))
    if report.steps:
        rows = [
            (
                _short(step.path, report.root),
                Text(step.done, _STYLES.get(step.done, "green")),
                step.about,
            )
            for step in report.steps
        ]
        show.table(("file", "would be" if report.dry_run else "is now", ""), rows)
    show.say(_verdict(report, title), "bold")
    for said in report.say:
        show.page(said)  # a command is copied as it stands, so it is not wrapped
    if title == "install" and report.changed and not report.dry_run:
        show.page(f"Take it out with: {_out(report)}")


def _short(path: str, root: str) -> str:
    """A file as people name it: below the folder that is meant, else whole."""
    inside = os.path.relpath(path, root)
    return path if inside.startswith("..") else inside


def _verdict(report: Report, title: str) -> str:
    where = f"in {report.root}"
    if not report.changed:
        if title == "uninstall":
            return f"Nothing of Holdfast is installed {where} any more."
        return f"Everything was installed {where} already; nothing changed."
    count = show.count(sum(bool(step.diff) for step in report.steps), "file")
    if report.dry_run:
        return f"A dry run: {count} would change {where}; nothing was changed."
    if title == "install":
        return f"Holdfast is installed {where}; {count} changed."
    return f"Holdfast is out of {report.host} {where}; {count} changed."


def _out(report: Report) -> str:
    if report.scope == "plugin":
        return f"rm -r {shlex.quote(report.root)}"
    return f"holdfast uninstall {report.host} --scope {report.scope}"
