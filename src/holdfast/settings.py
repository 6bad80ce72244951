"""The only reader of the environment and of configuration files.

argument > environment > .holdfast.toml > the user's file > default. `.holdfast.toml` comes with a
repository and so may be anybody's: it cannot say where data goes, which keys are used or what is
trusted, nor take away anything the user asked for; it can only add files that are never recorded.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import msgspec
from platformdirs import user_config_path, user_data_path

from holdfast.capture.place import MARKER
from holdfast.errors import Denied, Invalid, NotFound
from holdfast.model.compact import CompactSettings, ItemSettings, ManagerSettings
from holdfast.model.complete import CompleteSettings
from holdfast.model.compose import ComposeSettings
from holdfast.model.embed import Chosen, EmbedSettings
from holdfast.model.hooks import HookSettings
from holdfast.model.knobs import Places, Tables, check, turned
from holdfast.model.recall import RecallSettings
from holdfast.model.settings import LogSettings, RecordSettings, Settings, ViewSettings
from holdfast.model.tokens import TokenSettings

_TABLES: dict[str, Any] = {
    "log": LogSettings,
    "record": RecordSettings,
    "views": ViewSettings,
    "tokens": TokenSettings,
    "recall": RecallSettings,
    "embed": EmbedSettings,
    "compose": ComposeSettings,
    "hooks": HookSettings,
    "compact": CompactSettings,
    "items": ItemSettings,
    "manager": ManagerSettings,
    "complete": CompleteSettings,
}
#: what a repository may set of each table
_FROM_REPOSITORY: dict[str, frozenset[str]] = {
    "log": frozenset(),
    "record": frozenset({"deny_paths"}),
    "views": frozenset(),
    "tokens": frozenset(),
    "recall": frozenset(),
    "embed": frozenset(),
    "compose": frozenset(),
    "hooks": frozenset(),
    "compact": frozenset(),
    "items": frozenset(),
    "manager": frozenset(),
    "complete": frozenset(),
}
_TOP_LEVEL = {"project_id", *_TABLES}


def load(home: str | os.PathLike[str] | None = None, root: Path | None = None) -> Settings:
    """The settings that hold for a project root (or none), for an explicit home (or none)."""
    config = config_file().parent
    tables: dict[str, dict[str, Any]] = {table: {} for table in _TABLES}
    _overlay(tables, config / "config.toml", allowed=None)
    places = said_in(tables, config / "config.toml")
    from_knobs = knobs(config / KNOBS_FILE)
    for table, values in from_knobs.items():
        tables[table].update(values)
    places |= said_in(from_knobs, config / KNOBS_FILE)
    if root is not None:
        _overlay(tables, root / MARKER, allowed=_FROM_REPOSITORY)
    complete = _complete(tables["complete"])
    compact = msgspec.convert(tables["compact"], CompactSettings)
    items = msgspec.convert(tables["items"], ItemSettings)
    check(compact, items, places)
    return Settings(
        home=place(home),
        keys=os.fspath(config / "keys"),
        log=msgspec.convert(tables["log"], LogSettings),
        record=msgspec.convert(tables["record"], RecordSettings),
        views=msgspec.convert(tables["views"], ViewSettings),
        tokens=msgspec.convert(tables["tokens"], TokenSettings),
        recall=msgspec.convert(tables["recall"], RecallSettings),
        embed=_embed(tables["embed"]),
        compose=msgspec.convert(tables["compose"], ComposeSettings),
        hooks=msgspec.convert(tables["hooks"], HookSettings),
        compact=compact,
        items=items,
        manager=_manager(tables["manager"]),
        complete=complete,
        embed_key=os.environ.get("HOLDFAST_EMBED_KEY"),
        llm_key=_llm_key(complete),
    )


def said_in(tables: Tables, where: str | os.PathLike[str]) -> Places:
    """Each setting of these tables was said there."""
    return {(table, name): os.fspath(where) for table, said in tables.items() for name in said}


#: the knobs of a context manager, beside the user's own settings
KNOBS_FILE = "context-config.yaml"
_LARGEST_FILE = 1 << 20


def knobs(path: Path, must: bool = False) -> Tables:
    """What a file of knobs sets, by table; errors name the file and the line."""
    tables: Tables = {"compact": {}, "manager": {}}
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        if must:
            raise NotFound(f"there is no {path}") from None
        return tables
    except OSError as exc:
        raise Denied(f"{path} cannot be read: {exc.strerror}") from exc
    if len(data) > _LARGEST_FILE:
        raise Invalid(f"{path} is larger than a file of settings is")
    for line, name, value in _pairs(data, path):
        turned(tables, name, value, f"{path}:{line}")
    return tables


def _pairs(data: bytes, path: Path) -> Iterator[tuple[int, str, Any]]:
    """The lines of a YAML file that is one plain table, or has one called `context`."""
    import yaml

    try:
        root = yaml.compose(data, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as exc:
        mark = getattr(exc, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        said = getattr(exc, "problem", None) or "this is no text"
        raise Invalid(f"{where}: not valid YAML: {said}") from exc
    inner = [v for k, v in root.value if k.value == "context"] if _is_table(root) else []
    root = inner[0] if inner else root
    if root is None:
        return
    if not _is_table(root):
        raise Invalid(f"{path}:{root.start_mark.line + 1}: a table of knobs is meant, NAME: value")
    for key, value in root.value:
        line = key.start_mark.line + 1
        if not isinstance(value, yaml.ScalarNode):
            raise Invalid(f"{path}:{line}: {key.value} is one value, not a list or a table")
        try:
            made = yaml.constructor.SafeConstructor().construct_object(value)
        except (yaml.YAMLError, ValueError, OverflowError) as exc:
            raise Invalid(f"{path}:{line}: {key.value} has no value that can be read") from exc
        yield line, str(key.value), made


def _is_table(node: Any) -> bool:
    return getattr(node, "id", "") == "mapping"


def _manager(table: dict[str, Any]) -> ManagerSettings:
    """The table, its folders as whole paths."""
    return moved(msgspec.convert(table, ManagerSettings))


def moved(of: ManagerSettings) -> ManagerSettings:
    """The same with whole paths; Invalid for one that is none."""
    whole = {}
    for name in ("cold_path", "log_path"):
        if given := getattr(of, name):
            path = Path(given).expanduser()
            if not path.is_absolute():
                raise Invalid(f"manager.{name} is the whole path of a folder, not {given!r}")
            whole[name] = os.fspath(path)
    return msgspec.structs.replace(of, **whole)


def agent_at_work() -> str | None:
    """The agent in whose shell this process runs, where its host says so."""
    return "claude-code" if os.environ.get("CLAUDECODE") else None


def place(home: str | os.PathLike[str] | None = None) -> str:
    """Where everything is kept."""
    given = home or os.environ.get("HOLDFAST_HOME") or user_data_path("holdfast")
    if "://" in os.fspath(given):
        raise Invalid(
            f"{os.fspath(given)!r} is not a folder; this Holdfast keeps its data in files"
        )
    return os.fspath(Path(given).expanduser().absolute())


def config_file() -> Path:
    """The user's own settings."""
    return user_config_path("holdfast") / "config.toml"


def _embed(table: dict[str, Any]) -> EmbedSettings:
    named = os.environ.get("HOLDFAST_EMBEDDER")
    try:
        return msgspec.convert({**table, **({"embedder": named} if named else {})}, EmbedSettings)
    except msgspec.ValidationError as exc:
        known = ", ".join(get_args(Chosen))
        raise Invalid(f"HOLDFAST_EMBEDDER must be one of {known}, not {named!r}") from exc


def models_off() -> bool:
    """Is the kill switch set by now? Asked before every call, so that it stops running processes too."""
    table = read_toml(config_file()).get("complete", {})
    return not isinstance(table, dict) or table.get("off", False) is not False or _said_off()


def _said_off() -> bool:
    return os.environ.get("HOLDFAST_LLM", "").strip().lower() == "off"


def _complete(table: dict[str, Any]) -> CompleteSettings:
    """The table, and what HOLDFAST_LLM says: `off`, or a provider with or without its model."""
    said = os.environ.get("HOLDFAST_LLM", "").strip()
    if not said or _said_off():
        return msgspec.convert({**table, **({"off": True} if said else {})}, CompleteSettings)
    provider, _, model = said.partition(":")
    if provider != table.get("provider"):  # another's address and model are not for this one
        table = {name: value for name, value in table.items() if name not in ("url", "model")}
    try:
        named = {"provider": provider, **({"model": model} if model else {})}
        return msgspec.convert({**table, **named}, CompleteSettings)
    except msgspec.ValidationError as exc:
        raise Invalid(
            f"HOLDFAST_LLM must be off, openai:MODEL or anthropic:MODEL, not {said!r}"
        ) from exc


#: the key a provider's own tools use, and the one place it is for
_OWN_KEYS = {
    "openai": ("OPENAI_API_KEY", "api.openai.com"),
    "anthropic": ("ANTHROPIC_API_KEY", "api.anthropic.com"),
}


def _llm_key(chosen: CompleteSettings) -> str | None:
    """Ours; else the provider's own, which never goes to another's address."""
    name, host = _OWN_KEYS.get(chosen.provider, ("", ""))
    own = bool(name) and (not chosen.url or _host(chosen.url) == host)
    return os.environ.get("HOLDFAST_LLM_KEY") or (os.environ.get(name) if own else None)


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:  # whoever uses it says what is wrong with it
        return None


def read_toml(path: Path) -> dict[str, Any]:
    """A configuration file; an empty dict when there is none."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as exc:
        raise Denied(f"{path} cannot be read: {exc.strerror}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise Invalid(f"{path} is not valid TOML: {exc}") from exc


def _overlay(
    tables: dict[str, dict[str, Any]], path: Path, allowed: dict[str, frozenset[str]] | None
) -> None:
    said = read_toml(path)
    unknown = set(said) - _TOP_LEVEL
    if unknown:
        raise Invalid(
            f"{path}: {min(unknown)} is no setting; there are {', '.join(sorted(_TABLES))}"
        )
    for table, kind in _TABLES.items():
        values = said.get(table, {})
        if not isinstance(values, dict):
            raise Invalid(f"{path}: {table} must be a table, [{table}]")
        refused = set(values) - (allowed[table] if allowed else set(kind.__struct_fields__))
        if refused:
            known = ", ".join(sorted(allowed[table] if allowed else kind.__struct_fields__))
            raise Invalid(
                f"{path}: {table}.{min(refused)} cannot be set here; {table} takes {known}"
            )
        try:
            msgspec.convert(values, kind)
        except msgspec.ValidationError as exc:
            raise Invalid(f"{path}: [{table}] {exc}") from exc
        # a repository adds to the files that are never recorded; it cannot take one off the list
        denied = [*tables[table].get("deny_paths", ()), *values.get("deny_paths", ())]
        tables[table].update(values)
        if denied:
            tables[table]["deny_paths"] = denied
