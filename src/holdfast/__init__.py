"""Holdfast: a context engine and long-term memory for LLM agents.

    import holdfast

    with holdfast.open() as hf, hf.session(agent="coder") as s:
        s.user("Use PostgreSQL 18, not 15.")

The names below are imported when they are first used, so that a hook, which needs `holdfast.capture`
and nothing else, does not pay for the engine.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast import aio, errors
    from holdfast.app.holdfast import DamageWarning, Holdfast
    from holdfast.app.open import open  # noqa: A004
    from holdfast.app.session import Session
    from holdfast.model.compose import ComposeSettings
    from holdfast.model.events import Damage, Draft, Event
    from holdfast.model.items import ContextItem
    from holdfast.model.memories import Memory
    from holdfast.model.packs import Pack, Receipt, Signals
    from holdfast.model.recall import Found, Hit, RecallSettings
    from holdfast.worker import WorkerAgent

__version__ = "0.1.0"
__all__ = [
    "ComposeSettings",
    "ContextItem",
    "Damage",
    "DamageWarning",
    "Draft",
    "Event",
    "Found",
    "Hit",
    "Holdfast",
    "Memory",
    "Pack",
    "RecallSettings",
    "Receipt",
    "Session",
    "Signals",
    "WorkerAgent",
    "aio",
    "errors",
    "open",
]

_HOMES = {
    "ComposeSettings": "holdfast.model.compose",
    "ContextItem": "holdfast.model.items",
    "Damage": "holdfast.model.events",
    "DamageWarning": "holdfast.app.holdfast",
    "Draft": "holdfast.model.events",
    "Event": "holdfast.model.events",
    "Found": "holdfast.model.recall",
    "Hit": "holdfast.model.recall",
    "Holdfast": "holdfast.app.holdfast",
    "Memory": "holdfast.model.memories",
    "Pack": "holdfast.model.packs",
    "RecallSettings": "holdfast.model.recall",
    "Receipt": "holdfast.model.packs",
    "Session": "holdfast.app.session",
    "Signals": "holdfast.model.packs",
    "WorkerAgent": "holdfast.worker",
    "open": "holdfast.app.open",
}
_MODULES = ("aio", "errors")


def __getattr__(name: str) -> object:
    if name not in _HOMES and name not in _MODULES:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"holdfast.{name}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
