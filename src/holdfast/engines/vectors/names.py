"""Names of files, made of names that anybody may choose."""

from __future__ import annotations

import os
import re
from hashlib import sha256

from holdfast.capture.layout import VECTORS

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def safe(name: str) -> str:
    """The name itself where every file system takes it, else what is left of it and its hash."""
    if _PLAIN.fullmatch(name):
        return name
    left = re.sub(r"[^A-Za-z0-9.]+", "_", name).strip("._")[:60]
    return f"{left or 'x'}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def folder_of(project: str, embedder: str) -> str:
    """Where one embedder's vectors of a project lie."""
    return os.path.join(project, VECTORS, safe(embedder))
