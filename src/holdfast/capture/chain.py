"""The hash chain of mode `chained`: any edit, removal or reorder shows.

Each record gets a salt, `pd` (digest of salt, user and payload) and `h` (a keyed digest over the
previous `h`, the header without its user, and `pd`). User and payload are covered only through `pd`,
so erasing them and the salt leaves every `h` checkable: the chain survives erasure, the erased text
cannot be confirmed by guessing. The key and the anchors (the chain's head, noted at each seal and
session end) lie outside the home, so a copy of the home cannot be edited into another valid one.
"""

from __future__ import annotations

import json
import os

from . import line
from .disk import Disk

START = "0" * 64


class Chain:
    """Makes and checks links with one project's key, and keeps its anchors."""

    def __init__(self, key: bytes, anchors: str, disk: Disk) -> None:
        self._key = key
        self._anchors = anchors
        self._disk = disk

    def fields(self, previous: str, head: bytes, payload: bytes) -> tuple[bytes, str]:
        """The chain's part of a line, and the link the next record builds on."""
        salt = os.urandom(16).hex()
        pd = self.digest(salt, line.part_user(head)[1], payload)
        h = self.link(previous, head, pd)
        return b',"salt":"%b","pd":"%b","h":"%b"' % (salt.encode(), pd.encode(), h.encode()), h

    @staticmethod
    def digest(salt: str, user: bytes, payload: bytes) -> str:
        """`pd`: what binds user and payload to the chain without revealing them."""
        from hashlib import sha256  # a hook without a chain does not pay for it

        return sha256(b"%b\0%b\0%b" % (salt.encode(), user, payload)).hexdigest()

    def link(self, previous: str, head: bytes, pd: str) -> str:
        """`h`: what binds a record to its place."""
        known = b"%b\0%b\0%b" % (previous.encode(), line.part_user(head)[0], pd.encode())
        from hmac import digest

        return digest(self._key, known, "sha256").hex()

    def anchor(self, seq: int, h: str) -> None:
        """Note the chain's head outside the home."""
        # a line of its own, also behind one that a dead process left half written
        entry = b"\n" + json.dumps({"event_seq": seq, "h": h}).encode() + b"\n"
        fd = self._disk.open(self._anchors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._disk.write_all(fd, entry)
            self._disk.fsync(fd)
        finally:
            self._disk.let_go(fd)
        self._disk.sync_folder(os.path.dirname(self._anchors))

    def anchors(self) -> dict[int, str]:
        """Every anchor noted so far: seq to link. A half-written last line is no anchor."""
        found: dict[int, str] = {}
        for raw in (self._disk.get_file(self._anchors) or b"").split(b"\n"):
            try:
                entry = json.loads(raw)
                found[int(entry["event_seq"])] = str(entry["h"])
            except (ValueError, KeyError, TypeError):
                continue
        return found


def load_key(path: str, disk: Disk) -> bytes:
    """The key in a file; made with fresh random bytes when there is none."""
    key = disk.get_file(path)
    if key is None:
        disk.make_folder(os.path.dirname(path))
        disk.make_file(path, os.urandom(32))  # the first of two processes wins, for both
        key = disk.get_file(path)
    if not key or len(key) < 32:
        raise OSError(f"{path} does not hold a key; restore it from your backup")
    return key
