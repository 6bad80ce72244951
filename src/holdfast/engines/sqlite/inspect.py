"""Looking at an index.db without changing it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from urllib.parse import quote

from holdfast.capture.layout import INDEX
from holdfast.errors import HoldfastError
from holdfast.model.events import Position

from .index import SCHEMA
from .views import said_position, total


def inspect(folder: str, project_id: str) -> tuple[Position | None, str]:
    """How far it includes the log, and what is wrong with it; (None, "") when there is none."""
    path = os.path.join(folder, INDEX)
    if not os.path.exists(path):
        return None, ""
    try:
        alone = "" if os.path.exists(path + "-wal") else "&immutable=1"  # leaves no file behind
        address = f"file:{quote(os.path.abspath(path))}?mode=ro{alone}"
        with closing(sqlite3.connect(address, uri=True, timeout=1.0)) as db:
            return _looked_at(db, project_id)
    except (sqlite3.Error, HoldfastError) as exc:
        return None, str(exc)


def _looked_at(db: sqlite3.Connection, project_id: str) -> tuple[Position | None, str]:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA:
        return None, f"it is of schema {version}, not {SCHEMA}"
    facts = dict(db.execute("SELECT name, value FROM facts"))
    at = said_position(facts.get("views"))
    if facts.get("project") != project_id:
        return at, f"it belongs to {facts.get('project')}"
    sound = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if sound != "ok":
        return at, str(sound)
    if at is not None and total(db) != facts.get("total"):
        return at, "rows are missing or changed"
    return at, ""
