"""The plainest engine of each port: what the others are compared with, and good enough for tests."""

from .log import MemoryLog

__all__ = ["MemoryLog"]
