"""The embedded log: NDJSON segments in a folder, and nothing else needed."""

from .blobs import FileBlobs
from .log import FileLog

__all__ = ["FileBlobs", "FileLog"]
