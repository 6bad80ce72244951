"""What was installed where: `<home>/installed.json`, readable by its owner only."""

from __future__ import annotations

import os

import msgspec

from holdfast.errors import Invalid

from .install_files import Change, current
from .install_parts import Put

NAME = "installed.json"


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """One host, in one scope, at one place."""

    host: str
    scope: str
    root: str
    version: str
    python: str
    #: SHA-256 of each script the host calls
    scripts: dict[str, str]
    shorten: int | None = None
    files: tuple[Put, ...] = ()
    #: folders that were made
    folders: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from others."""
        return self.host, self.scope, self.root

    def put(self, path: str, kind: str) -> Put | None:
        """What was done to a file."""
        found = [put for put in self.files if (put.path, put.kind) == (path, kind)]
        return found[0] if found else None


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Every installation of a home."""

    v: int = 1
    installations: tuple[Installation, ...] = ()

    def at(self, host: str, scope: str, root: str) -> Installation | None:
        """The one that is meant."""
        found = [one for one in self.installations if one.key == (host, scope, root)]
        return found[0] if found else None

    def without(self, gone: Installation | None) -> Manifest:
        """All but one, and but those whose place is gone."""
        kept = [one for one in self.installations if one is not gone and os.path.isdir(one.root)]
        return Manifest(installations=tuple(kept))

    def also(self, one: Installation) -> Manifest:
        """This one too."""
        return Manifest(installations=(*self.installations, one))


def path_in(home: str) -> str:
    """Where the manifest of a home lies."""
    return os.path.join(home, NAME)


def load(home: str) -> Manifest:
    """What is known to be installed; nothing when nothing was."""
    path = path_in(home)
    data = current(path)
    if data is None:
        return Manifest()
    try:
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise Invalid(
            f"{path} cannot be read ({exc}); move it away, and entries are recognised by what they are"
        ) from exc


def change(home: str, new: Manifest) -> Change:
    """What makes the file say this; an empty one goes."""
    path = path_in(home)
    said = msgspec.json.format(msgspec.json.encode(new), indent=1) + b"\n"
    after = said if new.installations else None
    return Change(path=path, before=current(path), after=after, private=True)
