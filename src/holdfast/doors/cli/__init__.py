"""The command line: `holdfast <verb>`. Every verb takes `--json` for machines."""

from . import commands, context, docs, hook, install, mcp, memories, recall, sessions  # noqa: F401  (they add their commands)
from .main import main
from .program import app

__all__ = ["app", "main"]
