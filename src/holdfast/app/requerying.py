"""Asking again as things stood: the log up to a position, in a home of its own, under today's code.

What comes out is computed anew and says so; a replay, which is exact, is another thing.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.capture.layout import ACTIVE, BLOBS, VECTORS, sealed_segments
from holdfast.errors import Invalid
from holdfast.model.events import Event
from holdfast.model.packs import Pack

from .open import opened_in, project_folder
from .replaying import Recorded, recorded

if TYPE_CHECKING:
    from .holdfast import Holdfast

_SEQ = re.compile(rb'\{"v":\d+,"event_seq":(\d+),')


def requery(hf: Holdfast, pack_id: str, user: str, at: int | None = None) -> Pack:
    """The context that would be handed out now, if the log ended where it did then, or at `at`."""
    of = recorded(hf, pack_id, user)
    if at is not None and (type(at) is not int or at < 1):
        raise Invalid(f"a position is the number of an event, not {at!r}")
    wanted = of.wanted
    with _past(hf, user, of, _end(of) if at is None else at) as then:
        s = then.session(
            agent=of.event.agent or "", user=user, session_id=of.event.session_id or ""
        )
        pack = s.context(
            wanted.query,
            budget=wanted.budget,
            window=wanted.window,
            model=wanted.model or None,
            system=wanted.system,
            tools=list(wanted.tools),
            format=wanted.format,
            signals=wanted.signals,
            new_tokens=wanted.new_tokens,
            settings=wanted.compose,
        )
    receipt = replace(pack.receipt, pack=pack_id, recomputed=True)
    return replace(pack, id=pack_id, receipt=receipt)


def _end(of: Recorded) -> int:
    """The last event before the context; an epoch it began itself is not one of them."""
    first = of.began.event_seq == of.event.event_seq - 1
    return of.event.event_seq - (2 if first else 1)


@contextmanager
def _past(hf: Holdfast, user: str, of: Recorded, last: int) -> Iterator[Holdfast]:
    """The logs a context was made from as they stood, copied; other projects by the time."""
    with tempfile.TemporaryDirectory(prefix="holdfast-past-") as place:
        chosen = replace(hf.settings, home=place, keys=os.path.join(place, "keys"))
        ends = _time_of(hf, last) or of.event.timestamp
        for log in hf.logs(user):
            folder = project_folder(chosen, log.project.id)
            end = last if log is hf else _last_before(log, ends)
            _copied(log, Path(folder), end)
        now = int(of.said.get("now", 0))
        then = opened_in(hf.project, chosen, lambda: now, user)
        try:
            then.index()
            yield then
        finally:
            then.close()


def _time_of(hf: Holdfast, seq: int) -> str:
    found = next((e for e in hf.log.read(seq - 1) if isinstance(e, Event)), None)
    return found.timestamp if found is not None and found.event_seq == seq else ""


def _last_before(log: Holdfast, moment: str) -> int:
    last = 0
    for event in log.events():
        if event.timestamp > moment:
            break
        last = event.event_seq
    return last


def _copied(log: Holdfast, folder: Path, last: int) -> None:
    """The records up to one of them, as they lie on the disk."""
    folder.mkdir(parents=True, mode=0o700)
    source = Path(log.folder)
    names = [segment.path for segment in sealed_segments(log.folder, os.listdir(log.folder))]
    with open(folder / ACTIVE, "wb") as out:
        for name in [*names, str(source / ACTIVE)]:
            if not os.path.exists(name):
                continue
            with open(name, "rb") as lines:
                for line in lines:
                    seq = _SEQ.match(line)
                    if seq is not None and int(seq[1]) <= last:
                        out.write(line)
    if (source / BLOBS).is_dir():
        shutil.copytree(source / BLOBS, folder / BLOBS)
    for known in source.glob(f"{VECTORS}/*/texts.cache"):  # no text is embedded twice
        kept = folder / known.relative_to(source)
        kept.parent.mkdir(parents=True)
        shutil.copy(known, kept)
