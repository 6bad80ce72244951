"""The knobs of context-config.yaml, under the names they have there, and the settings they are.

Names are read in any case. What is not a knob is refused; a repository's file is never looked for.
"""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.errors import Invalid

from .compact import CompactSettings, ItemSettings, ManagerSettings
from .contradictions import contradiction

#: a knob, its table and its setting
KNOBS: dict[str, tuple[str, str]] = {
    "COMPACTION_TRIGGER_PCT": ("compact", "compact_at"),
    "COMPACTION_TARGET_PCT": ("compact", "compact_to"),
    "MAX_CONTEXT_PCT": ("compact", "most"),
    "AUTO_COMPACT": ("manager", "auto_compact"),
    "AUTO_RECOVER": ("manager", "auto_recover"),
    "ARCHIVE_AT_END": ("manager", "archive"),
    "RELEVANCE_CUTOFF": ("compact", "drop"),
    "THRESHOLD_KEEP": ("compact", "keep"),
    "RELEVANCE_KEEP_THRESHOLD": ("compact", "keep"),
    "RECENCY_BONUS": ("compact", "recency"),
    "IMPORTANCE_BOOT": ("compact", "importance"),
    "IMPORTANCE_BONUS": ("compact", "importance"),
    "MIN_CHUNKS_TO_KEEP": ("compact", "recent"),
    "MEMFAS_MIN_SCORE": ("manager", "min_score"),
    "MEMFAS_WEIGHT": ("compact", "similarity"),
    "CURATION_TRIGGER_PCT": ("compact", "curate_at"),
    "COLD_STORAGE_ENABLED": ("compact", "cold"),
    "COLD_STORAGE_PATH": ("manager", "cold_path"),
    "RECOVERABLE_FOR_DAYS": ("compact", "cold_days"),
    "RECOVERABLE_DAYS": ("compact", "cold_days"),
    "SUMMARIZE_MEDIUM_CHUNKS": ("compact", "summarize"),
    "SUMMARY_TARGET_TOKENS": ("compact", "summary_tokens"),
    "SUMMARY_MODEL": ("manager", "summary_model"),
    "LOG_PATH": ("manager", "log_path"),
    "LOG_COMPACTION": ("manager", "log_compaction"),
    "LOG_CURATION": ("manager", "log_curation"),
    "LOG_DROPS": ("manager", "log_drops"),
    "LOG_RECOVERY": ("manager", "log_recovery"),
    "LOG_HEALTH": ("manager", "log_health"),
}
_KINDS: dict[str, Any] = {"compact": CompactSettings, "manager": ManagerSettings}
Tables = dict[str, dict[str, Any]]
#: where each setting of a table was said
Places = dict[tuple[str, str], str]


def turned(tables: Tables, name: str, value: Any, where: str) -> None:
    """Set what a knob stands for; `where` is said when it cannot be."""
    knob = KNOBS.get(name.upper()) if isinstance(name, str) else None
    if knob is None:
        raise Invalid(f"{where}: {name} is no knob; there are {', '.join(KNOBS)}")
    table, field = knob
    try:
        msgspec.convert({field: value}, _KINDS[table])
    except msgspec.ValidationError as exc:
        said = str(exc).split(" - at")[0]
        raise Invalid(f"{where}: {name} cannot be {value!r}: {said}") from exc
    if tables[table].setdefault(field, value) != value:
        raise Invalid(f"{where}: {name} and another name for it say different things")


def check(compact: CompactSettings, items: ItemSettings, places: Places) -> None:
    """Invalid for what cannot hold together, by its names and by where it was said."""
    found = contradiction(compact, items)
    if found is None:
        return
    of = {"compact": compact, "items": items}[found.table]
    said = " and ".join(
        f"{found.table}.{name} = {getattr(of, name)}{_known_as(found.table, name)}"
        for name in found.names
    )
    where = dict.fromkeys(places.get((found.table, name), "") for name in found.names)
    here = " and ".join(filter(None, where))
    raise Invalid(f"{here and f'{here}: '}{said} {found.what}")


def _known_as(table: str, setting: str) -> str:
    """The name of its knob, in parentheses."""
    return next((f" ({name})" for name, of in KNOBS.items() if of == (table, setting)), "")


def named(compact: CompactSettings, manager: ManagerSettings) -> dict[str, Any]:
    """Every knob and what it is set to."""
    of = {"compact": compact, "manager": manager}
    return {name: getattr(of[table], field) for name, (table, field) in KNOBS.items()}
