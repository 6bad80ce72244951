"""The embedded log: NDJSON segments in a folder, and nothing else needed."""

from .beside import Beside
from .blobs import FileBlobs
from .log import FileLog
from .snapshots import FileSnapshots

__all__ = ["Beside", "FileBlobs", "FileLog", "FileSnapshots"]
