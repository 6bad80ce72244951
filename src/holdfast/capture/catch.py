"""What a hook calls: shape, redact, append; or spool, and be gone.

    Catcher(folder, key).catch("user_message", {"text": …}, session_id=…, agent=…, user=…, origin="user")

A hook may not keep its host waiting, so the lock gets a deadline, and whatever stands in the way of an
append (the lock, a full or failing disk, a torn tail without room to save it) puts the event into the
spool instead, whence the next process drains it.
"""

from __future__ import annotations

from .blob import keep_blob
from .chain import Chain
from .disk import Disk
from .line import middle
from .origin import ORIGINS
from .parse import Note
from .redact import Redactor
from .shape import Limits, Shaper
from .spool import spool
from .stamp import fresh_id, timestamp
from .withhold import denied_path, without_content
from .writer import Writer


class Catcher:
    """Catches events for one project's log."""

    def __init__(
        self,
        folder: str,
        key: bytes,
        *,
        disk: Disk | None = None,
        chain: Chain | None = None,
        limits: Limits | None = None,
        deny_paths: tuple[str, ...] = (),
    ) -> None:
        self._folder = folder
        self._disk = disk or Disk()
        self._chain = chain
        self._redactor = Redactor(key, deny_paths)
        self._shaper = Shaper(self._redactor, self._keep, limits)

    def _keep(self, chunks: object) -> tuple[str, int]:
        return keep_blob(self._disk, self._folder, chunks)  # type: ignore[arg-type]

    def catch(
        self,
        kind: str,
        payload: dict[str, object],
        *,
        who: tuple[str | None, str | None, str | None],
        origin: str,
        notes: list[Note] | None = None,
        timeout: float = 0.2,
    ) -> bool:
        """Record one event of (session, agent, user); False when it waits in the spool instead."""
        denied = denied_path(payload, self._redactor)
        if denied is not None:
            payload = without_content(payload, denied, self._redactor)  # type: ignore[assignment]
        body = self._shaper.shape(payload, notes)
        event_id = fresh_id("evt")
        names = tuple(name and self._redactor.text(name) for name in who)
        fields = middle((event_id, *names, kind + "@1", timestamp(), origin, ORIGINS[origin], ()))
        try:
            writer = Writer(self._folder, disk=self._disk, chain=self._chain)
            try:
                with writer.hold(timeout):
                    writer.put([(fields, body)])
            finally:
                writer.close()
        except OSError:
            spool(self._disk, self._folder, event_id, fields, body)
            return False
        return True
