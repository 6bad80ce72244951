"""Is what was installed still there, and what it was? Reads only."""

from __future__ import annotations

import os

import msgspec

from holdfast import settings as settings_file
from holdfast.errors import HoldfastError

from . import install_claude as claude
from . import install_manifest
from .install_claude import Scope
from .install_files import current, digest
from .install_manifest import Installation
from .install_parts import Block, Part


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One thing `holdfast doctor` looks at."""

    check: str
    good: bool
    found: str
    #: what to do; empty when it is good
    remedy: str = ""


def examine(home: str | None = None) -> list[Found]:
    """Look at every installation of a home: its entries, its scripts, its interpreter."""
    place = settings_file.load(home).home
    try:
        manifest = install_manifest.load(place)
    except HoldfastError as exc:
        return [Found(check="installed", good=False, found=str(exc), remedy="see the message")]
    return [found for one in manifest.installations for found in _examined(one, place)]


def _examined(one: Installation, home: str) -> list[Found]:
    check = f"{one.host} ({one.scope})"
    if not os.path.isdir(one.root):
        return [
            Found(check=check, good=True, found=f"{one.root} is gone, and with it what was there")
        ]
    again = _again(one)
    wrong = [*_scripts_wrong(one), *_files_wrong(one, home)]
    if wrong:
        return [Found(check=check, good=False, found=said, remedy=again) for said in wrong]
    return [
        Found(check=check, good=True, found=f"{len(one.files)} files as installed in {one.root}")
    ]


def _again(one: Installation) -> str:
    shorten = f" --shorten {one.shorten}" if one.shorten is not None else ""
    told = any(put.kind == "block" for put in one.files)
    where = f"in {one.root}: " if one.scope == "project" else ""
    memory = "" if told else " --no-memory-file"
    return f"{where}holdfast install {one.host} --scope {one.scope}{shorten}{memory}"


def _scripts_wrong(one: Installation) -> list[str]:
    said = []
    if not os.access(one.python, os.X_OK):
        said.append(f"the hooks call {one.python}, which is not there any more")
    for path, known in one.scripts.items():
        try:
            data = current(path)
        except HoldfastError as exc:
            said.append(str(exc))
            continue
        if data is None:
            said.append(f"{path} is missing")
        elif digest(data) != known:
            said.append(f"{path} is another than when it was installed")
    return said


def _files_wrong(one: Installation, home: str) -> list[str]:
    scope: Scope = "user" if one.scope == "user" else "project"
    machine = msgspec.structs.replace(claude.this_machine(home), python=one.python)
    if one.scripts:
        machine = msgspec.structs.replace(machine, scripts=os.path.dirname(min(one.scripts)))
    parts = claude.parts(machine, scope, one.root, shorten=one.shorten, memory_file=False)
    wanted: dict[tuple[str, str], Part] = {(part.path, part.kind): part for part in parts}
    said = []
    for put in one.files:
        part = wanted.get((put.path, put.kind), Block(path=put.path))
        try:
            data = current(put.path)
            if data is None or not part.holds(data):
                said.append(f"{put.path} does not hold what was installed any more")
        except HoldfastError as exc:
            said.append(str(exc))
    return said
