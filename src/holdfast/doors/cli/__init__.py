"""The command line: `holdfast <verb>`. Every verb takes `--json` for machines."""

from .main import main

__all__ = ["main"]
