"""What a hook calls: shape, redact, append; or spool, and be gone.

    Catcher(folder, key).catch("user_message", {"text": …}, who=(session, agent, user), origin="user")

A hook may not keep its host waiting, so the lock gets a deadline, and whatever stands in the way of an
append (the lock, a full or failing disk, a torn tail without room to save it, a chain without its key)
puts the event into the spool instead, whence the next process drains it; so does a project that nobody
has opened on this machine yet. Nobody reads a hook's errors, so an odd name or type is mended and noted
rather than refused.
"""

from __future__ import annotations

from .blob import keep_blob
from .chain import Chain
from .disk import Disk
from .header import LONGEST_NAME, kind_of, mended_name
from .line import middle
from .origin import ORIGINS
from .parse import Note
from .redact import Redactor, cut
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
        waiting: bool = False,
    ) -> None:
        self._folder = folder
        self._waiting = waiting
        self._disk = disk or Disk()
        self._chain = chain
        self._redactor = Redactor(key, deny_paths)
        self._shaper = Shaper(self._redactor, self._keep, limits)
        #: was the content of the latest event left out?
        self.withheld = False

    def _keep(self, chunks: object) -> tuple[str, int]:
        return keep_blob(self._disk, self._folder, chunks)  # type: ignore[arg-type]

    def catch(  # noqa: PLR0913  (all that is known about an event, by its name)
        self,
        kind: str,
        payload: dict[str, object],
        *,
        who: tuple[str | None, str | None, str | None],
        origin: str,
        beside: object = None,
        notes: list[Note] | None = None,
        timeout: float = 0.2,
        event_id: str | None = None,
    ) -> bool:
        """Record one event of (session, agent, user); False when it waits in the spool instead.

        `beside` is not recorded; a denied path in it withholds the content as one in the payload does.
        """
        odd = list(notes or ())
        event_id = event_id or fresh_id("evt")
        fields = (event_id, *self._header(kind, who, origin, odd))
        denied = denied_path(payload, self._redactor) or denied_path(beside, self._redactor)
        self.withheld = denied is not None
        if denied is not None:
            payload = without_content(payload, denied, self._redactor)  # type: ignore[assignment]
        body = self._shaper.shape(payload if isinstance(payload, dict) else {"raw": payload}, odd)
        line = middle(fields)
        if self._waiting:
            spool(self._disk, self._folder, event_id, line, body)
            return False
        try:
            writer = Writer(self._folder, disk=self._disk, chain=self._chain)
            try:
                with writer.hold(timeout):
                    writer.put([(line, body)])
            finally:
                writer.close()
        except OSError:
            spool(self._disk, self._folder, event_id, line, body)
            return False
        return True

    def _header(
        self, kind: str, who: tuple[object, ...], origin: str, odd: list[Note]
    ) -> tuple[object, ...]:
        known = kind_of(kind)
        if known is None:
            odd.append({"why": "odd_type", "given": kind})
        names = []
        for given in who:
            name = mended_name(cut(given, LONGEST_NAME) if isinstance(given, str) else given)
            if name != given and given is not None:
                odd.append(
                    {"why": "odd_name", "given": given if isinstance(given, str) else str(given)}
                )
            names.append(name and self._redactor.text(name))
        if origin not in ORIGINS:
            odd.append({"why": "odd_origin", "given": str(origin)})
            origin = "web"  # nobody knows who it is, so nobody believes it
        stamp = (known or "system_event@1", timestamp(), origin, ORIGINS[origin], ())
        return (*names, *stamp)
