"""Bodies too large for a line: one file each, named by the hash of what is in it.

A body is streamed to a draft file, hashed on the way, synced and renamed to its hash, so memory stays
flat, equal bodies are kept once, and a body under its final name is always whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from .disk import Disk
from .layout import BLOBS
from .stamp import fresh_id


def blob_path(folder: str, digest: str) -> str:
    """Where the body of that hash lies."""
    return os.path.join(folder, BLOBS, digest[:2], digest)


def keep_blob(disk: Disk, folder: str, chunks: Iterable[bytes]) -> tuple[str, int]:
    """Store a body from its chunks; its SHA-256 and length. On any error the draft is removed."""
    from hashlib import sha256

    root = os.path.join(folder, BLOBS)
    disk.make_folder(root)
    draft = disk.draft_name(os.path.join(root, fresh_id("body")))
    digest, length = sha256(), 0
    fd = disk.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            for chunk in chunks:
                disk.write_all(fd, chunk)
                digest.update(chunk)
                length += len(chunk)
            disk.fsync(fd)
        finally:
            disk.let_go(fd)
        path = blob_path(folder, digest.hexdigest())
        disk.make_folder(os.path.dirname(path))
        disk.replace(draft, path)
    except BaseException:
        disk.unlink(draft)
        raise
    disk.sync_folder(os.path.dirname(path))
    disk.sync_folder(root)
    return digest.hexdigest(), length
