"""`holdfast install` and `holdfast uninstall`: into a host's settings, and out of them without a trace.

Everything is planned before anything is written, and written all or not at all. What was put into which
file is kept in the home's manifest, so that uninstalling gives back the bytes there were.
"""

from __future__ import annotations

import os
import shlex
from importlib.metadata import version
from importlib.util import find_spec
from typing import Literal

import msgspec

from holdfast import settings as settings_file
from holdfast.capture.disk import Disk
from holdfast.errors import Invalid, NotFound
from holdfast.model.settings import Settings

from . import hooking, install_manifest
from . import install_claude as claude
from .install_claude import Machine, Scope
from .install_examine import Found as Found
from .install_examine import examine as examine
from .install_files import (
    Change,
    apply,
    current,
    difference,
    digest,
    missing_folders,
    remove_folders,
)
from .install_manifest import Installation
from .install_parts import Block, Part, Put, taken_out
from .install_plugin import changes as plugin_changes
from .open import locate

_FEWEST = 1_000

Done = Literal["made", "edited", "restored", "removed", "unchanged", "left"]


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants installed or taken out."""

    host: str = claude.HOST
    scope: Scope = "project"
    home: str | None = None
    #: a folder of the project; here, by default
    path: str = "."
    #: where the host keeps what is the person's; `~/.claude` by default
    config_dir: str | None = None
    #: tool output of more characters than this is replaced by a reference
    shorten: int | None = None
    memory_file: bool = True
    #: write a plugin into this folder instead
    plugin: str | None = None
    dry_run: bool = False


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one file, or would."""

    path: str
    done: Done
    #: what it is there for, or why it was left
    about: str
    #: a unified diff; empty where nothing changes
    diff: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, or with a dry run would be."""

    host: str
    scope: str
    root: str
    dry_run: bool
    steps: list[Step]
    #: what the person should know or do next
    say: list[str]

    @property
    def changed(self) -> bool:
        """Is any file another now?"""
        return any(step.diff for step in self.steps)


_ABOUT = {
    "hooks": "hooks: what happens is recorded, what is known is injected",
    "server": "the memory server: memory_search, expand, remember and the rest",
    "skill": "a skill",
    "block": "what the agent is told about its memory",
}


class _Plan(msgspec.Struct, kw_only=True):
    """What will be done, file by file."""

    changes: list[Change] = []
    steps: list[Step] = []
    puts: list[Put] = []


def install(wish: Wish, disk: Disk | None = None) -> Report:
    """Put Holdfast into a host; doing it again changes nothing, after an upgrade only what is old."""
    _checked(wish)
    if wish.plugin is not None:
        return _plugin(wish, disk)
    chosen, root = _place(wish)
    machine = claude.this_machine(chosen.home)
    manifest = install_manifest.load(chosen.home)
    known = manifest.at(wish.host, wish.scope, root)
    plan = _Plan()
    for part in claude.parts(
        machine, wish.scope, root, shorten=wish.shorten, memory_file=wish.memory_file
    ):
        _plan_in(plan, part, known)
    _keep_others(plan, known)
    paths = [change.path for change in plan.changes] + [install_manifest.path_in(chosen.home)]
    fresh = _installation(wish, root, machine, plan.puts)
    folders = [*(known.folders if known else ()), *missing_folders(paths)]
    fresh = msgspec.structs.replace(fresh, folders=tuple(dict.fromkeys(folders)))
    if not wish.dry_run:
        noted = install_manifest.change(chosen.home, manifest.without(known).also(fresh))
        written = [] if noted.before == noted.after else [noted]
        apply([*written, *plan.changes], disk)
        _let_hooks_know(wish, chosen)
    return _report(wish, root, plan.steps, _after_install(wish, machine))


def _let_hooks_know(wish: Wish, chosen: Settings) -> None:
    """What hooks read about the project that is here; for a person, there may be none."""
    try:
        found = locate(wish.home, path=wish.path)[0]
    except NotFound:
        found = None
    hooking.note(chosen, found, for_all=True)


def _checked(wish: Wish) -> None:
    if wish.host != claude.HOST:
        raise Invalid(f"Holdfast installs itself into {claude.HOST}, not into {wish.host}")
    if wish.shorten is not None and wish.shorten < _FEWEST:
        raise Invalid(f"--shorten takes {_FEWEST} characters or more: less saves nothing")


def _place(wish: Wish) -> tuple[Settings, str]:
    """The settings that hold, and the folder the host's files lie in."""
    if wish.scope == "user":
        folder = os.path.expanduser(wish.config_dir or os.path.join("~", ".claude"))
        return settings_file.load(wish.home), os.path.abspath(folder)
    found, chosen = locate(wish.home, path=wish.path)
    return chosen, found.root


def _plan_in(plan: _Plan, part: Part, known: Installation | None) -> None:
    """Plan what a file is to hold."""
    data = current(part.path)
    put = known.put(part.path, part.kind) if known else None
    if data is not None and part.holds(data):
        plan.puts.append(put or Put(path=part.path, kind=part.kind, made=False))
        plan.steps.append(Step(path=part.path, done="unchanged", about=_ABOUT[part.kind]))
        return
    base = None if data is None else taken_out(part, data, put)
    why = part.blocked(base)
    if why:
        plan.steps.append(Step(path=part.path, done="left", about=why))
        return
    new, added = part.put(base)
    plan.puts.append(
        Put(
            path=part.path,
            kind=part.kind,
            made=base is None,
            added=added,
            before=None if base is None else digest(base),
            after=digest(new),
        )
    )
    change = Change(path=part.path, before=data, after=new)
    plan.changes.append(change)
    done: Done = "made" if data is None else "edited"
    step = Step(path=part.path, done=done, about=_ABOUT[part.kind], diff=difference(change))
    plan.steps.append(step)


def _keep_others(plan: _Plan, known: Installation | None) -> None:
    """What an earlier installation put elsewhere is still to be taken out one day."""
    there = {(put.path, put.kind) for put in plan.puts}
    plan.puts += [
        put for put in (known.files if known else ()) if (put.path, put.kind) not in there
    ]


def _installation(wish: Wish, root: str, machine: Machine, puts: list[Put]) -> Installation:
    names = sorted({event.script for event in claude.EVENTS})
    scripts = {machine.script(name): current(machine.script(name)) for name in names}
    for path, data in scripts.items():
        if data is None:
            raise NotFound(f"{path} is missing; install holdfast again")
    return Installation(
        host=wish.host,
        scope=wish.scope,
        root=root,
        version=version("holdfast"),
        python=machine.python,
        scripts={path: digest(data or b"") for path, data in scripts.items()},
        shorten=wish.shorten,
        files=tuple(puts),
    )


def _after_install(wish: Wish, machine: Machine) -> list[str]:
    say = []
    if find_spec("mcp") is None:
        say.append("The memory server needs one package more: pip install 'holdfast[mcp]'")
    if wish.scope == "user":
        say.append(f"To add the memory server, run: {claude.server_command(machine)}")
    else:
        say.append(
            "Hooks, server and skills name this machine's Python: keep them out of commits; "
            "each clone runs install itself."
        )
    return [
        *say,
        "Claude Code reads all of this when its next session starts; /hooks shows it there.",
    ]


def uninstall(wish: Wish, disk: Disk | None = None) -> Report:
    """Take Holdfast out of a host: every file as it was, or gone when it was made."""
    _checked(wish)
    chosen, root = _place_left(wish)
    manifest = install_manifest.load(chosen.home)
    known = manifest.at(wish.host, wish.scope, root)
    plan = _Plan()
    for part in _everywhere(chosen.home, wish.scope, root):
        _plan_out(plan, part, known.put(part.path, part.kind) if known else None)
    if not wish.dry_run:
        noted = install_manifest.change(chosen.home, manifest.without(known))
        written = [] if noted.before == noted.after else [noted]
        apply([*plan.changes, *written], disk)
        made = known.folders if known else _own_folders(plan.changes)
        remove_folders(made)
    say = []
    if wish.scope == "user":
        say.append(f"If you added the memory server, run: {claude.SERVER_REMOVED}")
    if any(step.done != "left" for step in plan.steps):
        say.append("What is remembered stays; running sessions keep their hooks until they end.")
    return _report(wish, root, plan.steps, say)


def _place_left(wish: Wish) -> tuple[Settings, str]:
    """The same, also for a folder that is no project any more."""
    try:
        return _place(wish)
    except NotFound:
        return settings_file.load(wish.home), os.path.abspath(wish.path)


def _everywhere(home: str, scope: Scope, root: str) -> list[Part]:
    """Every file something may have been put into."""
    machine = claude.this_machine(home)
    found = claude.parts(machine, scope, root, shorten=None, memory_file=False)
    return [*found, *(Block(path=path) for path in claude.memory_files(scope, root))]


def _plan_out(plan: _Plan, part: Part, put: Put | None) -> None:
    """Plan how a file gets rid of what was put in."""
    data = current(part.path)
    if data is None or any(_same(part.path, change.path) for change in plan.changes):
        return
    rest = taken_out(part, data, put)
    if rest == data:
        if put is not None and part.kind == "skill":
            why = "you changed this skill, so it stays; remove it when you do not need it"
            plan.steps.append(Step(path=part.path, done="left", about=why))
        return
    change = Change(path=part.path, before=data, after=rest)
    done, about = _outcome(rest, put)
    plan.changes.append(change)
    plan.steps.append(Step(path=part.path, done=done, about=about, diff=difference(change)))


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _outcome(rest: bytes | None, put: Put | None) -> tuple[Done, str]:
    if rest is None:
        return "removed", "it held nothing else"
    if put is not None and put.before == digest(rest):
        return "restored", "byte for byte as before"
    return "edited", "it was changed since, so only Holdfast's part went"


def _own_folders(changes: list[Change]) -> list[str]:
    """Folders of removed skills; nobody else's folder goes for being empty."""
    gone = [change.path for change in changes if change.after is None]
    return [os.path.dirname(path) for path in gone if os.path.basename(path) == "SKILL.md"]


def _report(wish: Wish, root: str, steps: list[Step], say: list[str]) -> Report:
    scope = "plugin" if wish.plugin is not None else wish.scope
    return Report(
        host=wish.host, scope=scope, root=root, dry_run=wish.dry_run, steps=steps, say=say
    )


def _plugin(wish: Wish, disk: Disk | None) -> Report:
    """A whole plugin in a folder of its own, and nothing anywhere else."""
    folder = os.path.abspath(os.path.expanduser(wish.plugin or ""))
    machine = claude.this_machine(settings_file.load(wish.home).home)
    found = plugin_changes(folder, machine, wish.shorten)
    steps = []
    for change in found:
        same = change.before == change.after
        done: Done = "unchanged" if same else "made" if change.before is None else "edited"
        diff = "" if same else difference(change)
        steps.append(Step(path=change.path, done=done, about="part of the plugin", diff=diff))
    if not wish.dry_run:
        apply([change for change in found if change.before != change.after], disk)
    say = [
        f"Try it with: claude --plugin-dir {shlex.quote(folder)}",
        "It names this machine's Python.",
    ]
    return _report(wish, folder, steps, say)
