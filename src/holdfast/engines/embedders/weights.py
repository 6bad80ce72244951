"""Weights lie in packages that are installed for their files alone; those are never imported.

Each file is known by its checksum: vectors made with other weights must not be compared with those
that are stored, and a damaged table would go unnoticed, since any numbers are vectors.
"""

from __future__ import annotations

import zlib
from importlib.util import find_spec
from pathlib import Path

import msgspec

from holdfast.errors import Unavailable


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """A package that carries weights."""

    module: str
    #: what to hand to pip, the version included that is known to carry these very files
    requirement: str


def installed(module: str) -> bool:
    """Whether this module could be imported; it is not."""
    return _folder(module) is not None


def read(package: Package, name: str, checksum: int) -> bytes:
    """A file of the package; Unavailable, with what to do, when it is not there or not itself."""
    folder = _folder(package.module)
    if folder is None:
        raise Unavailable(
            f"the package {package.module} is not installed; "
            f"run: pip install '{package.requirement}'"
        )
    try:
        found = (folder / name).read_bytes()
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise Unavailable(_again(package, f"{name} cannot be read ({why})")) from error
    if zlib.crc32(found) != checksum:
        raise Unavailable(_again(package, f"{name} is damaged or of another version"))
    return found


def _again(package: Package, what: str) -> str:
    return f"{package.module}: {what}; run: pip install --force-reinstall '{package.requirement}'"


def _folder(module: str) -> Path | None:
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):  # ValueError: somebody put something else in its place
        return None
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) if places else None
