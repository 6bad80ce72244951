"""What is derived from the log, in one SQLite file."""

from .ids import SqliteIds
from .index import Index
from .views import SqliteViews

__all__ = ["Index", "SqliteIds", "SqliteViews"]
