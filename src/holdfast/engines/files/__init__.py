"""The embedded log: NDJSON segments in a folder, and nothing else needed."""

from .blobs import FileBlobs
from .log import FileLog
from .snapshots import FileSnapshots

__all__ = ["FileBlobs", "FileLog", "FileSnapshots"]
