"""What a context manager is set to: its knobs, and where it keeps what it writes for people.

What always holds: an argument wins over a file, a file over the settings; where the logs and copies of
what left lie, and which there are, is kept beside the log, so that every command finds the same ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from holdfast import settings
from holdfast.capture.disk import Disk
from holdfast.capture.layout import MANAGER
from holdfast.engines.files.trouble import translated
from holdfast.errors import Invalid
from holdfast.model import knobs
from holdfast.model.compact import ManagerSettings
from holdfast.model.settings import Settings

#: the project a context manager keeps everything in, where nobody names another
HOST = "context-manager"
#: what of the knobs is kept, and where
_KEPT = {
    "manager": (
        "cold_path",
        "log_path",
        "log_compaction",
        "log_curation",
        "log_drops",
        "log_recovery",
        "log_health",
    ),
    "compact": ("cold",),
}


def home(memory_path: Any) -> str | None:
    """The folder that a path of memories stands for; None for the usual home."""
    if memory_path is None:
        return None
    given = os.fspath(memory_path) if isinstance(memory_path, str | os.PathLike) else memory_path
    if not isinstance(given, str) or "\0" in given or Path(given).name in ("", ".."):
        raise Invalid(f"memory_path names a file, such as ./memfas.json, not {memory_path!r}")
    return os.fspath(Path(given).expanduser().absolute().with_suffix(".holdfast"))


def turned(
    config_path: str | os.PathLike[str] | None, given: Mapping[str, Any], where: str
) -> knobs.Tables:
    """The knobs of a file, and over them those a caller names."""
    tables: knobs.Tables = {"compact": {}, "manager": {}}
    for name, value in given.items():
        knobs.turned(tables, name, value, where)
    if config_path is not None:
        from_file = settings.knobs(Path(config_path).expanduser(), must=True)
        tables = {table: {**from_file[table], **tables[table]} for table in tables}
    return tables


def chosen(of: Settings, tables: knobs.Tables, where: str) -> Settings:
    """The settings with knobs said there; Invalid for what cannot hold together."""
    compact = _with(of.compact, tables["compact"])
    manager = settings.moved(_with(of.manager, tables["manager"]))
    knobs.check(compact, of.items, settings.said_in(tables, where))
    complete = of.complete
    if manager.summary_model and complete.provider != "none":
        complete = replace(complete, model=manager.summary_model)
    return replace(of, compact=compact, manager=manager, complete=complete)


def _with(of: Any, changes: Mapping[str, Any]) -> Any:
    return msgspec.convert({**asdict(of), **changes}, type(of))


# ---- kept beside the log -----------------------------------------------------------------------


def keep(folder: str, tables: knobs.Tables) -> None:
    """Keep what was said about the logs and copies of a project, over what was kept before."""
    said = {
        table: {name: tables[table][name] for name in names if name in tables[table]}
        for table, names in _KEPT.items()
    }
    if not any(said.values()):
        return
    manager = settings.moved(_with(ManagerSettings(), said["manager"]))
    said["manager"] = {name: getattr(manager, name) for name in said["manager"]}
    before = _kept(folder)
    after = {table: {**before.get(table, {}), **said[table]} for table in _KEPT}
    if after != before:
        with translated("keeping where logs lie"):
            Disk().put_file(os.path.join(folder, MANAGER), msgspec.json.encode(after))


def kept(folder: str, of: Settings) -> Settings:
    """The settings with what was kept beside a log, where they say nothing else."""
    tables = _kept(folder)
    if not any(tables.values()):
        return of
    try:
        return replace(
            of,
            manager=settings.moved(_with(of.manager, _unsaid(of.manager, tables.get("manager")))),
            compact=_with(of.compact, _unsaid(of.compact, tables.get("compact"))),
        )
    except (msgspec.ValidationError, Invalid):  # not as we keep it: as if there were none
        return of


def _unsaid(of: Any, said: Mapping[str, Any] | None) -> dict[str, Any]:
    usual = type(of)()
    return {
        name: value
        for name, value in (said or {}).items()
        if hasattr(usual, name) and getattr(of, name) == getattr(usual, name)
    }


def _kept(folder: str) -> dict[str, dict[str, Any]]:
    with translated("reading where logs lie"):
        data = Disk().get_file(os.path.join(folder, MANAGER))
    try:
        return msgspec.json.decode(data or b"{}", type=dict[str, dict[str, Any]])
    except msgspec.MsgspecError:
        return {}
