"""The command line: `holdfast <verb>`. Every verb takes `--json` for machines."""

from . import (  # noqa: F401  (they add their commands)
    cold,
    commands,
    compactions,
    context,
    docs,
    hook,
    install,
    items,
    manager,
    mcp,
    memories,
    recall,
    sessions,
    tune,
)
from .main import main
from .program import app

__all__ = ["app", "main"]
